/** Runs one kind of work on a table of the growth bench. Measures its time, and what it reads from the store. */
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type CreateIndexOptions, connect, type Search, type Table } from '../src/index.js'
import { searchSegment } from '../src/kernels/exact.js'
import { Nearest } from '../src/kernels/nearest.js'
import { VectorSegment } from '../src/kernels/vector-segment.js'
import { Bitset } from '../src/primitives/bitset.js'
import { systemClock } from '../src/primitives/clock.js'
import { FileStore } from '../src/storage/file-store.js'
import { builtIndex } from './built-index.js'
import { batchRows, floatsOf, type GrowthData, groups, growthData, idOf, keyOf } from './growth-data.js'
import { type Counts, MeteredStore } from './growth-store.js'
import { type Answer, type Entry, hashOf, timesOf } from './harness.js'
import { seededRandom } from './random.js'
import { recallOf } from './vector-data.js'

export interface GrowthOptions {
  readonly rows: number
  readonly dim: number
  readonly cacheBytes: number
  /** Number of measured calls of each kind. One call before them is not counted. */
  readonly calls: number
  /** Number of further calls of each indexed read. After them, the read is measured a second time. */
  readonly warmUp: number
  /** The file with the true nearest rows of each query. */
  readonly truth: string
}

/**
 * A kind of call is not repeated after it has read this many bytes, except to reach `leastCalls` calls. The limit is in
 * bytes, so the number of calls does not depend on the speed of the machine.
 */
const budgetBytes = 32 * 1024 ** 3
const leastCalls = 10

/** Return the number of queries that the data must have. */
export function queriesFor({ calls, warmUp }: Pick<GrowthOptions, 'calls' | 'warmUp'>): number {
  return 1 + calls + warmUp + calls
}

/** The input of call number `i`. */
interface Asked {
  readonly data: GrowthData
  readonly rows: number
  readonly i: number
  /** Return a random number in [0, 1). The numbers depend only on `i`. */
  random(): number
}

interface Call {
  /** Whether the call reads by an index or by position. Then the bytes that it reads should not grow with the table. */
  readonly isIndexed: boolean
  readonly isWrite?: boolean
  ask(table: Table, asked: Asked): Promise<Answer>
  /** Set for a vector search, whose answer is a list of ids. */
  readonly near?: { readonly among: Among; search(table: Table, asked: Asked): Search }
}

/** The rows that a search considers: all rows, or the rows of a category. */
type Among = 'all' | 'tenth' | 'rare'
const amongs: readonly Among[] = ['all', 'tenth', 'rare']

export const indexBuilds: Readonly<
  Record<string, { readonly column: string; readonly options: CreateIndexOptions }>
> = {
  'build IVF_PQ on the vector': { column: 'vector', options: { type: 'IVF_PQ' } },
  'build BTREE on the key': { column: 'key', options: { type: 'BTREE' } },
  'build FTS on the text': { column: 'text', options: { type: 'FTS' } },
  'build BITMAP on the category': { column: 'category', options: { type: 'BITMAP' } },
}

/** By name: the kinds of calls, in the order of measurement. */
export const calls: Readonly<Record<string, Call>> = {
  'top 10': nearest('all'),
  'top 10, refineFactor 10': nearest('all', 10),
  'top 10, refineFactor 20': nearest('all', 20),
  'top 10, filter keeps 10 %': nearest('tenth'),
  'top 10, filter keeps 0.1 %': nearest('rare'),
  'text, any of 3 words': words('or'),
  'text, all of 3 words': words('and'),
  'row by key, all columns': {
    isIndexed: true,
    ask: async (table, asked) =>
      idsOf(
        await table
          .query()
          .where('key = ?', [drawnKey(asked)])
          .toArray(),
      ),
  },
  '100 rows by key, all columns': {
    isIndexed: true,
    async ask(table, asked) {
      const keys = Array.from({ length: 100 }, () => drawnKey(asked))
      return idsOf(await table.query().where(`key IN (${keys.join()})`).toArray())
    },
  },
  'take 10 by offset, all columns': {
    isIndexed: true,
    async ask(table, asked) {
      const offsets = Array.from({ length: 10 }, () => drawnRow(asked))
      return idsOf(await table.takeOffsets(offsets).toArray())
    },
  },
  'count 1 %, clustered column': {
    isIndexed: false,
    ask(table, asked) {
      const first = Math.floor(0.99 * asked.random() * asked.rows)
      return table.countRows('id >= ? AND id < ?', [idOf(first), idOf(first + Math.ceil(asked.rows / 100))])
    },
  },
  'count 1 %, column without order': {
    isIndexed: false,
    ask(table, asked) {
      const first = Math.floor(0.99 * asked.random() * groups)
      return table.countRows('g >= ? AND g < ?', [first, first + groups / 100])
    },
  },
  'append one row': {
    isIndexed: true,
    isWrite: true,
    ask: async (table, { data, rows, i }) => (await table.add([data.rowAt(rows + i)])).rows,
  },
  'update one row by key': {
    isIndexed: true,
    isWrite: true,
    ask: async (table, asked) => (await table.update({ g: asked.i }, 'key = ?', [drawnKey(asked)])).rows,
  },
}

function nearest(among: Among, refineFactor?: number): Call {
  const search = (table: Table, { data, i }: Asked) => {
    const all = table.search(data.queries[i]!).select(['id']).limit(10)
    const asked = refineFactor === undefined ? all : all.refineFactor(refineFactor)
    return among === 'all' ? asked : asked.where('category = ?', [among])
  }
  return {
    isIndexed: true,
    near: { among, search },
    ask: async (table, asked) => idsOf(await search(table, asked).toArray()),
  }
}

function words(operator: 'or' | 'and'): Call {
  return {
    isIndexed: true,
    async ask(table, { data, i }) {
      const found = table.query().fullText({ match: data.words[i]!, operator })
      return idsOf(await found.select(['id']).limit(10).toArray())
    },
  }
}

function idsOf(rows: readonly object[]): readonly number[] {
  return rows.map(row => (row as { readonly id: number }).id)
}

function drawnRow({ rows, random }: Asked): number {
  return Math.floor(random() * rows)
}

function drawnKey(asked: Asked): number {
  return keyOf(drawnRow(asked))
}

/**
 * Run the work with the name `name`: `ingest`, `true neighbours`, a build of `indexBuilds`, or a kind of `calls`.
 * Writes are done in a copy of the root, so they do not change the root for other work.
 */
export async function growthWork(
  name: string,
  root: string,
  options: GrowthOptions,
  data: GrowthData = growthData(options.dim, queriesFor(options)),
): Promise<Entry> {
  if (name === 'ingest') return ingested(data, root, options)
  if (name === 'true neighbours') return foundTruth(data, options)
  const build = indexBuilds[name]
  if (build !== undefined) {
    return opened(root, options, async (table, counts) => {
      const { figures, ...entry } = await builtIndex(table, build.column, name, build.options)
      return { ...entry, figures: { ...figures, ...countsOf(counts()) } }
    })
  }
  const call = calls[name]
  if (call === undefined) throw new Error(`the work ${name} does not exist`)
  if (call.isWrite !== true) return measured(name, call, data, root, options)
  const copy = `${root}-copy`
  linkFiles(root, copy)
  try {
    return await measured(name, call, data, copy, options)
  } finally {
    rmSync(copy, { recursive: true })
  }
}

/**
 * Open the root, make a first call, and then the measured calls. For indexed reads, also measure calls after a warm-up.
 * Every call uses other values.
 */
async function measured(
  name: string,
  call: Call,
  data: GrowthData,
  root: string,
  options: GrowthOptions,
): Promise<Entry> {
  const askedOf = (i: number): Asked => ({ data, rows: options.rows, i, random: seededRandom(i) })
  const begun = performance.now()
  return opened(root, { ...options, readOnly: call.isWrite !== true }, async (table, counts) => {
    const answers = [await call.ask(table, askedOf(0))]
    const firstMs = performance.now() - begun
    const first = counts()
    let next = 1
    /** Make at most `most` further calls, until they have read `budgetBytes`. Returns the time of each call. */
    const repeated = async (most: number): Promise<number[]> => {
      const times: number[] = []
      const end = next + most
      for (; next < end; next++) {
        if (times.length >= leastCalls && counts().bytesRead - first.bytesRead > budgetBytes) break
        const asked = askedOf(next)
        const started = performance.now()
        answers.push(await call.ask(table, asked))
        times.push(performance.now() - started)
      }
      return times
    }
    const times = await repeated(options.calls)
    const cold = answers.slice()
    const figures = {
      calls: times.length,
      ...countsOf(counts(), first, times.length),
      firstMs,
      firstBytes: first.bytesRead,
      firstReads: first.reads,
    }
    const isWarmed = call.isIndexed && call.isWrite !== true
    if (isWarmed) await repeated(options.warmUp)
    const before = counts()
    const warm = isWarmed ? await repeated(options.calls) : []
    const { bytes, reads } = countsOf(counts(), before, warm.length)
    return {
      name,
      milliseconds: timesOf(Float64Array.from(times)),
      relativeTime: 1,
      answer: hashOf(cold),
      figures: {
        ...figures,
        ...(isWarmed && {
          warmBytes: bytes!,
          warmReads: reads!,
          warmMs: timesOf(Float64Array.from(warm)).p50,
        }),
        ...(call.near !== undefined && (await nearFigures(table, call.near, cold, askedOf, options))),
      },
    }
  })
}

/** Compute the recall of the answers, and the average number of candidates that the index proposed. */
async function nearFigures(
  table: Table,
  { among, search }: NonNullable<Call['near']>,
  answers: readonly Answer[],
  askedOf: (i: number) => Asked,
  { truth }: GrowthOptions,
): Promise<Readonly<Record<string, number>>> {
  const all = JSON.parse(readFileSync(truth, 'utf8')) as Record<Among, readonly (readonly number[])[]>
  const recall = recallOf(
    all[among].slice(0, answers.length).map(ids => new Set(ids)),
    answers as readonly (readonly number[])[],
  )
  const sums = { guessed: 0, candidates: 0, exact: 0 }
  const analyzed = Math.min(leastCalls, answers.length)
  for (let i = 0; i < analyzed; i++) {
    const text = await search(table, askedOf(i)).analyze()
    for (const name of ['guessed', 'candidates', 'exact'] as const) {
      sums[name] += Number(new RegExp(`\\b${name}=(\\d+)`).exec(text)?.[1] ?? 0) / analyzed
    }
  }
  return { recall, ...sums }
}

function countsOf(counts: Counts, before?: Counts, times = 1): Readonly<Record<string, number>> {
  const each = (name: keyof Counts) => (counts[name] - (before?.[name] ?? 0)) / times
  const written = each('bytesWritten')
  return { bytes: each('bytesRead'), reads: each('reads'), ...(written > 0 && { bytesWritten: written }) }
}

async function opened<T>(
  root: string,
  { cacheBytes, readOnly = false }: { readonly cacheBytes: number; readonly readOnly?: boolean },
  work: (table: Table, counts: () => Counts) => Promise<T>,
): Promise<T> {
  const files = await FileStore.open(root, { create: false, readOnly, clock: systemClock })
  const store = new MeteredStore(files)
  const ns = await connect(root, { store, cacheBytes, readOnly, maintenance: { compact: false } })
  try {
    return await work(await ns.openTable('rows'), () => store.counts())
  } finally {
    await ns.close()
  }
}

async function ingested(data: GrowthData, root: string, { rows, cacheBytes }: GrowthOptions): Promise<Entry> {
  const files = await FileStore.open(root, { create: true, readOnly: false, clock: systemClock })
  const store = new MeteredStore(files)
  const ns = await connect(root, { store, cacheBytes, maintenance: { compact: false } })
  const begun = performance.now()
  await ns.createTable('rows', data.batches(rows))
  const took = performance.now() - begun
  const counted = await ns.table('rows').countRows()
  await ns.close()
  return {
    name: 'ingest',
    milliseconds: { min: took, p50: took, p95: took },
    relativeTime: 1,
    answer: hashOf(counted),
    figures: {
      ...countsOf(store.counts()),
      rowsPerSecond: (1000 * rows) / took,
      makingRowsMs: data.milliseconds,
    },
  }
}

/**
 * Compute the ten nearest rows of each query exactly: among all rows, and among the rows of each filtered category.
 * Writes their ids to the file `truth`.
 */
async function foundTruth(data: GrowthData, { rows, dim, calls, truth }: GrowthOptions): Promise<Entry> {
  const begun = performance.now()
  const queries = data.queries.slice(0, 1 + calls)
  const best = new Map(amongs.map(among => [among, queries.map(() => new Nearest(10))]))
  let segment = VectorSegment.allocate('f32', dim, Math.min(rows, batchRows))
  let first = 0
  for (const batch of data.batches(rows)) {
    const { numRows } = batch
    if (numRows < segment.rows) segment = VectorSegment.allocate('f32', dim, numRows)
    segment.values.set(floatsOf(batch))
    const category = batch.getChild('category')!
    for (const [among, nearest] of best) {
      const allowed = among === 'all' ? Bitset.full(numRows) : new Bitset(numRows)
      if (among !== 'all') for (let i = 0; i < numRows; i++) if (category.get(i) === among) allowed.add(i)
      for (const [q, query] of queries.entries()) {
        const { ordinals, distances } = searchSegment(segment, query, { metric: 'l2', k: 10, allowed })
        for (let i = 0; i < ordinals.length; i++) nearest[q]!.offer(distances[i]!, first + ordinals[i]!)
      }
    }
    first += numRows
  }
  const ids = (nearest: Nearest) => Array.from(nearest.take().ordinals, idOf)
  const found = JSON.stringify(Object.fromEntries(Array.from(best, ([among, all]) => [among, all.map(ids)])))
  mkdirSync(dirname(truth), { recursive: true })
  writeFileSync(truth, found)
  const took = performance.now() - begun
  return {
    name: 'true neighbours',
    milliseconds: { min: took, p50: took, p95: took },
    relativeTime: 1,
    answer: hashOf(found),
  }
}

/** Copy a root by hard links, which is safe because the files of a root never change. */
export function linkFiles(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to)
  for (const file of readdirSync(from, { withFileTypes: true })) {
    if (file.isDirectory()) linkFiles(join(from, file.name), join(to, file.name))
    else linkSync(join(from, file.name), join(to, file.name))
  }
}

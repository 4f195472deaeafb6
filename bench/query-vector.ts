/** Measures each type of vector index: queries per second, recall, build time and size. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Batch, Column } from '../src/arrow/column.js'
import { rowsToBatch } from '../src/arrow/rows.js'
import type { Schema } from '../src/arrow/types.js'
import { ArrowRows } from '../src/client/arrow-rows.js'
import { connect, type Namespace, type Table, type VectorIndexType } from '../src/index.js'
import { builtIndex } from './built-index.js'
import { type Bench, type CaseResult, type Contestant, type Entry, race } from './harness.js'
import { seededRandom } from './random.js'
import { clusteredData, fashionData, recallOf, trueNeighbours, type VectorData } from './vector-data.js'
import { vectorColumn } from './wide-rows.js'

interface Parameters {
  readonly clustered: { readonly rows: number; readonly dim: number; readonly centres: number }
  readonly fashion: boolean
  readonly queries: number
  readonly kinds: readonly VectorIndexType[]
  /**
   * The recalls at which indexes are compared. A search uses the smallest effort (`ef` or `nprobes`) that reaches the
   * recall.
   */
  readonly floors: readonly number[]
  readonly rounds: number
}

const everyKind = [
  'IVF_FLAT',
  'IVF_SQ',
  'IVF_PQ',
  'IVF_RQ',
  'IVF_HNSW_FLAT',
  'IVF_HNSW_SQ',
  'IVF_HNSW_PQ',
] as const

export const bench: Bench<Parameters> = {
  name: 'query-vector',
  question:
    'how many queries per second does each type of vector index answer, at which recall, and what does it cost?',
  small: {
    clustered: { rows: 1500, dim: 16, centres: 10 },
    fashion: false,
    queries: 20,
    kinds: ['IVF_FLAT', 'IVF_HNSW_SQ'],
    floors: [0.95],
    rounds: 1,
  },
  full: {
    clustered: { rows: 100_000, dim: 128, centres: 1000 },
    fashion: true,
    queries: 1000,
    kinds: everyKind,
    floors: [0.9, 0.95, 0.99],
    rounds: 5,
  },
  async run({ clustered: { rows, dim, centres }, fashion, queries, kinds, floors, rounds }) {
    const pictures = fashion ? fashionData(queries) : null
    const all = [clusteredData(rows, dim, centres, 1.5, queries), ...(pictures === null ? [] : [pictures])]
    const results: CaseResult[] = []
    for (const data of all) results.push(...(await asked(data, kinds, floors, rounds)))
    return results
  },
}

async function asked(
  data: VectorData,
  kinds: readonly VectorIndexType[],
  floors: readonly number[],
  rounds: number,
): Promise<readonly CaseResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
  const ns = await connect(folder, { buildThreads: 1, maintenance: { compact: false } })
  try {
    const table = await vectorTable(ns, data)
    const truth = trueNeighbours(data, 'l2', 10)
    const builds: Entry[] = []
    const contests: CaseResult[] = []
    for (const kind of kinds) {
      builds.push(await builtIndex(table, 'vector', kind, { type: kind }))
      const untuned = { name: 'untuned', ask: asking(data, query => table.search(query)) }
      const tuned: Contender[] = []
      for (const floor of floors) {
        tuned.push(await leastEffort(data, truth, floor, kind, query => table.search(query)))
      }
      contests.push(await contest(`${kind}, ${data.name}, k 10`, [untuned, ...tuned], truth, rounds))
    }
    const exact = { name: 'exact', ask: asking(data, query => table.search(query).bypassVectorIndex()) }
    contests.push(await contest(`exact, ${data.name}, k 10`, [exact], truth, Math.min(rounds, 2), 50))
    return [{ title: `building, ${data.name}`, entries: builds }, ...contests]
  } finally {
    await ns.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Return a random number in [0, 1) for each row. */
export function sharesOf(rows: number): Float64Array {
  const random = seededRandom(7)
  return Float64Array.from({ length: rows }, random)
}

/** Create a table with the rows of `data`, their numbers in `id`, and `share` (random in [0, 1)) for filters. */
export async function vectorTable(ns: Namespace, { dim, rows }: VectorData): Promise<Table> {
  const item = { name: 'item', type: { kind: 'float', bits: 32 }, nullable: false } as const
  const plain: Schema = {
    fields: [
      { name: 'id', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
      { name: 'share', type: { kind: 'float', bits: 64 }, nullable: false },
    ],
  }
  const type: Column['type'] = { kind: 'fixed_size_list', size: dim, child: item }
  const schema: Schema = { fields: [...plain.fields, { name: 'vector', type, nullable: true }] }
  const batches: Batch[] = []
  const total = rows.length / dim
  const shares = sharesOf(total)
  for (let first = 0; first < total; first += 10_000) {
    const length = Math.min(10_000, total - first)
    const { columns } = rowsToBatch(
      Array.from({ length }, (_, i) => ({ id: first + i, share: shares[first + i]! })),
      plain,
    )
    const vectors = vectorColumn(type, rows.subarray(first * dim, (first + length) * dim), length)
    batches.push({ schema, length, columns: [...columns, vectors] })
  }
  await ns.operations.createTable({ id: ['vectors'] }, new ArrowRows(schema, batches))
  return ns.openTable('vectors')
}

export type Ask = (q: number) => Promise<readonly number[]>

export interface Contender {
  readonly name: string
  readonly ask: Ask
}

export function asking(
  { dim, queries }: VectorData,
  search: (query: Float32Array) => ReturnType<Table['search']>,
): Ask {
  const all = Array.from({ length: queries.length / dim }, (_, q) => queries.slice(q * dim, (q + 1) * dim))
  return async q => {
    const rows = await search(all[q]!).select(['id']).limit(10).toArray()
    return rows.map(row => row.id as number)
  }
}

type Searching = (query: Float32Array) => ReturnType<Table['search']>

/**
 * Return the search with the smallest effort that reaches the recall `floor`. If none does, return the one with the
 * largest effort.
 */
export async function leastEffort(
  data: VectorData,
  truth: readonly ReadonlySet<number>[],
  floor: number,
  type: VectorIndexType,
  search: Searching,
): Promise<Contender> {
  const isGraph = type.startsWith('IVF_HNSW')
  const efforts = isGraph
    ? [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
    : [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]
  for (const effort of efforts) {
    const ask = asking(data, query => (isGraph ? search(query).ef(effort) : search(query).nprobes(effort)))
    if ((await recalled(ask, truth)) < floor && effort !== efforts.at(-1)) continue
    return { name: `>= ${floor}, ${isGraph ? 'ef' : 'nprobes'} ${effort}`, ask }
  }
  throw new Error('the list of efforts is empty')
}

async function recalled(ask: Ask, truth: readonly ReadonlySet<number>[]): Promise<number> {
  const found: (readonly number[])[] = []
  for (let q = 0; q < truth.length; q++) found.push(await ask(q))
  return recallOf(truth, found)
}

/**
 * Run a race in which each contestant runs all queries, one at a time. Adds recall and queries per second to the
 * entries.
 */
export async function contest(
  title: string,
  contenders: readonly Contender[],
  truth: readonly ReadonlySet<number>[],
  rounds: number,
  most = truth.length,
): Promise<CaseResult> {
  const asked = truth.slice(0, most)
  const contestants = contenders.map(
    ({ name, ask }): Contestant => ({
      name,
      async run() {
        const found: number[] = []
        for (let q = 0; q < asked.length; q++) found.push(...(await ask(q)))
        return Uint32Array.from(found)
      },
    }),
  )
  const { entries } = await race({ title, contestants, rounds, warmups: 1 })
  const figures: Entry[] = []
  for (const [i, entry] of entries.entries()) {
    const recall = await recalled(contenders[i]!.ask, asked)
    const perSecond = (1000 * asked.length) / entry.milliseconds.p50
    figures.push({ ...entry, figures: { recall, perSecond } })
  }
  return { title, entries: figures }
}

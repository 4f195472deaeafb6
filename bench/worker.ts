/**
 * Measures engines in worker threads: the overhead of a call, the throughput with two workers, and the memory of
 * several workers.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as publicModule from '../adapters/worker/public.js'
import { connect, type Namespace } from '../src/index.js'
import { openShared, VectorSegment } from '../src/kernels/vector-segment.js'
import { type Answer, type Bench, type CaseResult, type Entry, race, timesOf } from './harness.js'
import { kernel, makeColumn, makeQuery } from './query-exact.js'
import { clusteredData } from './vector-data.js'

/** The bundled module of the package, because workers cannot run TypeScript. */
const shipped = pathToFileURL(resolve('dist/lib/worker.js')).href
const { connectWorker } = (await import(shipped)) as typeof publicModule

interface Parameters {
  readonly rows: number
  readonly dim: number
  /** Number of rows of the table for single calls. */
  readonly fewRows: number
  readonly rounds: number
  /**
   * Number of searches in one measurement. `atOnce`: number of concurrent searches. `repeats`: number of measurements.
   */
  readonly searches: number
  readonly atOnce: number
  readonly repeats: number
  /** Number of workers that all load the table, to measure memory. */
  readonly workers: number
}

export const bench: Bench<Parameters> = {
  name: 'worker',
  question: 'how do engines in worker threads affect the time of a call, the throughput, and the memory?',
  small: { rows: 2000, dim: 16, fewRows: 100, rounds: 3, searches: 4, atOnce: 2, repeats: 2, workers: 2 },
  full: {
    rows: 400_000,
    dim: 128,
    fewRows: 10_000,
    rounds: 2000,
    searches: 40,
    atOnce: 8,
    repeats: 5,
    workers: 4,
  },
  async run(parameters) {
    const root = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const queries = await fill(root, parameters)
    try {
      return [
        ...(await singleCalls(root, queries, parameters)),
        await ownOrCommon(parameters),
        await throughput(root, queries, parameters),
        memory(root, queries, parameters),
      ]
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  },
}

type Queries = readonly Float32Array[]

async function fill(root: string, { rows, dim, fewRows }: Parameters): Promise<Queries> {
  const data = clusteredData(rows, dim, 100, 1.5, 8)
  const ns = await connect(root)
  const some = function* (count: number) {
    for (let id = 0; id < count; id++) yield { id, v: data.rows.subarray(id * dim, (id + 1) * dim) }
  }
  await ns.createTable('many', some(rows))
  await ns.createTable('few', some(fewRows))
  await ns.close()
  return Array.from({ length: 8 }, (_, i) => data.queries.slice(i * dim, (i + 1) * dim))
}

/** Measure single calls, one after the other, in this thread and in a worker thread. */
async function singleCalls(root: string, queries: Queries, { fewRows, rounds }: Parameters) {
  const direct = await connect(root, { readOnly: true })
  const worker = await connectWorker(root, { readOnly: true })
  const asks: Record<string, (ns: Namespace) => () => Promise<Answer>> = {
    'a row by its id': ns => {
      const search = ns.table('few').query().where('id = 77').select(['id'])
      return async () => (await search.toArray()).map(({ id }) => Number(id))
    },
    [`the 10 nearest of ${fewRows} vectors`]: ns => {
      const search = ns.table('few').search(queries[0]!).select(['id']).limit(10)
      return async () => (await search.toArray()).map(({ id }) => Number(id))
    },
  }
  const cases: CaseResult[] = []
  for (const [title, ask] of Object.entries(asks)) {
    const contestants = [
      { name: 'direct', run: ask(direct) },
      { name: 'through a worker', run: ask(worker) },
    ]
    // Warm up with thousands of calls, until V8 has optimized both ways.
    const { entries } = await race({ title, contestants, rounds, warmups: 2 * rounds })
    const [first, second] = entries as [Entry, Entry]
    const more = second.milliseconds.p50 - first.milliseconds.p50
    cases.push({ title, entries: [first, { ...second, figures: { moreMilliseconds: more } }] })
  }
  await direct.close()
  await worker.close()
  return cases
}

/** Measure the same kernel over the same vectors in private memory and in shared memory. */
async function ownOrCommon({ rows, dim, repeats }: Parameters): Promise<CaseResult> {
  const own = makeColumn('f32', rows, dim, 1)
  const common = own.map(segment => {
    const attached = VectorSegment.attach(openShared(segment, 4, 0), segment, 3)
    attached.bytes.set(segment.bytes)
    return attached
  })
  const query = makeQuery('f32', dim, 2)
  return race({
    title: `${rows} x ${dim} f32, l2, k 10`,
    contestants: [
      { ...kernel(own, query, 'l2', 10), name: 'memory of its own' },
      { ...kernel(common, query, 'l2', 10), name: 'memory in common' },
    ],
    rounds: 8 * repeats,
    bytes: rows * dim * 4,
  })
}

/** Measure concurrent exact searches with one worker and with two workers. */
async function throughput(root: string, queries: Queries, parameters: Parameters): Promise<CaseResult> {
  const { rows, searches, atOnce, repeats } = parameters
  const entries: Entry[] = []
  for (const workers of [1, 2]) {
    const ns = await connectWorker(root, { readOnly: true, workers })
    await everywhere(ns, queries, workers)
    const times = new Float64Array(repeats)
    let found = 0
    for (let repeat = 0; repeat < repeats; repeat++) {
      const started = performance.now()
      let next = 0
      found = 0
      const ask = async () => {
        while (next < searches) {
          const id = await nearest(ns, queries[next++ % queries.length]!)
          found += id
        }
      }
      await Promise.all(Array.from({ length: atOnce }, ask))
      times[repeat] = performance.now() - started
    }
    const milliseconds = timesOf(times)
    entries.push({
      name: workers === 1 ? '1 worker' : `${workers} workers`,
      milliseconds,
      relativeTime: milliseconds.p50 / (entries[0]?.milliseconds.p50 ?? milliseconds.p50),
      answer: String(found),
      figures: { perSecond: (1000 * searches) / milliseconds.p50 },
    })
    await ns.close()
  }
  return { title: `${searches} exact searches of ${rows} vectors, ${atOnce} at once`, entries }
}

/**
 * Measure by how much the memory of a process grows when one worker has loaded a table, and when several workers have.
 */
function memory(root: string, queries: Queries, { rows, dim, workers }: Parameters): CaseResult {
  const entries: Entry[] = []
  const tableMegabytes = (rows * dim * 4) / 1e6
  for (const count of [1, workers]) {
    const args = [resolve('bench/worker-memory.mjs'), root, String(count), [...queries[0]!].join()]
    const said = execFileSync(process.execPath, args, { encoding: 'utf8' })
    const { took, grownMegabytes, found } = JSON.parse(said)
    entries.push({
      name: count === 1 ? '1 worker' : `${count} workers`,
      milliseconds: { min: took, p50: took, p95: took },
      relativeTime: took / (entries[0]?.milliseconds.p50 ?? took),
      answer: String(found),
      figures: { grownMegabytes, copies: grownMegabytes / tableMegabytes },
    })
  }
  return { title: `all vectors, ${tableMegabytes} MB, loaded by every engine`, entries }
}

/** Make every worker search all rows: send several calls at the same time, so that each worker gets one. */
async function everywhere(ns: Namespace, queries: Queries, workers: number): Promise<number> {
  let found = 0
  for (let round = 0; round < 2; round++) {
    const together = Array.from({ length: workers }, () => nearest(ns, queries[0]!))
    found = (await Promise.all(together))[0]!
  }
  return found
}

/** Return the id of the nearest row. */
async function nearest(ns: Namespace, query: Float32Array): Promise<number> {
  const [row] = await ns.table('many').search(query).select(['id']).limit(1).toArray()
  return Number(row!.id)
}

/**
 * Measures a root in object storage that is far away. Requests, bytes and rounds of requests are counted, which no other
 * work on the machine changes. A round is a set of requests of which none waits for another. Then the same work is timed
 * with 60 ms per request.
 *
 * | figure | meaning |
 * |---|---|
 * | rounds, requests, kilobytes | of the work, counted |
 * | recall | share of the ten nearest rows that a search found |
 * | commitsPerRequest | commits of concurrent callers per request that writes a slot |
 * | p99 | of the times of single reads, of which 2 % take a second, in milliseconds |
 * | sentTwice | share of these reads that were sent twice |
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { ObjectStore } from '../adapters/object-store/object-store.js'
import { type ConnectOptions, connect, type Namespace, type Search, type Table } from '../src/index.js'
import { inParallel } from '../src/primitives/in-parallel.js'
import { FarBucket, type Objects } from './far-bucket.js'
import type { Bench, Entry } from './harness.js'
import { clusteredData, recallOf, trueNeighbours, type VectorData } from './vector-data.js'

interface Parameters {
  readonly rows: number
  readonly dim: number
  readonly queries: number
}

const delayMs = 60
const callers = 64
const nearest = 10

export const bench: Bench<Parameters> = {
  name: 'far',
  question: 'how often does work wait for object storage, and how many requests and bytes does it need?',
  small: { rows: 2000, dim: 16, queries: 2 },
  full: { rows: 1_000_000, dim: 128, queries: 20 },
  async run({ rows, dim, queries }) {
    const data = clusteredData(rows, dim, 1000, 0.5, queries)
    const objects: Objects = new Map()
    const recall = await fill(objects, data)
    const title = `${rows} x ${dim}`
    return [
      { title: `${title}: connect and first answer`, entries: await firstAnswers(objects, data, recall) },
      { title: `${title}: after a restart, from the disk cache`, entries: await restarted(objects, data) },
      { title: `${title}: warm`, entries: await warm(objects, data) },
      { title: 'single reads, of which 2 % take a second', entries: [await slowReads()] },
    ]
  },
}

function storeOf(bucket: FarBucket): ObjectStore {
  return new ObjectStore(bucket, { prefix: '', timeoutMs: 60_000, retries: 0 })
}

/** Create the table, its indexes and a checkpoint. Returns the recall of searches. */
async function fill(objects: Objects, data: VectorData): Promise<number> {
  const { rows, dim, queries } = data
  const ns = await connect('far', { store: storeOf(new FarBucket(objects, 0)) })
  const count = rows.length / dim
  const piece = 50_000
  const rowsFrom = (first: number) =>
    Array.from({ length: Math.min(piece, count - first) }, (_, i) => {
      const id = first + i
      return { id, text: `word${id % 1000} of row ${id}`, v: rows.subarray(id * dim, (id + 1) * dim) }
    })
  const table = await ns.createTable('t', rowsFrom(0))
  for (let first = piece; first < count; first += piece) await table.add(rowsFrom(first))
  const waitTimeoutMs = 3_600_000
  await table.createIndex('v', { type: 'IVF_PQ', waitTimeoutMs })
  await table.createIndex('id', { type: 'BTREE', waitTimeoutMs })
  await table.createIndex('text', { type: 'FTS', waitTimeoutMs })
  await ns.optimize()
  const found: number[][] = []
  for (let q = 0; q < queries.length / dim; q++) {
    const answer = await searched(table, queries.subarray(q * dim, (q + 1) * dim))
    found.push(answer.map(({ id }) => id))
  }
  await ns.close()
  return recallOf(trueNeighbours(data, 'l2', nearest), found)
}

type Ids = Promise<readonly { readonly id: number }[]>

function searched(table: Table, query: Float32Array): Ids {
  return idsOf(table.search(query).nprobes(10).refineFactor(40))
}

function idsOf(search: Search<object>): Ids {
  return search.select(['id']).limit(nearest).toArray() as Promise<unknown> as Ids
}

/** The first queries of a process. */
function queriesOf({ queries, dim }: VectorData): Record<string, (table: Table) => Ids> {
  return {
    vector: table => searched(table, queries.subarray(0, dim)),
    text: table => idsOf(table.search('word77')),
    key: table => idsOf(table.query().where('id = 77')),
    filter: table => idsOf(table.query().where("text = 'word77 of row 77'")),
  }
}

async function firstAnswers(objects: Objects, data: VectorData, recall: number): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const [name, query] of Object.entries(queriesOf(data))) {
    const bucket = new FarBucket(objects, null)
    const counted = await opened(bucket, query)
    const figures = { ...figuresOf(bucket), ...(name === 'vector' && { recall }) }
    const times = await timed(3, () => opened(new FarBucket(objects, delayMs), query))
    entries.push({ name, ...times, relativeTime: 1, answer: String(counted.length), figures })
  }
  return entries
}

async function opened<T>(
  bucket: FarBucket,
  query: (table: Table) => Promise<T>,
  options: ConnectOptions = {},
): Promise<T> {
  const ns = await connect('far', { store: storeOf(bucket), readOnly: true, ...options })
  const answer = await query(ns.table('t'))
  await ns.close()
  return answer
}

async function restarted(objects: Objects, data: VectorData): Promise<Entry[]> {
  const entries: Entry[] = []
  const cacheDir = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
  try {
    const stale = { cacheDir, maxStalenessMs: 600_000 }
    const byVector = queriesOf(data).vector!
    const found = await opened(new FarBucket(objects, null), byVector, stale)
    for (const [name, options] of Object.entries({ strong: { cacheDir }, maxStalenessMs: stale })) {
      const bucket = new FarBucket(objects, null)
      await opened(bucket, byVector, options)
      const times = await timed(5, () => opened(new FarBucket(objects, delayMs), byVector, options))
      entries.push({
        name,
        ...times,
        relativeTime: 1,
        answer: String(found.length),
        figures: figuresOf(bucket),
      })
    }
    const { name } = new FarBucket(objects, null)
    const query = JSON.stringify([...data.queries.subarray(0, data.dim)])
    const args = [resolve('bench/far-restart.mjs'), `${name}/`, cacheDir, query]
    const inProcess: number[] = []
    const whole = await timed(5, async () => {
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      if (status !== 0) throw new Error(`the restarted process failed: ${stderr}`)
      const { milliseconds, ids } = JSON.parse(stdout)
      if (String(ids) !== String(found.map(({ id }) => id)))
        throw new Error('the restarted process found other rows')
      inProcess.push(milliseconds)
    })
    for (const [name, times] of [
      ['new process, from connect to the answer', { milliseconds: timesOf(inProcess) }],
      ['new process, from its start to its end', whole],
    ] as const) {
      entries.push({
        name,
        ...times,
        relativeTime: 1,
        answer: String(found.length),
        figures: { requests: 0 },
      })
    }
  } finally {
    rmSync(cacheDir, { recursive: true, force: true })
  }
  return entries
}

async function slowReads(): Promise<Entry> {
  const bytes = new Uint8Array(4096)
  const store = storeOf(
    new FarBucket(new Map([['k', { bytes, writer: '' }]]), delayMs, { share: 0.02, delayMs: 1000 }),
  )
  const times: number[] = []
  const count = 2000
  await inParallel(Array.from({ length: count }), callers, async () => {
    const begun = process.hrtime.bigint()
    await store.getRange('k', 0, 100)
    times.push(Number(process.hrtime.bigint() - begun) / 1e6)
  })
  const milliseconds = timesOf(times)
  const figures = { p99: times[Math.floor(0.99 * count)]!, sentTwice: store.hedging.sent / count }
  return { name: `${callers} at the same time`, milliseconds, relativeTime: 1, answer: '', figures }
}

async function warm(objects: Objects, data: VectorData): Promise<Entry[]> {
  const entries: Entry[] = []
  const works: Record<string, (ns: Namespace) => Promise<unknown>> = {
    ...Object.fromEntries(
      Object.entries(queriesOf(data)).map(([name, query]) => [name, (ns: Namespace) => query(ns.table('t'))]),
    ),
    'commit of one row': ns => ns.table('t').add([{ id: -1, text: 'late', v: new Float32Array(data.dim) }]),
    [`commits of ${callers} callers`]: ns =>
      Promise.all(
        Array.from({ length: callers }, (_, i) =>
          ns.table('t').add([{ id: -2 - i, text: 'late', v: new Float32Array(data.dim) }]),
        ),
      ),
  }
  for (const [name, work] of Object.entries(works)) {
    const counting = new FarBucket(objects, null)
    const ns = await connect('far', { store: storeOf(counting), maintenance: { compact: false } })
    for (let i = 0; i < 2; i++) await work(ns)
    counting.reset()
    await work(ns)
    const figures = figuresOf(counting)
    const slots = counting.log.filter(request => request.includes('create _log/')).length
    await ns.close()
    const far = await connect('far', {
      store: storeOf(new FarBucket(objects, delayMs)),
      maintenance: { compact: false },
    })
    await work(far)
    const times = await timed(5, () => work(far))
    await far.close()
    const more = name.startsWith('commits of') ? { commitsPerRequest: callers / slots } : {}
    entries.push({ name, ...times, relativeTime: 1, answer: name, figures: { ...figures, ...more } })
  }
  return entries
}

function figuresOf({ rounds, requests, bytes }: FarBucket): Readonly<Record<string, number>> {
  return { rounds, requests, kilobytes: bytes / 1000 }
}

async function timed(count: number, work: () => Promise<unknown>): Promise<Pick<Entry, 'milliseconds'>> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const begun = process.hrtime.bigint()
    await work()
    times.push(Number(process.hrtime.bigint() - begun) / 1e6)
  }
  return { milliseconds: timesOf(times) }
}

/** Sort the times, and return their distribution. */
function timesOf(times: number[]): Entry['milliseconds'] {
  times.sort((a, b) => a - b)
  const { length } = times
  return { min: times[0]!, p50: times[length >> 1]!, p95: times[Math.ceil(0.95 * length) - 1]! }
}

/**
 * Measures how close ingest comes to the limits of the machine: many rows compared with writing their bytes, one row
 * compared with a sync.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { batchBytes } from '../src/arrow/layout.js'
import { toArrowTable } from '../src/arrow/to-arrow.js'
import type { Schema } from '../src/arrow/types.js'
import { type ArrowBatch, connect, type Namespace } from '../src/index.js'
import { writeDurably } from './commit.js'
import { type Bench, type CaseResult, type Entry, hashOf, longestGap, race, timesOf } from './harness.js'
import { makeBatches, textOf } from './wide-rows.js'

interface Parameters {
  readonly rows: number
  readonly dim: number
  readonly batchRows: number
  readonly rounds: number
  readonly appends: number
}

export const bench: Bench<Parameters> = {
  name: 'ingest',
  question:
    'how much slower are writes of many rows than writing their bytes, and appends of one row than the disk?',
  small: { rows: 20_000, dim: 16, batchRows: 5_000, rounds: 1, appends: 5 },
  full: { rows: 1_000_000, dim: 128, batchRows: 10_000, rounds: 5, appends: 300 },
  async run(parameters) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    try {
      return [await many(folder, parameters), ...(await one(join(folder, 'one'), parameters))]
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

// ---- many rows

interface Writer {
  readonly name: string
  /** Write all rows to an empty folder, durably. Returns the number of rows. */
  write(folder: string): Promise<number>
}

async function many(folder: string, parameters: Parameters): Promise<CaseResult> {
  const { rows, dim, batchRows, rounds } = parameters
  const { schema, batches, pool } = makeBatches(parameters)
  const bytes = batches.reduce((sum, batch) => sum + batchBytes(batch), 0)
  const arrow: ArrowBatch[] = []
  for (const batch of batches) arrow.push(...(await toArrowTable(schema, [batch])).batches)
  const lists = Array.from({ length: batchRows }, (_, i) => Array.from(pool.subarray(i * dim, (i + 1) * dim)))
  const arrays = Array.from({ length: batchRows }, (_, i) => pool.slice(i * dim, (i + 1) * dim))
  const writers: readonly Writer[] = [
    {
      name: 'as many bytes to one file, synced',
      async write(path) {
        await writeFile(join(path, 'bytes'), bytes)
        return rows
      },
    },
    { name: `Arrow batches of ${batchRows}`, write: path => ingest(path, schema, arrow.values()) },
    { name: 'objects with arrays', write: path => ingest(path, schema, objects(rows, lists)) },
    { name: 'objects with Float32Arrays', write: path => ingest(path, schema, objects(rows, arrays)) },
  ]
  const times = writers.map(() => new Float64Array(rounds))
  const figures: Readonly<Record<string, number>>[] = []
  const answers = writers.map(() => '')
  let made = 0
  /**
   * Run a writer in a new folder. `measure` gets only the work of the writer, not the creation and deletion of the
   * folder.
   */
  const run = async <T>(who: number, measure: (work: () => Promise<void>) => Promise<T>): Promise<T> => {
    const path = join(folder, `many-${made++}`)
    mkdirSync(path)
    const measured = await measure(async () => {
      answers[who] = hashOf(await writers[who]!.write(path))
    })
    rmSync(path, { recursive: true })
    return measured
  }
  for (let who = 0; who < writers.length; who++) figures[who] = await observedTwice(() => run(who, observed))
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < writers.length; i++) {
      const who = (i + round) % writers.length
      times[who]![round] = await run(who, timed)
    }
  }
  const entries = writers.map(({ name }, who): Entry => {
    const milliseconds = timesOf(times[who]!)
    const relative = times[who]!.map((time, round) => time / times[0]![round]!)
    return {
      name,
      milliseconds,
      gigabytesPerSecond: bytes / milliseconds.p50 / 1e6,
      relativeTime: timesOf(relative).p50,
      answer: answers[who]!,
      figures: { rowsPerSecond: Math.round((1000 * rows) / milliseconds.p50), ...figures[who] },
    }
  })
  return { title: `${rows} x {id int64, text utf8, vector ${dim} float32}, on disk when it answers`, entries }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/**
 * Observe a run twice and return the observation with the smaller event-loop delay, because other work of the machine
 * increases this delay.
 */
async function observedTwice(observe: () => ReturnType<typeof observed>) {
  const [first, second] = [await observe(), await observe()]
  return first.longestGapMs < second.longestGapMs ? first : second
}

/** Measure the event-loop delay and the additional memory of a run. This takes time, so such a run is not timed. */
async function observed(work: () => Promise<void>) {
  await turn()
  const before = process.memoryUsage().rss
  let most = before
  const sampling = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss)
  }, 20)
  const gap = longestGap()
  await work()
  const longestGapMs = gap()
  clearInterval(sampling)
  return { longestGapMs, megabytesMore: Math.round((most - before) / 1e6) }
}

async function ingest(path: string, schema: Schema, data: Iterable<object>): Promise<number> {
  const ns = await connect(path)
  const table = await ns.createTable('t', [], { schema })
  const { rows } = await table.add(data)
  await ns.close()
  return rows
}

/** Write `bytes` bytes to a new file, durably. */
export async function writeFile(path: string, bytes: number): Promise<void> {
  const piece = new Uint8Array(4 * 1024 * 1024).fill(7)
  const file = await open(path, 'wx')
  for (let left = bytes; left > 0; left -= piece.length) {
    await file.write(piece, 0, Math.min(left, piece.length))
  }
  await file.datasync()
  await file.close()
}

function* objects(rows: number, vectors: readonly ArrayLike<number>[]): Generator<object> {
  for (let id = 0; id < rows; id++) {
    yield { id, text: textOf(id), vector: vectors[id % vectors.length] }
  }
}
// ---- one row

async function one(path: string, { appends }: Parameters): Promise<readonly CaseResult[]> {
  const ns = await connect(path)
  const table = await ns.createTable('t', [{ id: 0, text: textOf(0) }])
  let id = 0
  const append = () => table.add([{ id, text: textOf(id++) }])
  await append()
  mkdirSync(join(path, 'raw'))
  const bytes = readFileSync(join(path, '_log', readdirSync(join(path, '_log')).sort().at(-1)!))
  const callers = 8
  const each = 8
  const results = [
    await race({
      title: 'a row appended, on disk when it answers',
      contestants: [
        { name: 'create, sync, link, sync', run: () => writeDurably(path, bytes) },
        { name: 'Table.add', run: () => repeat(1, append) },
      ],
      rounds: appends,
    }),
    await race({
      title: `${callers * each} rows appended, one by one`,
      contestants: [
        { name: 'one caller', run: () => repeat(callers * each, append) },
        {
          name: `${callers} callers`,
          run: async () => {
            await Promise.all(Array.from({ length: callers }, () => repeat(each, append)))
            return 0
          },
        },
      ],
      rounds: Math.ceil(appends / 10),
    }),
    await gapOf(ns, append),
  ]
  await ns.close()
  return results
}

async function gapOf(ns: Namespace, append: () => Promise<unknown>): Promise<CaseResult> {
  const gap = longestGap()
  const started = performance.now()
  await Promise.all(Array.from({ length: 8 }, () => repeat(20, append)))
  const milliseconds = performance.now() - started
  const longestGapMs = gap()
  const rows = await (await ns.openTable('t')).countRows()
  const entry: Entry = {
    name: '8 callers',
    milliseconds: { min: milliseconds, p50: milliseconds, p95: milliseconds },
    relativeTime: 1,
    answer: hashOf(rows),
    figures: { longestGapMs },
  }
  return { title: 'the event loop during 160 of them', entries: [entry] }
}

async function repeat(times: number, work: () => Promise<unknown>): Promise<number> {
  for (let i = 0; i < times; i++) await work()
  return 0
}

/**
 * Measures reads of Lance tables and Parquet files: scans beside the reading of the bytes, imports into a new table, and
 * the bytes that reads of a few rows need.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCsv, readParquet, writeCsv, writeLance, writeParquet } from '../adapters/files/public.js'
import { toArrowTable } from '../src/arrow/to-arrow.js'
import { type ConnectOptions, connect, type Namespace } from '../src/index.js'
import {
  type Answer,
  type Bench,
  type CaseResult,
  type Entry,
  hashOf,
  longestGap,
  timesOf,
} from './harness.js'
import { makeBatches, type WideRows } from './wide-rows.js'

interface Parameters extends WideRows {
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'read-files',
  question: 'how fast are Lance tables and Parquet files read and imported, and what do a few rows need?',
  small: { rows: 20_000, dim: 128, batchRows: 5_000, rounds: 1 },
  full: { rows: 500_000, dim: 128, batchRows: 10_000, rounds: 2 },
  async run(parameters) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    try {
      await writeFiles(folder, parameters)
      const shape = `${parameters.rows} x {id int64, text, vector ${parameters.dim} float32}`
      return [
        await scans(folder, shape, parameters),
        await imports(folder, shape, parameters),
        await fewRows(folder, shape),
      ]
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function writeFiles(folder: string, parameters: Parameters): Promise<void> {
  const { schema, batches } = makeBatches(parameters)
  async function* arrow() {
    for (const batch of batches) yield* (await toArrowTable(schema, [batch])).batches
  }
  mkdirSync(join(folder, 'lance'))
  await writeLance(join(folder, 'lance', 't.lance'), arrow())
  await writeParquet(join(folder, 't.parquet'), arrow())
  // A CSV file of vectors would mostly measure the parsing of numbers.
  async function* narrow() {
    for await (const batch of arrow()) yield batch.select(['id', 'text'])
  }
  await writeCsv(join(folder, 't.csv'), narrow())
}

const lance = (folder: string, options: ConnectOptions = {}) =>
  connect(`lance+file://${join(folder, 'lance')}`, options)

interface Work {
  readonly name: string
  run(): Promise<Answer>
}

/** Run works in turn. Measures also the CPU time and the maximum event-loop delay. */
async function inTurn(
  title: string,
  works: readonly Work[],
  rows: number,
  rounds: number,
): Promise<CaseResult> {
  const times = works.map(() => new Float64Array(rounds))
  const cpu = works.map(() => new Float64Array(rounds))
  const gaps = works.map(() => new Float64Array(rounds))
  const answers = works.map(() => '')
  for (let round = 0; round < rounds; round++) {
    for (const [i, { run }] of works.entries()) {
      const gap = longestGap()
      const before = process.cpuUsage()
      const started = performance.now()
      const answer = await run()
      const took = performance.now() - started
      const { user, system } = process.cpuUsage(before)
      const longest = gap()
      answers[i] = hashOf(answer)
      times[i]![round] = took
      cpu[i]![round] = (user + system) / 1000
      gaps[i]![round] = longest
    }
  }
  const entries = works.map(({ name }, i): Entry => {
    const milliseconds = timesOf(times[i]!)
    return {
      name,
      milliseconds,
      relativeTime: milliseconds.p50 / timesOf(times[0]!).p50,
      answer: answers[i]!,
      figures: {
        rowsPerSecond: Math.round((1000 * rows) / milliseconds.p50),
        cpuMs: timesOf(cpu[i]!).min,
        longestGapMs: timesOf(gaps[i]!).min,
      },
    }
  })
  return { title, entries }
}

async function scans(folder: string, shape: string, { rows, rounds }: Parameters): Promise<CaseResult> {
  const count = async (batches: AsyncIterable<{ readonly numRows: number }>) => {
    let found = 0
    for await (const { numRows } of batches) found += numRows
    return found
  }
  const works: Work[] = [
    { name: 'reading the bytes of the Lance table', run: () => readAll(join(folder, 'lance'), rows) },
    {
      name: 'Lance table',
      run: async () => {
        const ns = await lance(folder)
        const found = await count((await ns.openTable('t')).query().batches())
        await ns.close()
        return found
      },
    },
    { name: 'Parquet file', run: () => count(readParquet(join(folder, 't.parquet'))) },
  ]
  return inTurn(`scan of ${shape}`, works, rows, rounds)
}

/** Read all files of a folder. Returns `answer`. */
async function readAll(folder: string, answer: number): Promise<number> {
  const piece = new Uint8Array(4 * 1024 * 1024)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name)
    if (!statSync(path).isFile()) continue
    const file = await open(path)
    for (let read = 1; read > 0; ) read = (await file.read(piece, 0, piece.length)).bytesRead
    await file.close()
  }
  return answer
}

async function imports(folder: string, shape: string, { rows, rounds }: Parameters): Promise<CaseResult> {
  let made = 0
  const into = async (create: (ns: Namespace) => Promise<{ countRows(): Promise<number> }>) => {
    const path = join(folder, `root-${made++}`)
    const ns = await connect(path)
    const found = await (await create(ns)).countRows()
    await ns.close()
    rmSync(path, { recursive: true })
    return found
  }
  const works: Work[] = [
    {
      name: 'createTable, Lance table',
      run: async () => {
        const source = await lance(folder)
        const table = await source.openTable('t')
        const found = await into(ns => ns.createTable('t', table.query().batches()))
        await source.close()
        return found
      },
    },
    {
      name: 'createTable, readParquet',
      run: () => into(ns => ns.createTable('t', readParquet(join(folder, 't.parquet')))),
    },
    {
      name: 'createTable, readCsv of id and text',
      run: () => into(ns => ns.createTable('t', readCsv(join(folder, 't.csv')))),
    },
  ]
  return inTurn(`import of ${shape}`, works, rows, rounds)
}

/** Read a few rows of a Lance table that was just opened. Measures the bytes that the process reads from files. */
async function fewRows(folder: string, shape: string): Promise<CaseResult> {
  const entries: Entry[] = []
  const measure = async (name: string, read: (ns: Namespace) => Promise<readonly object[]>) => {
    // Columns that take a small part of the cache are loaded whole.
    const ns = await lance(folder, { cacheBytes: 16 * 1024 * 1024 })
    await (await ns.openTable('t')).countRows()
    const before = bytesRead()
    const started = performance.now()
    const found = await read(ns)
    const took = performance.now() - started
    const bytes = bytesRead() - before
    await ns.close()
    entries.push({
      name,
      milliseconds: timesOf(Float64Array.of(took)),
      relativeTime: took / (entries[0]?.milliseconds.p50 ?? took),
      answer: hashOf(found.length),
      figures: { kilobytesRead: Math.round(bytes / 1000) },
    })
  }
  const numbers = async (ns: Namespace) => {
    const rows = await (await ns.openTable('t')).countRows()
    return Array.from({ length: 10 }, (_, i) => Math.floor(((i + 0.5) * rows) / 10))
  }
  await measure('10 rows by offset, column id', async ns =>
    (await ns.openTable('t'))
      .takeOffsets(await numbers(ns))
      .select(['id'])
      .toArray(),
  )
  await measure('10 rows by offset, all columns', async ns =>
    (await ns.openTable('t')).takeOffsets(await numbers(ns)).toArray(),
  )
  return { title: `a few rows of a Lance table, with a cache of 16 MiB: ${shape}`, entries }
}

/** Return the bytes that this process has read from files. 0 if the system does not count them. */
function bytesRead(): number {
  try {
    return Number(/^rchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

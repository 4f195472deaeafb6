/**
 * Measures the memory that each kind of work on a table needs, to show that a table may be larger than memory. Each
 * kind of work runs in a separate process.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Memory } from '../src/primitives/memory.js'
import { type Answer, type Bench, type CaseResult, type Entry, hashOf, race, timesOf } from './harness.js'

interface Parameters {
  readonly rows: number
  readonly dim: number
  readonly cacheBytes: number
  /** Limit of the JavaScript heap in MB, for the second series of measurements. */
  readonly heapMegabytes: number
  /**
   * How often work that changes nothing is repeated. The best time counts, because other work of the machine increases
   * times.
   */
  readonly rounds: number
  readonly reads: readonly string[]
  readonly writes: readonly string[]
}

const reads = [
  'scan all columns',
  'count a filter',
  'filter, 1 % of the rows',
  'search by vector',
  'search by vector, filtered',
  'group by',
  'the first 1,000 in an order',
  'the first tenth in an order',
]
const writes = [
  'append 2 %',
  'update 1,000 rows',
  'update 1 % all over',
  'add a column',
  'delete every other row',
  'compact it',
  'update every row',
  'convert the vectors',
]

export const bench: Bench<Parameters> = {
  name: 'memory',
  question: 'how much memory does work on a table need that is larger than memory?',
  small: {
    rows: 20_000,
    dim: 16,
    cacheBytes: 1024 * 1024,
    heapMegabytes: 64,
    rounds: 1,
    reads: ['scan all columns', 'search by vector, filtered'],
    writes: ['update 1,000 rows'],
  },
  full: {
    rows: 7_500_000,
    dim: 128,
    cacheBytes: 256 * 1024 * 1024,
    heapMegabytes: 512,
    rounds: 2,
    reads,
    writes,
  },
  async run(parameters) {
    const { rows, dim, cacheBytes, heapMegabytes } = parameters
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    try {
      checkRoom(folder, rows * (4 * dim + 60))
      const made = [work(folder, 'ingest', parameters)]
      const bytes = bytesIn(folder)
      const base = [work(folder, 'bare process', parameters), work(folder, 'read the files', parameters)]
      const each = (names: readonly string[], flags: readonly string[] = []) =>
        names.map(name => work(folder, name, parameters, flags))
      const table = `${rows} rows with ${dim} float32, ${(bytes / 1e9).toFixed(2)} GB, cacheBytes ${cacheBytes}`
      return [
        held(table, [...base, ...made, ...each(parameters.reads)]),
        held(`the same, --max-old-space-size=${heapMegabytes}`, [
          ...base,
          ...each(parameters.reads, [`--max-old-space-size=${heapMegabytes}`]),
        ]),
        held('changes of it', [...base, ...each(parameters.writes)]),
        await hits(),
      ]
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** Check the free disk space. While rows are rewritten, old and new files exist at the same time. */
function checkRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize < 3 * bytes)
    throw new Error(`${folder} does not have ${3 * bytes} bytes of free disk space`)
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => statSync(join(folder, name)))
    .reduce((sum, info) => sum + (info.isFile() ? info.size : 0), 0)
}

interface Worked {
  readonly milliseconds: number
  readonly peakBytes: number
  readonly answer: Answer
}

/** Run one kind of work, each time in a new process. */
function work(root: string, name: string, parameters: Parameters, flags: readonly string[] = []): Entry {
  const isReading = name !== 'ingest' && !writes.includes(name)
  const length = isReading ? parameters.rounds : 1
  const done = Array.from({ length }, () => workOnce(root, name, parameters, flags))
  return {
    name,
    milliseconds: timesOf(Float64Array.from(done, ({ milliseconds }) => milliseconds)),
    relativeTime: 1,
    answer: hashOf(done[0]!.answer),
    figures: { peakMegabytes: Math.round(Math.max(...done.map(({ peakBytes }) => peakBytes)) / 1e6) },
  }
}

function workOnce(root: string, name: string, parameters: Parameters, flags: readonly string[]): Worked {
  const { rows, dim, cacheBytes } = parameters
  const options = JSON.stringify({ rows, dim, cacheBytes })
  const args = [...flags, resolve('bench/memory-work.mjs'), name, root, options]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1e9 })
  if (status !== 0) throw new Error(`the process of ${name} exited with the status ${status}: ${stderr}`)
  return JSON.parse(stdout)
}

/** Build a case in which times are relative to the time of reading the files. */
function held(title: string, entries: readonly Entry[]): CaseResult {
  const read = entries.find(({ name }) => name === 'read the files')!.milliseconds.min
  return {
    title,
    entries: entries.map(entry => ({ ...entry, relativeTime: entry.milliseconds.min / read })),
  }
}

/** Measure the time of a cache hit. */
async function hits(): Promise<CaseResult> {
  const names = Array.from({ length: 1000 }, (_, i) => `tables/0000-0000/0-${i}/0/1`)
  const times = 100
  const plain = new Map(names.map(name => [name, Promise.resolve(name.length)]))
  const room = new Memory(1e9).partition<number>('columns', 'data', () => 1)
  for (const name of names) await room.get(name, async () => name.length)
  const each = (find: (name: string) => Promise<number> | undefined) => () => {
    let found = 0
    for (let i = 0; i < times; i++) for (const name of names) if (find(name) !== undefined) found++
    return found
  }
  return race({
    title: `${times * names.length} hits`,
    contestants: [
      { name: 'Map.get', run: each(name => plain.get(name)) },
      {
        name: 'the same, moved to the end',
        run: each(name => {
          const value = plain.get(name)!
          plain.delete(name)
          plain.set(name, value)
          return value
        }),
      },
      { name: 'Room.get', run: each(async name => room.get(name, async () => 0)) },
    ],
    rounds: 20,
  })
}

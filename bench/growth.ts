/**
 * Measures how the bytes that a call reads, and its time, grow with the table. Bytes are counted at the store, so other
 * work of the machine does not change them.
 *
 *     npm run bench -- growth                                   1M, 3M and 10M rows; one process per work
 *     SHEAF_GROWTH_ROWS=1000000 npm run bench -- growth         other numbers of rows, separated by commas
 *     SHEAF_GROWTH_ROOT=/data/growth npm run bench -- growth    keep the roots, so that a later run can use their data
 *
 * | figure | meaning |
 * |---|---|
 * | calls | number of measured calls. It is smaller than planned if the calls read more than 32 GiB together |
 * | bytes, reads | bytes and ranges that a call reads from the store, on average |
 * | warmBytes, warmReads, warmMs | for indexed reads: bytes, reads and median milliseconds after 1,000 further calls |
 * | firstMs, firstBytes, firstReads | for opening the root and the first call: milliseconds, bytes and reads |
 * | recall | share of the ten nearest rows that a search found |
 * | guessed | number of rows whose distance the index estimated |
 * | candidates | number of rows that the index proposed; their exact distance was computed |
 * | exact | number of rows whose exact distance was computed without the index |
 * | peakMegabytes | maximum memory of the process |
 * | makingRowsMs | part of the time of an ingest in which the rows were generated |
 *
 * Files may lie in the page cache of the system, so times are not those of a disk.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { growthData } from './growth-data.js'
import { calls, type GrowthOptions, growthWork, indexBuilds, queriesFor } from './growth-work.js'
import type { Bench, CaseResult, Entry, Point } from './harness.js'

interface Parameters {
  /** The numbers of rows of the tables, the smallest number first. */
  readonly rows: readonly number[]
  readonly dim: number
  readonly cacheBytes: readonly number[]
  /** Number of measured calls of each kind. One call before them is not counted. */
  readonly calls: number
  /** Number of calls of each indexed read between the first measurement and the second one. */
  readonly warmUp: number
  /** Whether each kind of work runs in a separate process, whose memory is reported. */
  readonly isApart: boolean
}

export const bench: Bench<Parameters> = {
  name: 'growth',
  question: 'how much does a call read, and how long does it take, if the table is 10 times as large?',
  small: { rows: [4000, 16_000], dim: 64, cacheBytes: [64 * 1024], calls: 5, warmUp: 5, isApart: false },
  full: {
    rows: (process.env.SHEAF_GROWTH_ROWS ?? '1000000,3000000,10000000').split(',').map(Number),
    dim: 128,
    cacheBytes: [256 * 1024 ** 2, 1024 ** 3],
    calls: 100,
    warmUp: 1000,
    isApart: true,
  },
  async run(parameters) {
    const kept = parameters.isApart ? process.env.SHEAF_GROWTH_ROOT : undefined
    const folder = kept ?? mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    try {
      const cases: CaseResult[] = []
      for (const cacheBytes of parameters.cacheBytes) {
        const sizes: Size[] = []
        for (const rows of parameters.rows) {
          const place = join(folder, `${rows}`)
          sizes.push({ rows, entries: await grown(place, rows, cacheBytes, parameters) })
          if (kept === undefined) rmSync(join(place, `${cacheBytes}`), { recursive: true })
        }
        cases.push(...told(sizes, cacheBytes))
      }
      return cases
    } finally {
      if (kept === undefined) rmSync(folder, { recursive: true, force: true })
    }
  },
}

interface Size {
  readonly rows: number
  readonly entries: readonly Entry[]
}

/** Create a root with `rows` rows if it does not exist, and measure all kinds of work on it. */
async function grown(
  place: string,
  rows: number,
  cacheBytes: number,
  { dim, calls: count, warmUp, isApart }: Parameters,
): Promise<readonly Entry[]> {
  const folder = join(place, `${cacheBytes}`)
  const root = join(folder, 'root')
  const notes = join(folder, 'made.json')
  const truth = join(place, `nearest of ${count}.json`)
  const options: GrowthOptions = { rows, dim, cacheBytes, calls: count, warmUp, truth }
  const data = isApart ? null : growthData(dim, queriesFor(options))
  const work = (name: string) =>
    data === null ? workApart(name, root, options) : growthWork(name, root, options, data)
  const made: Entry[] = existsSync(notes) ? JSON.parse(readFileSync(notes, 'utf8')) : []
  if (made.length === 0) rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const name of ['ingest', ...Object.keys(indexBuilds)]) {
    if (made.some(entry => entry.name === name)) continue
    made.push(await work(name))
    writeFileSync(notes, JSON.stringify(made))
  }
  if (!existsSync(truth)) await work('true neighbours')
  const entries = [...made]
  for (const name of Object.keys(calls)) entries.push(await work(name))
  return entries
}

function workApart(name: string, root: string, options: GrowthOptions): Entry {
  console.error(
    `${new Date().toISOString().slice(11, 19)} ${options.rows} rows, ${options.cacheBytes}: ${name}`,
  )
  const args = [resolve('bench/growth-work.mjs'), name, root, JSON.stringify(options)]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1e9 })
  if (status !== 0) throw new Error(`the process of ${name} exited with the status ${status}: ${stderr}`)
  return JSON.parse(stdout)
}

/** Convert the entries to cases of a report. Times are relative to those of the smallest table. */
function told(sizes: readonly Size[], cacheBytes: number): readonly CaseResult[] {
  const [least] = sizes
  const cache = `cacheBytes ${cacheBytes / 1024 ** 2} MiB`
  const cases = sizes.map(({ rows, entries }): CaseResult => {
    const held = entries.map((entry, i) => ({ ...entry, relativeTime: ratio(entry, least!.entries[i]!) }))
    return { title: `${rows} rows, ${cache}`, entries: held }
  })
  const most = sizes.at(-1)!
  if (most === least) return cases
  const indexed = most.entries.flatMap((entry, i) => {
    return calls[entry.name]?.isIndexed === true ? [{ entry, before: least!.entries[i]! }] : []
  })
  const entries = indexed.map(({ entry, before }) => {
    const figures: Record<string, number> = { msRatio: ratio(entry, before) }
    for (const name of ['bytes', 'reads', 'warmBytes', 'warmReads', 'warmMs']) {
      const base = before.figures![name] ?? 0
      if (base > 0) figures[`${name}Ratio`] = entry.figures![name]! / base
    }
    return { ...entry, relativeTime: ratio(entry, before), figures }
  })
  const lines = entries.map(({ name }) => ({
    name,
    points: sizes.map(({ rows, entries }): Point => {
      // The axis is logarithmic, so 0 cannot be drawn.
      return [rows, Math.max(1, entries.find(entry => entry.name === name)!.figures!.bytes!)]
    }),
  }))
  const axes = {
    x: { name: 'rows', logarithmic: true },
    y: { name: 'bytes read per call', logarithmic: true },
  }
  const title = `${most.rows} rows beside ${least!.rows}, ${cache}`
  return [...cases, { title, entries, lines: { ...axes, lines } }]
}

function ratio(entry: Entry, before: Entry): number {
  return entry.milliseconds.p50 / before.milliseconds.p50
}

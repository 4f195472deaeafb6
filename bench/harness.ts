/**
 * Runs benches. Contestants do the same work in turn, round after round, so that other work of the machine affects all
 * of them. Each contestant returns its answer. The hashes of the answers show whether the contestants did the same
 * work. Do not compare times of different runs: compare only ratios within one run.
 */
import { createHash } from 'node:crypto'
import { cpus, totalmem } from 'node:os'

/** A bench. Tests run it in the small size, so that it keeps working. */
export interface Bench<Parameters> {
  readonly name: string
  readonly question: string
  readonly small: Parameters
  readonly full: Parameters
  run(parameters: Parameters): Promise<readonly CaseResult[]>
}

export interface Contestant {
  readonly name: string
  /** Do the work once. The answer is hashed outside of the measured time. */
  run(): Answer | Promise<Answer>
  /** Called after each run, outside of the measured time, for example to delete files. */
  after?(): void | Promise<void>
}

/** The answer of a contestant. Typed arrays are hashed by their bytes, other values as JSON. */
export type Answer = ArrayBufferView | string | number | boolean | null | readonly Answer[] | AnswerObject
interface AnswerObject {
  readonly [name: string]: Answer
}

export interface Race {
  readonly title: string
  /** The contestants. Times are relative to those of the first one. */
  readonly contestants: readonly Contestant[]
  /** Number of measured rounds. `warmups`: number of rounds before them (default 2, but at most `rounds`). */
  readonly rounds: number
  readonly warmups?: number
  /** Number of bytes that one run processes, to compute GB/s. */
  readonly bytes?: number
  /** The name of the contestant that does only the minimum work: for example it reads the bytes, or syncs them. */
  readonly limit?: string
  /** Whether to report the distribution of the times of all rounds. Default false. */
  readonly distribution?: boolean
}

/** Times in milliseconds. */
export interface Times {
  readonly min: number
  readonly p50: number
  readonly p95: number
}

export interface Entry {
  readonly name: string
  readonly milliseconds: Times
  /** 10^9 bytes per second, computed from the median time. */
  readonly gigabytesPerSecond?: number
  /** The median, over all rounds, of this contestant's time divided by the time of the first contestant. */
  readonly relativeTime: number
  /** The first 12 hex digits of the SHA-256 of the answer. */
  readonly answer: string
  /** Further figures, such as recall or bytes written. */
  readonly figures?: Readonly<Record<string, number>>
}

export interface CaseResult {
  readonly title: string
  readonly entries: readonly Entry[]
  /** The name of the entry that shows the limit of the machine. */
  readonly limit?: string
  /** Data for a chart. */
  readonly lines?: Lines
}

/** A line chart with one line per contestant. Points are sorted by x. */
export interface Lines {
  readonly x: Axis
  readonly y: Axis
  readonly lines: readonly { readonly name: string; readonly points: readonly Point[] }[]
}
export interface Axis {
  readonly name: string
  /** Whether the axis is logarithmic. Default: it is linear. */
  readonly logarithmic?: boolean
}
export type Point = readonly [x: number, y: number]

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly platform: string
  readonly node: string
}

export interface Report {
  readonly bench: string
  readonly question: string
  readonly startedAt: string
  readonly machine: Machine
  readonly parameters: unknown
  /** The command that repeats the run. */
  readonly command?: string
  /** The versions of the other engines. */
  readonly versions?: Readonly<Record<string, string>>
  readonly cases: readonly CaseResult[]
}

/** A bench without its type of parameters, so that benches can be in one list. */
export interface NamedBench {
  readonly name: string
  readonly question: string
  run(size: 'small' | 'full'): Promise<Report>
}

export function named<Parameters>(bench: Bench<Parameters>): NamedBench {
  const { name, question } = bench
  return { name, question, run: size => runBench(bench, size) }
}

/**
 * Run benches from a command line: names of benches, `--full` for the full size, `--json` for one line of JSON per
 * bench. Without a name, print the list of benches.
 */
export async function askBenches(benches: readonly NamedBench[], words: readonly string[]): Promise<void> {
  const names = words.filter(word => !word.startsWith('--'))
  if (names.length === 0) for (const { name, question } of benches) console.log(`${name}: ${question}`)
  for (const name of names) {
    const bench = benches.find(candidate => candidate.name === name)
    if (bench === undefined) {
      console.error(
        `the bench ${name} does not exist. Benches: ${benches.map(known => known.name).join(', ')}`,
      )
      process.exitCode = 2
      return
    }
    const report = await bench.run(words.includes('--full') ? 'full' : 'small')
    console.log(words.includes('--json') ? JSON.stringify(report) : formatReport(report))
  }
}

/** Run a bench in the given size. */
export async function runBench<Parameters>(
  bench: Bench<Parameters>,
  size: 'small' | 'full',
): Promise<Report> {
  const parameters = bench[size]
  const startedAt = new Date().toISOString()
  const cases = await bench.run(parameters)
  return { bench: bench.name, question: bench.question, startedAt, machine: machine(), parameters, cases }
}

/**
 * Run the contestants in turn. Each round begins with another contestant. Throws if the answer of a contestant changes.
 */
export async function race({
  title,
  contestants,
  rounds,
  warmups = Math.min(2, rounds),
  bytes,
  limit,
  distribution = false,
}: Race): Promise<CaseResult> {
  const times = contestants.map(() => new Float64Array(rounds))
  const answers: string[] = []
  for (let round = -warmups; round < rounds; round++) {
    for (let turn = 0; turn < contestants.length; turn++) {
      const index = (turn + round + warmups) % contestants.length
      const started = process.hrtime.bigint()
      const answer = await contestants[index]!.run()
      const elapsed = Number(process.hrtime.bigint() - started) / 1e6
      await contestants[index]!.after?.()
      if (round >= 0) times[index]![round] = elapsed
      const hash = hashOf(answer)
      answers[index] ??= hash
      if (answers[index] !== hash)
        throw new Error(
          `${title}: the answer of ${contestants[index]!.name} changed from ${answers[index]} to ${hash}`,
        )
    }
  }
  const entries = contestants.map(({ name }, index): Entry => {
    const milliseconds = timesOf(times[index]!)
    return {
      name,
      milliseconds,
      ...(bytes === undefined ? {} : { gigabytesPerSecond: bytes / milliseconds.p50 / 1e6 }),
      relativeTime: quantile(
        times[index]!.map((time, round) => time / times[0]![round]!),
        0.5,
      ),
      answer: answers[index]!,
    }
  })
  return {
    title,
    entries,
    ...(limit !== undefined && { limit }),
    ...(distribution && { lines: distributions(contestants, times) }),
  }
}

const shares = [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 1]

/**
 * Return the distribution of times as a chart: for each share, the time that this share of the times does not exceed.
 */
export function distributions(
  named: readonly { readonly name: string }[],
  times: readonly Float64Array[],
): Lines {
  return {
    x: { name: 'share of all' },
    y: { name: 'ms at most', logarithmic: true },
    lines: named.map(({ name }, index) => ({
      name,
      points: shares.map((share): Point => [share, quantile(times[index]!, share)]),
    })),
  }
}

/**
 * Start to watch the event loop. Returns a function that stops this and returns the maximum event-loop delay in
 * milliseconds.
 */
export function longestGap(): () => number {
  let last = performance.now()
  let longest = 0
  let watching = true
  const look = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (watching) setImmediate(look)
  }
  setImmediate(look)
  return () => {
    watching = false
    look()
    return longest
  }
}

export function hashOf(answer: Answer): string {
  const hash = createHash('sha256')
  feed(hash, answer)
  return hash.digest('hex').slice(0, 12)
}

export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
  }
}

/** Format a report as text. */
export function formatReport({ bench, question, machine, parameters, versions, cases }: Report): string {
  const lines = [
    `${bench}: ${question}`,
    formatMachine(machine),
    ...(versions === undefined ? [] : [formatVersions(versions)]),
    `${JSON.stringify(parameters)}`,
  ]
  for (const { title, entries, limit } of cases) {
    const least = entries.find(({ name }) => name === limit)?.milliseconds.p50
    const widest = Math.max(title.length, ...entries.map(entry => entry.name.length + 2))
    const heads = `       min       p50       p95   GB/s  x first${least === undefined ? '' : '  x limit'}  answer`
    lines.push('', title.padEnd(widest) + heads)
    for (const entry of entries) {
      const { min, p50, p95 } = entry.milliseconds
      const figures = Object.entries(entry.figures ?? {}).map(([name, value]) => `  ${name} ${round(value)}`)
      lines.push(
        `  ${entry.name.padEnd(widest - 2)}${[min, p50, p95].map(time => round(time).padStart(10)).join('')}` +
          `${(entry.gigabytesPerSecond === undefined ? '' : round(entry.gigabytesPerSecond)).padStart(7)}` +
          `${entry.relativeTime.toFixed(2).padStart(9)}` +
          `${least === undefined ? '' : (p50 / least).toFixed(2).padStart(9)}  ${entry.answer}${figures.join('')}`,
      )
    }
  }
  return lines.join('\n')
}

export function formatMachine({ cpu, cores, memoryGiB, platform, node }: Machine): string {
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${platform}, node ${node}`
}

export function formatVersions(versions: Readonly<Record<string, string>>): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')
}

export function timesOf(times: Float64Array): Times {
  return { min: quantile(times, 0), p50: quantile(times, 0.5), p95: quantile(times, 0.95) }
}

/** Return the quantile `share` of the values, by the nearest rank. */
function quantile(values: Float64Array, share: number): number {
  const sorted = values.slice().sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}

/** Format a number with about three significant digits, without an exponent. */
export function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(value >= 1 ? 2 : 3)
}

function feed(hash: ReturnType<typeof createHash>, answer: Answer): void {
  if (ArrayBuffer.isView(answer))
    hash.update(new Uint8Array(answer.buffer, answer.byteOffset, answer.byteLength))
  else if (Array.isArray(answer)) for (const part of answer) feed(hash, part)
  else hash.update(`${JSON.stringify(answer)}\n`)
}

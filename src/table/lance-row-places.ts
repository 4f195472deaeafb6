/** Finds rows of fragments of a Lance table by their row ids. */
import type { Fragment } from '../manifest/layout.js'
import { partitionPoint } from '../primitives/partition-point.js'

/** Rows whose ids are consecutive: `start` to `end - 1`. `ordinal`: the number of the first row. */
interface IdRun {
  readonly start: number
  readonly end: number
  readonly ordinal: number
  readonly fragment: number
}

/** The result of `ordinalOf` if no row has the id. */
export const noRow = -1

/**
 * The rows of some fragments, numbered from 0 in the order of the fragments. With stable row ids, an updated row is in
 * several fragments, and it is deleted in all of them except the fragment that was written last.
 */
export class LanceRowPlaces {
  /** The number of rows, with the deleted rows. */
  readonly rows: number
  /** By position of the fragment: the number of its first row. */
  readonly firsts: readonly number[]
  /** Runs that ascend and do not overlap. */
  readonly #runs: readonly IdRun[]
  readonly #starts: Float64Array

  /** `fragments`: fragments of a Lance table, which have their row ids in memory. */
  constructor(fragments: readonly Fragment[]) {
    const firsts: number[] = []
    const runs: IdRun[] = []
    let rows = 0
    for (const fragment of fragments) {
      firsts.push(rows)
      for (const run of runsOf(fragment, rows)) runs.push(run)
      rows += fragment.rows
    }
    this.rows = rows
    this.firsts = firsts
    this.#runs = withoutOverlaps(runs)
    this.#starts = Float64Array.from(this.#runs, ({ start }) => start)
  }

  /** Return the number of the row with an id. If several rows have the id, return the row that was written last. */
  ordinalOf(id: number): number {
    const run = this.#runs[partitionPoint(this.#starts.length, i => this.#starts[i]! <= id) - 1]
    return run !== undefined && id < run.end ? run.ordinal + (id - run.start) : noRow
  }
}

function* runsOf({ id, ids, rows }: Fragment, first: number): Generator<IdRun> {
  if ('row0' in ids) yield { start: ids.row0, end: ids.row0 + rows, ordinal: first, fragment: id }
  if (!('sequence' in ids)) return
  const { starts, ranks } = ids.sequence
  for (let i = 0; i < starts.length; i++) {
    const count = ranks[i + 1]! - ranks[i]!
    yield { start: starts[i]!, end: starts[i]! + count, ordinal: first + ranks[i]!, fragment: id }
  }
}

/** Return runs that do not overlap. Where several runs have an id, the run of the fragment with the greatest id stays. */
function withoutOverlaps(runs: readonly IdRun[]): readonly IdRun[] {
  const byStart = runs.toSorted((a, b) => a.start - b.start)
  if (byStart.every((run, i) => i === 0 || byStart[i - 1]!.end <= run.start)) return byStart
  const points = Float64Array.from(new Set(runs.flatMap(({ start, end }) => [start, end]))).sort()
  const pieces: IdRun[] = []
  let active: IdRun[] = []
  for (let i = 0, next = 0; i + 1 < points.length; i++) {
    const start = points[i]!
    active = active.filter(({ end }) => end > start)
    for (; next < byStart.length && byStart[next]!.start === start; next++) active.push(byStart[next]!)
    const [first] = active
    if (first === undefined) continue
    const newest = active.reduce((a, b) => (b.fragment > a.fragment ? b : a), first)
    const { fragment, ordinal } = newest
    pieces.push({ start, end: points[i + 1]!, ordinal: ordinal + (start - newest.start), fragment })
  }
  return pieces
}

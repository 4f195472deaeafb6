/**
 * Sets of version numbers, stored as ranges. The ranges are inclusive, ascending and not adjacent, so a long history
 * without gaps is one range.
 */
import { partitionPoint } from '../primitives/partition-point.js'

export type Run = readonly [first: number, last: number]
export type Runs = readonly Run[]

/** Return the largest number of a set; undefined for an empty set. */
export function lastOf(runs: Runs): number | undefined {
  return runs.at(-1)?.[1]
}

/** Return whether a set contains the number `n`. */
export function hasNumber(runs: Runs, n: number): boolean {
  const run = runs[firstEndingAt(runs, n)]
  return run !== undefined && run[0] <= n
}

/** Return how many numbers a set contains. */
export function countNumbers(runs: Runs): number {
  return runs.reduce((sum, [first, last]) => sum + last - first + 1, 0)
}

/** Return the set with `n` added. `n` must be larger than all numbers of the set. */
export function withNext(runs: Runs, n: number): Runs {
  const last = runs.at(-1)
  // Do not use `concat`: after apache-arrow was loaded in the process, it takes a hundred times longer. Both ways below
  // copy a thousand runs in a microsecond.
  if (last?.[1] !== n - 1) return [...runs, [n, n]]
  const longer = runs.slice()
  longer[runs.length - 1] = [last[0], n]
  return longer
}

/** Return the numbers that are in both sets. */
export function intersection(a: Runs, b: Runs): Runs {
  const both: Run[] = []
  for (let i = 0, k = 0; i < a.length && k < b.length; ) {
    const first = Math.max(a[i]![0], b[k]![0])
    const last = Math.min(a[i]![1], b[k]![1])
    if (first <= last) both.push([first, last])
    if (a[i]![1] < b[k]![1]) i++
    else k++
  }
  return both
}

/** Return the numbers of `runs` that are not in `others`. */
export function difference(runs: Runs, others: Runs): Runs {
  const rest: Run[] = []
  let k = 0
  for (const [first, last] of runs) {
    let from = first
    while (k < others.length && others[k]![1] < from) k++
    for (let i = k; i < others.length && others[i]![0] <= last; i++) {
      if (others[i]![0] > from) rest.push([from, others[i]![0] - 1])
      from = Math.max(from, others[i]![1] + 1)
    }
    if (from <= last) rest.push([from, last])
  }
  return rest
}

/** Return the numbers that are in at least one of the sets. */
export function union(sets: Iterable<Runs>): Runs {
  const all = [...sets].flat().sort((a, b) => a[0] - b[0])
  const joined: [number, number][] = []
  for (const [first, last] of all) {
    const before = joined.at(-1)
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last)
    else joined.push([first, last])
  }
  return joined
}

/**
 * Return at most `limit` numbers that come after `after` in ascending or descending order. `after` itself is not
 * included. If `after` is undefined, return the first numbers in that order. The cost is proportional to the result.
 */
export function numbersFrom(
  runs: Runs,
  after: number | undefined,
  limit: number,
  descending: boolean,
): number[] {
  const found: number[] = []
  if (descending) {
    const start = after === undefined ? runs.length : firstEndingAt(runs, after)
    for (let i = Math.min(start, runs.length - 1); i >= 0 && found.length < limit; i--) {
      const [first, last] = runs[i]!
      const from = after === undefined ? last : Math.min(last, after - 1)
      for (let n = from; n >= first && found.length < limit; n--) found.push(n)
    }
    return found
  }
  for (let i = after === undefined ? 0 : firstEndingAt(runs, after + 1); i < runs.length; i++) {
    const [first, last] = runs[i]!
    const from = after === undefined ? first : Math.max(first, after + 1)
    for (let n = from; n <= last && found.length < limit; n++) found.push(n)
    if (found.length >= limit) break
  }
  return found
}

/** Return the index of the first run that ends at `n` or later. */
function firstEndingAt(runs: Runs, n: number): number {
  return partitionPoint(runs.length, i => runs[i]![1] < n)
}

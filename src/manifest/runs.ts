/** Sets of version numbers as ascending, disjoint, non-adjacent inclusive ranges: a long history is one pair. */

export type Run = readonly [first: number, last: number]
export type Runs = readonly Run[]

/** The largest number, or undefined. */
export function lastOf(runs: Runs): number | undefined {
  return runs.at(-1)?.[1]
}

export function hasNumber(runs: Runs, n: number): boolean {
  const run = runs[firstEndingAt(runs, n)]
  return run !== undefined && run[0] <= n
}

/** How many numbers there are. */
export function countNumbers(runs: Runs): number {
  return runs.reduce((sum, [first, last]) => sum + last - first + 1, 0)
}

/** `runs` and a number larger than all of them. */
export function withNext(runs: Runs, n: number): Runs {
  const last = runs.at(-1)
  return last !== undefined && last[1] === n - 1 ? [...runs.slice(0, -1), [last[0], n]] : [...runs, [n, n]]
}

/** The part of `runs` in `first..last`, which is nothing when `first` is the larger. */
export function within(runs: Runs, first: number, last: number): Runs {
  if (first > last) return []
  const found: Run[] = []
  for (let i = firstEndingAt(runs, first); i < runs.length && runs[i]![0] <= last; i++) {
    found.push([Math.max(first, runs[i]![0]), Math.min(last, runs[i]![1])])
  }
  return found
}

/** `runs` without `first..last`, which is nothing when `first` is the larger. */
export function without(runs: Runs, first: number, last: number): Runs {
  if (first > last) return runs
  return runs.flatMap(([from, to]): Run[] => {
    if (to < first || from > last) return [[from, to]]
    const rest: Run[] = []
    if (from < first) rest.push([from, first - 1])
    if (to > last) rest.push([last + 1, to])
    return rest
  })
}

/** The numbers of several sets, as one. */
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
 * At most `limit` numbers beyond `after` (exclusive; absent: from the end it starts at), ascending or descending.
 * Costs what it returns.
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

/** Index of the first run that ends at `n` or later. */
function firstEndingAt(runs: Runs, n: number): number {
  let low = 0
  let high = runs.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (runs[middle]![1] >= n) high = middle
    else low = middle + 1
  }
  return low
}

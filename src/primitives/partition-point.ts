/**
 * Return how many of `length` sorted items satisfy `isFirst`, by bisection. `isFirst` must be true up to some index and
 * false from there on.
 */
export function partitionPoint(length: number, isFirst: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isFirst(middle)) low = middle + 1
    else high = middle
  }
  return low
}

/** Return the index of the first of `count` ascending numbers that is at least `least`; `count` if there is none. */
export function lowerBound(numbers: Uint32Array, count: number, least: number): number {
  // Not `partitionPoint`, because callers need it for every block or row.
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (numbers[middle]! < least) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Return the index of the first of `values` that is at least `least`, searching from index `from` in growing steps
 * (galloping search). `values` must ascend.
 */
export function firstFrom(values: Float64Array, from: number, least: number): number {
  let low = from
  let step = 1
  while (low + step <= values.length && values[low + step - 1]! < least) {
    low += step
    step *= 2
  }
  let high = Math.min(values.length, low + step - 1)
  while (low < high) {
    const middle = (low + high) >>> 1
    if (values[middle]! < least) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Return the number of items at the beginning of a sequence of `length` items for which `isFirst` is true, by binary
 * search. `isFirst` must be true for all indexes below some index, and false for this index and all later indexes.
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

/**
 * Return the index of the first of `count` ascending numbers that is at least `least`. Returns `count` if all are less.
 */
export function lowerBound(numbers: Uint32Array, count: number, least: number): number {
  // Do not call `partitionPoint` with a callback: this function must be fast, because callers use it for every row.
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
 * Return the index of the first value from index `from` on that is at least `least`. Returns the length of `values` if
 * all are less. `values` must ascend. The search uses growing steps (galloping search), so close results are fast.
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

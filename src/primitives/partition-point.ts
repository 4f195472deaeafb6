/**
 * How many of `length` things in order come first, as `isFirst` says by index: it is true up to some index and false from
 * there on, which is found by bisection.
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

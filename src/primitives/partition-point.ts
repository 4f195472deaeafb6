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

/** The first of `values`, ascending, that is at least `least`, looked for from number `from` on in growing steps. */
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

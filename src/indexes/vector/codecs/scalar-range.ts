/** Which values the codes of a scalar codec stand for. */
import type { Pacer } from '../../../primitives/pacer.js'

/** Steps from the lowest code to the highest. */
const steps = 255

/** Of float32s. */
const largest = (2 - 2 ** -23) * 2 ** 127

/** Vectors that are looked at. */
const mostRows = 16_384

/** Of so many values of a dimension one at either end does not count: what is rare must not make the step long. */
const rowsPerOutlier = 1024
/** Fewer values than this all count. */
const leastRows = 64

/** Whole numbers from one of these on are kept as they are, as far as codes go. */
const wholeFrom = [0, -128]

/** Rows between two looks at the clock. */
const rowsAtOnce = 256

/** The step, then the offset of each dimension. */
export async function rangeOf(
  sample: Float32Array,
  rows: number,
  dim: number,
  pacer: Pacer,
): Promise<Float32Array> {
  const count = Math.min(rows, mostRows)
  const beginOf = (i: number) => Math.floor((i * rows) / count) * dim
  const from = await wholeRange(sample, dim, count, beginOf, pacer)
  if (from !== undefined) return new Float32Array(dim + 1).fill(from).fill(1, 0, 1)

  const dimensions: Dimension[] = []
  const column = new Float32Array(count)
  for (let i = 0; i < dim; i++) {
    await pacer.turn()
    for (let j = 0; j < count; j++) column[j] = sample[beginOf(j) + i]!
    dimensions.push(dimensionOf(column.sort()))
  }
  const step = stepOf(dimensions)
  return Float32Array.of(step, ...dimensions.map(dimension => offsetOf(dimension, step)))
}

/** Where the values of a dimension lie: all of them, and those that are not rare. */
interface Dimension {
  readonly least: number
  readonly low: number
  readonly high: number
  readonly most: number
}

function dimensionOf(sorted: Float32Array): Dimension {
  const last = sorted.length - 1
  const outliers = sorted.length < leastRows ? 0 : Math.ceil(sorted.length / rowsPerOutlier)
  return { least: sorted[0]!, low: sorted[outliers]!, high: sorted[last - outliers]!, most: sorted[last]! }
}

/** The widest dimension fills all codes. */
function stepOf(dimensions: readonly Dimension[]): number {
  let usual = 0
  let whole = 0
  for (const { least, low, high, most } of dimensions) {
    usual = Math.max(usual, high - low)
    whole = Math.max(whole, most - least)
  }
  return Math.fround(usual / steps) || Math.fround(whole / steps) || 1
}

/** Puts as much of the dimension as there is room for in the middle of the codes, a whole number of steps from either end. */
function offsetOf({ least, low, high, most }: Dimension, step: number): number {
  const [from, to] = most - least <= steps * step ? [least, most] : [low, high]
  const spare = Math.floor(Math.max(0, steps - (to - from) / step) / 2)
  return Math.max(from - spare * step, -largest)
}

/** Where the codes begin for values that are all whole numbers, and few enough. */
async function wholeRange(
  sample: Float32Array,
  dim: number,
  count: number,
  beginOf: (row: number) => number,
  pacer: Pacer,
): Promise<number | undefined> {
  let least = Infinity
  let most = -Infinity
  for (let row = 0; row < count; row++) {
    if (row % rowsAtOnce === 0) await pacer.turn()
    const begin = beginOf(row)
    for (let i = begin; i < begin + dim; i++) {
      const value = sample[i]!
      if (value !== Math.trunc(value)) return undefined
      if (value < least) least = value
      if (value > most) most = value
    }
  }
  return wholeFrom.find(from => least >= from && most <= from + steps)
}

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

/** Whole numbers of these ranges are kept as they are. */
const wholeFrom = [0, -128]

/** The step, then the offset of each dimension. */
export async function rangeOf(
  sample: Float32Array,
  rows: number,
  dim: number,
  pacer: Pacer,
): Promise<Float32Array> {
  const from = wholeFrom.find(low => holdsWhole(sample.subarray(0, rows * dim), low))
  if (from !== undefined) return new Float32Array(dim + 1).fill(from).fill(1, 0, 1)

  const dimensions: Dimension[] = []
  const column = new Float32Array(Math.min(rows, mostRows))
  for (let i = 0; i < dim; i++) {
    await pacer.turn()
    for (let j = 0; j < column.length; j++)
      column[j] = sample[Math.floor((j * rows) / column.length) * dim + i]!
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

function holdsWhole(values: Float32Array, low: number): boolean {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (value !== Math.trunc(value) || value < low || value > low + steps) return false
  }
  return true
}

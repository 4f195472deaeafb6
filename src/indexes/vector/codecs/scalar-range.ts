/** Determines the value range that the codes of a scalar codec represent. */
import type { Pacer } from '../../../primitives/pacer.js'

/** Number of steps from the lowest to the highest code. */
const steps = 255

/** The largest float32. */
const largest = (2 - 2 ** -23) * 2 ** 127

/** Maximum number of sampled vectors. */
const mostRows = 16_384

/**
 * For every 1,024 values of a dimension, one lowest and one highest value are ignored as outliers. Otherwise single
 * outliers would make the step larger.
 */
const rowsPerOutlier = 1024
/** Minimum number of values of which outliers are ignored. */
const leastRows = 64

/** The lowest values of uint8 and int8. Integers are stored exactly if all are within 255 of one of these offsets. */
const wholeFrom = [0, -128]

/**
 * Limits of the number of bytes of the last dimension, if `lastIsRest`. The maximum is `restBytes`, or
 * `restBytesPerDim` per other dimension if this is more.
 */
const restBytes = 16
const restBytesPerDim = 1 / 8

/** Number of rows processed between two checks of the clock. */
const rowsAtOnce = 256

/**
 * Return an array with the step, and then the offset of each byte of a code. A code has one byte per dimension.
 *
 * `lastIsRest`: the last dimension is the additional element of the dot metric (space.ts). Its values may be as great
 * as the length of the vectors, and queries have 0 there. Therefore the code of this dimension has several bytes if the
 * step of the other dimensions is too small for one byte.
 */
export async function rangeOf(
  sample: Float32Array,
  rows: number,
  dim: number,
  lastIsRest: boolean,
  pacer: Pacer,
): Promise<Float32Array> {
  const count = Math.min(rows, mostRows)
  const beginOf = (i: number) => Math.floor((i * rows) / count) * dim
  const own = lastIsRest ? dim - 1 : dim
  const dimensions: Dimension[] = []
  const column = new Float32Array(count)
  for (let i = 0; i < dim; i++) {
    await pacer.turn()
    for (let j = 0; j < count; j++) column[j] = sample[beginOf(j) + i]!
    dimensions.push(dimensionOf(column.sort()))
  }
  const rest = lastIsRest ? dimensions.pop()!.most : 0
  // With the dot metric, vectors with extreme values are often the nearest, so the range includes outliers.
  const usual = lastIsRest
    ? dimensions.map(({ least, most }) => ({ least, low: least, high: most, most }))
    : dimensions
  const whole = await wholeRange(sample, own, count, beginOf, pacer)
  const bytes = Math.max(restBytes, Math.floor(own * restBytesPerDim))
  const step = Math.max(
    whole === undefined ? stepOf(usual) : 1,
    Math.fround(rest / (steps * Math.sqrt(bytes))),
  )
  const offsets =
    whole !== undefined && step === 1
      ? usual.map(() => whole)
      : usual.map(dimension => offsetOf(dimension, step))
  const restOffsets = lastIsRest
    ? new Array<number>(Math.max(1, Math.ceil((rest / (steps * step)) ** 2))).fill(0)
    : []
  return Float32Array.of(step, ...offsets, ...restOffsets)
}

/** The range of a dimension's values. `least` to `most` includes outliers; `low` to `high` excludes them. */
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

/** Return the step with which the dimension with the widest range uses all codes. */
function stepOf(dimensions: readonly Dimension[]): number {
  let usual = 0
  let whole = 0
  for (const { least, low, high, most } of dimensions) {
    usual = Math.max(usual, high - low)
    whole = Math.max(whole, most - least)
  }
  return Math.fround(usual / steps) || Math.fround(whole / steps) || 1
}

/**
 * Return the offset of a dimension: the value of the code 0. It centers the dimension's range in the range of the
 * codes, by a whole number of steps. The range includes outliers if the codes can represent them.
 */
function offsetOf({ least, low, high, most }: Dimension, step: number): number {
  const [from, to] = most - least <= steps * step ? [least, most] : [low, high]
  const spare = Math.floor(Math.max(0, steps - (to - from) / step) / 2)
  return Math.max(from - spare * step, -largest)
}

/**
 * Return one of the offsets `wholeFrom` if all values of the first `own` dimensions are integers that are 0 to 255
 * greater than the offset. Otherwise return undefined.
 */
async function wholeRange(
  sample: Float32Array,
  own: number,
  count: number,
  beginOf: (row: number) => number,
  pacer: Pacer,
): Promise<number | undefined> {
  let least = Infinity
  let most = -Infinity
  for (let row = 0; row < count; row++) {
    if (row % rowsAtOnce === 0) await pacer.turn()
    const begin = beginOf(row)
    for (let i = begin; i < begin + own; i++) {
      const value = sample[i]!
      if (value !== Math.trunc(value)) return undefined
      if (value < least) least = value
      if (value > most) most = value
    }
  }
  return wholeFrom.find(from => least >= from && most <= from + steps)
}

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

/** The last dimension may take so many bytes where it is that of `lastIsRest`, or so many for each of the others. */
const restBytes = 16
const restBytesPerDim = 1 / 8

/** Rows between two looks at the clock. */
const rowsAtOnce = 256

/**
 * The step, then the offset of each byte of a code: one for each dimension. Where the last dimension holds what vectors lack of the greatest length
 * (`lastIsRest`), its values may be as great as vectors are long, and queries have 0 there. That dimension has as many bytes as its
 * values need in the step of the others, behind theirs.
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
  // By dot, it is the vectors with rare values that are the nearest.
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

/** Where the codes begin for values of the first `own` dimensions that are all whole numbers, and few enough. */
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

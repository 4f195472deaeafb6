/** Reads all vectors once before a build, to count and to sample them. */
import type { Pacer } from '../../primitives/pacer.js'
import { seededRandom } from '../../primitives/seeded-random.js'
import type { VectorInput } from './input.js'
import type { VectorSpec } from './kind.js'
import { resolveSettings, type Settings } from './settings.js'
import { isApart, placeVector, type Space, spaceOf, squaredLength } from './space.js'

/** The result of reading all vectors once. */
export interface Survey {
  readonly space: Space
  readonly settings: Settings
  /** Number of rows with a vector in the space, that is, without apart rows (space.ts). */
  readonly placed: number
  /**
   * Vectors of sampled rows, `innerDim` elements each. The sample is spread over all placed rows. If there are no
   * placed rows, the sample is one vector of zeros.
   */
  readonly sample: Float32Array
  /** Ordinals of the sampled rows. */
  readonly sampled: Uint32Array
}

/** Number of rows processed between two turns of the event loop. */
const turnRows = 1024

/** Count and sample all rows of the input. Calls `onPiece` with the number of rows of each piece that was read. */
export async function surveyed(
  spec: VectorSpec,
  input: VectorInput,
  pacer: Pacer,
  onPiece: (rows: number) => void,
): Promise<Survey> {
  const { metric } = spec
  const { dim, rows: total } = input
  const { innerDim } = spaceOf(metric, dim, 0)
  // These sample sizes are upper bounds, because `total` includes rows without a vector.
  const { centroidRows, codecRows } = resolveSettings(spec, total, innerDim)
  const wanted = Math.max(centroidRows, codecRows)
  const raw = new Float32Array(wanted * dim)
  const squares = new Float64Array(wanted)
  const ordinals = new Uint32Array(wanted)
  let sampled = 0
  let placed = 0
  let greatest = 0
  let next = 0
  const random = seededRandom(1)
  for await (const { first, rows, values, present } of input.pieces()) {
    for (let row = 0; row < rows; row++) {
      if (row % turnRows === turnRows - 1) await pacer.turn()
      if (present !== null && !present.has(row)) continue
      const at = row * dim
      const square = squaredLength(values, at, dim)
      if (isApart({ metric }, square)) continue
      placed++
      greatest = Math.max(greatest, square)
      if (first - input.first + row < next || sampled === wanted) continue
      for (let i = 0; i < dim; i++) raw[sampled * dim + i] = values[at + i]!
      ordinals[sampled] = first + row
      squares[sampled++] = square
      // Choose the distance to the next sampled row at random. With a fixed distance, the sample of periodic data would
      // be biased.
      next = Math.floor(((sampled + random()) * total) / wanted)
    }
    onPiece(rows)
    await pacer.turn()
  }
  const space = spaceOf(metric, dim, greatest)
  const sample = new Float32Array(Math.max(1, sampled) * innerDim)
  for (let i = 0; i < sampled; i++) {
    placeVector(space, raw, i * dim, squares[i]!, sample, i * innerDim)
    if (i % turnRows === 0) await pacer.turn()
  }
  return {
    space,
    settings: resolveSettings(spec, placed, innerDim),
    placed,
    sample,
    sampled: ordinals.subarray(0, sampled),
  }
}

/**
 * Return the vectors of `wanted` sampled rows, which are evenly spread over the sample. Return all if the sample has
 * fewer rows.
 */
export async function someOf(
  { sample, space: { innerDim } }: Survey,
  wanted: number,
  pacer: Pacer,
): Promise<Float32Array> {
  const rows = sample.length / innerDim
  if (wanted >= rows) return sample
  const some = new Float32Array(wanted * innerDim)
  for (let i = 0; i < wanted; i++) {
    const at = Math.floor((i * rows) / wanted) * innerDim
    some.set(sample.subarray(at, at + innerDim), i * innerDim)
    if (i % turnRows === 0) await pacer.turn()
  }
  return some
}

/** A batch of rows converted to the space. */
interface PlacedRows {
  /** Number of vectors. */
  readonly count: number
  /** Ordinals of the vectors, ascending. */
  readonly ordinals: Uint32Array
  /** The vectors, `innerDim` elements each. */
  readonly vectors: Float32Array
  /** Ordinals of the apart rows in the same range of the input. */
  readonly apart: readonly number[]
}

/**
 * Iterate over all rows in batches of at most `most` rows, and convert them to the space. The arrays of a batch are
 * valid until the next batch is requested.
 */
export async function* placedRows(
  space: Space,
  input: VectorInput,
  most: number,
  pacer: Pacer,
): AsyncGenerator<PlacedRows> {
  const { dim, innerDim } = space
  const vectors = new Float32Array(most * innerDim)
  const ordinals = new Uint32Array(most)
  for await (const { first, rows, values, present } of input.pieces()) {
    for (let from = 0; from < rows; from += most) {
      const apart: number[] = []
      let count = 0
      for (let row = from; row < Math.min(rows, from + most); row++) {
        if (present !== null && !present.has(row)) continue
        const square = squaredLength(values, row * dim, dim)
        if (isApart(space, square)) apart.push(first + row)
        else {
          placeVector(space, values, row * dim, square, vectors, count * innerDim)
          ordinals[count++] = first + row
        }
      }
      yield { count, ordinals, vectors, apart }
      await pacer.turn()
    }
  }
}

/**
 * Provides the codec of scalar quantization. It stores one byte per element: the number of steps between the offset of
 * the dimension and the element. All dimensions have the same step. Therefore the squared distance of two codes is an
 * exact integer, in units of the squared step.
 *
 * The last element has several bytes if 255 steps are too few for it. Each of n bytes represents the element divided by
 * the square root of n. So the squared differences of the bytes add up to the squared difference of the elements. Some
 * bytes are rounded up and the others are rounded down, so that their sum is as exact as possible.
 */
import { corrupted } from '../../../errors.js'
import type { Arena } from '../../../kernels/arena.js'
import { scanBlockBytes, scanBytes } from '../../../kernels/scan-lists.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { Codec, CodecSettings } from '../codec.js'
import { RowLists } from './row-lists.js'
import { rangeOf } from './scalar-range.js'

/** The highest code. */
const topCode = 255

/**
 * The limit of `canTell`. Divide the squared distance of a query from the range of the codes by its squared distance
 * from the middle of the range. The result may be at most 1/64, so the query may be outside by an eighth of the
 * distance.
 */
const beyondMost = 1 / 64

/** Train a codec on a sample of `rows` vectors. */
export async function trainScalar(
  { dim, lastIsRest = false }: CodecSettings,
  sample: Float32Array,
  rows: number,
  pacer: Pacer,
): Promise<ScalarCodec> {
  return new ScalarCodec(dim, await rangeOf(sample, rows, dim, lastIsRest, pacer))
}

/**
 * Restore a codec from its parameters. They are little-endian float32s: the step, then the offsets of `dim` elements,
 * then the offsets of additional bytes of the last element. Throws Internal if `parameters` are invalid.
 */
export function openScalar(dim: number, parameters: Uint8Array): ScalarCodec {
  const wrong = (what: string) => corrupted(`parameters of a scalar codec for ${dim} dimensions ${what}`)
  const count = parameters.length / 4
  if (!Number.isInteger(count) || count < dim + 1) throw wrong(`have ${parameters.length} bytes`)
  const view = new DataView(parameters.buffer, parameters.byteOffset, parameters.length)
  const range = Float32Array.from({ length: count }, (_, i) => view.getFloat32(i * 4, true))
  if (!range.every(Number.isFinite) || range[0]! <= 0) throw wrong('are not a step and offsets')
  if (range.subarray(dim).some(offset => offset !== range[dim]))
    throw wrong('have several offsets for the last dimension')
  return new ScalarCodec(dim, range)
}

/** The scalar codec. */
export class ScalarCodec extends RowLists implements Codec {
  readonly parameters: Uint8Array
  readonly ofResiduals = false
  readonly hasTies = false
  readonly blur = { factor: 2, more: 10 }
  readonly queryBytes: number
  readonly scratchBytes = scanBlockBytes
  /**
   * The squared step, a float32. A squared distance of codes times this factor is the squared distance of the vectors.
   */
  readonly scale: number
  readonly #step: number
  readonly #offsets: Float32Array
  readonly #dim: number

  /** `range`: the step, and then the offset of each byte. */
  constructor(dim: number, range: Float32Array) {
    super(Math.ceil((range.length - 1) / 16) * 16)
    this.#dim = dim
    this.parameters = new Uint8Array(range.length * 4)
    const view = new DataView(this.parameters.buffer)
    range.forEach((value, i) => {
      view.setFloat32(i * 4, value, true)
    })
    this.queryBytes = this.stride
    this.#step = range[0]!
    this.#offsets = range.slice(1)
    this.scale = Math.fround(this.#step * this.#step)
  }

  /**
   * Encode `count` vectors of `dim` float32s. `vectors`: the address of the vectors. `out`: the address of the first
   * encoded row; each further row begins `stride` bytes later. Does not write the padding of rows.
   */
  encodeRows(
    { buffer }: Arena,
    vectors: number,
    count: number,
    dim: number,
    out: number,
    stride: number,
  ): void {
    const source = new Float32Array(buffer, vectors, count * dim)
    const target = new Uint8ClampedArray(buffer, out, count * stride)
    for (let row = 0; row < count; row++) this.#encode(source, row * dim, dim, target, row * stride)
  }

  /**
   * Return false for a query that is far outside the range of the codes. The code of such a query represents another
   * vector, which has other nearest rows.
   */
  canTell(query: Float32Array): boolean {
    const dim = this.#dim
    const restBytes = this.#offsets.length - dim + 1
    let beyond = 0
    let whole = 0
    for (let i = 0; i < dim; i++) {
      const width = topCode * this.#step * (i === dim - 1 ? Math.sqrt(restBytes) : 1)
      const above = query[i]! - this.#offsets[i]!
      beyond += Math.max(0, -above, above - width) ** 2
      whole += (above - width / 2) ** 2
    }
    return beyond <= whole * beyondMost
  }

  /** Encode a query. Return `stride` bytes, padded with zeros. */
  encodeQuery(query: Float32Array): Uint8Array {
    const codes = new Uint8ClampedArray(this.stride)
    this.#encode(query, 0, query.length, codes, 0)
    return new Uint8Array(codes.buffer)
  }

  /** Encode a vector. Rounds each element to the nearest code, or to the even code if two codes are equally near. */
  #encode(source: Float32Array, at: number, dim: number, target: Uint8ClampedArray, to: number): void {
    const offsets = this.#offsets
    const step = this.#step
    for (let i = 0; i < dim; i++) target[to + i] = (source[at + i]! - offsets[i]!) / step
    const bytes = offsets.length - dim + 1
    if (bytes === 1) return
    const last = dim - 1
    const steps = ((source[at + last]! - offsets[last]!) * Math.sqrt(bytes)) / step
    const sum = Math.max(0, Math.min(topCode * bytes, Math.round(steps)))
    const low = Math.floor(sum / bytes)
    target.fill(low, to + last, to + last + bytes)
    target.fill(low + 1, to + last, to + last + sum - low * bytes)
  }

  encode(arena: Arena, vectors: number, count: number, list: number, _listRows: number, first: number): void {
    const { stride } = this
    this.encodeRows(arena, vectors, count, this.#dim, list + first * stride, stride)
  }

  place({ buffer }: Arena, query: Float32Array, at: number): void {
    new Uint8Array(buffer, at, this.stride).set(this.encodeQuery(query))
  }

  scan(
    arena: Arena,
    list: number,
    count: number,
    query: number,
    scratch: number,
    ordinals: number,
    base: number,
  ): void {
    const { stride, scale } = this
    scanBytes(arena, { list, count, stride, query, distances: scratch, ordinals, base }, scale)
  }
}

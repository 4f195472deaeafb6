/** Provides a codec that stores float32 vectors unchanged, padded with zeros to a multiple of 16 elements. */
import type { Arena } from '../../../kernels/arena.js'
import { scanBlockBytes, scanFloats } from '../../../kernels/scan-lists.js'
import type { Codec, CodecSettings } from '../codec.js'
import { checkNoParameters, RowLists } from './row-lists.js'

/** Return a codec. It needs no training. */
export async function trainFlat({ dim }: CodecSettings): Promise<Codec> {
  return new FlatCodec(dim)
}

/** Restore a codec. Throws Internal if `parameters` are not empty. */
export function openFlat(dim: number, parameters: Uint8Array): Codec {
  checkNoParameters(parameters)
  return new FlatCodec(dim)
}

class FlatCodec extends RowLists implements Codec {
  readonly parameters = new Uint8Array(0)
  readonly ofResiduals = false
  readonly hasTies = false
  readonly blur = { factor: 1, more: 2 }
  readonly queryBytes: number
  readonly scratchBytes = scanBlockBytes
  readonly #dim: number

  constructor(dim: number) {
    super(Math.ceil(dim / 16) * 64)
    this.#dim = dim
    this.queryBytes = this.stride
  }

  encode(
    { buffer }: Arena,
    vectors: number,
    count: number,
    list: number,
    _listRows: number,
    first: number,
  ): void {
    const dim = this.#dim
    const width = this.stride / 4
    const source = new Float32Array(buffer, vectors, count * dim)
    const target = new Float32Array(buffer, list + first * this.stride, count * width)
    for (let row = 0; row < count; row++) target.set(source.subarray(row * dim, (row + 1) * dim), row * width)
  }

  place({ buffer }: Arena, query: Float32Array, at: number): void {
    const target = new Float32Array(buffer, at, this.stride / 4)
    target.set(query)
    target.fill(0, query.length)
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
    scanFloats(arena, { list, count, stride: this.stride, query, distances: scratch, ordinals, base })
  }
}

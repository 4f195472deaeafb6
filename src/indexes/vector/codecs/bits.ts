/**
 * Provides a codec for vectors whose elements are 0 or 1. It stores one bit per element, padded to a multiple of 16
 * bytes.
 */
import type { Arena } from '../../../kernels/arena.js'
import { scanBits, scanBlockBytes } from '../../../kernels/scan-lists.js'
import type { Codec, CodecSettings } from '../codec.js'
import { checkNoParameters, RowLists } from './row-lists.js'

/** Return a codec. It needs no training. */
export async function trainBits({ dim }: CodecSettings): Promise<Codec> {
  return new BitsCodec(dim)
}

/** Restore a codec. Throws Internal if `parameters` are not empty. */
export function openBits(dim: number, parameters: Uint8Array): Codec {
  checkNoParameters(parameters)
  return new BitsCodec(dim)
}

class BitsCodec extends RowLists implements Codec {
  readonly parameters = new Uint8Array(0)
  readonly ofResiduals = false
  readonly hasTies = true
  readonly blur = { factor: 1, more: 0 }
  readonly queryBytes: number
  readonly scratchBytes = scanBlockBytes
  readonly #dim: number

  constructor(dim: number) {
    super(Math.ceil(dim / 128) * 16)
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
    const source = new Float32Array(buffer, vectors, count * this.#dim)
    this.#pack(source, new Uint8Array(buffer, list + first * this.stride, count * this.stride))
  }

  place({ buffer }: Arena, query: Float32Array, at: number): void {
    this.#pack(query, new Uint8Array(buffer, at, this.stride))
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
    scanBits(arena, { list, count, stride: this.stride, query, distances: scratch, ordinals, base })
  }

  #pack(source: Float32Array, target: Uint8Array): void {
    const dim = this.#dim
    target.fill(0)
    for (let from = 0, to = 0; from < source.length; from += dim, to += this.stride)
      for (let i = 0; i < dim; i++) target[to + (i >> 3)]! |= source[from + i]! << (i & 7)
  }
}

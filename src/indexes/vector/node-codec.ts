/** What the nodes of a graph are: vectors as they are, or codes whose distances the walk computes itself. */
import type { Arena } from '../../kernels/arena.js'
import type { NodeKind } from '../../kernels/graph.js'
import type { Pacer } from '../../primitives/pacer.js'
import { assert } from '../../errors.js'
import type { CodecName, CodecSettings } from './codec.js'

export type NodeCodecName = Exclude<CodecName, 'binary'>

export interface NodeCodec {
  readonly name: NodeCodecName
  readonly kind: NodeKind
  /** Bytes from one node to the next. */
  readonly stride: number
  /** What `openNodeCodec` makes it from again. */
  readonly parameters: Uint8Array
  /** Makes nodes, from address `to` on, of `count` vectors that follow each other at address `vectors`. */
  encode(arena: Arena, vectors: number, count: number, to: number): void
  /** What walks compare nodes with. */
  query(query: Float32Array): Uint8Array
}

class FlatNodes implements NodeCodec {
  readonly name = 'flat'
  readonly kind = 'f32'
  readonly parameters = new Uint8Array(0)
  readonly stride: number
  readonly #dim: number

  constructor(dim: number) {
    this.#dim = dim
    this.stride = Math.ceil(dim / 16) * 64
  }

  encode({ buffer }: Arena, vectors: number, count: number, to: number): void {
    for (let row = 0; row < count; row++) {
      const from = new Float32Array(buffer, vectors + row * this.#dim * 4, this.#dim)
      new Float32Array(buffer, to + row * this.stride, this.#dim).set(from)
    }
  }

  query(query: Float32Array): Uint8Array {
    const padded = new Float32Array(this.stride / 4)
    padded.set(query)
    return new Uint8Array(padded.buffer)
  }
}


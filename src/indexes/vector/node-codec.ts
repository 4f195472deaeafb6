/** Encodes the nodes of graphs as plain vectors, or as codes. The graph kernel computes the distances between them. */
import type { Arena } from '../../kernels/arena.js'
import type { NodeKind } from '../../kernels/graph.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { CodecName, CodecSettings } from './codec.js'
import { openProduct, type ProductCodec, trainProduct } from './codecs/product.js'
import { openScalar, type ScalarCodec, trainScalar } from './codecs/scalar.js'

export type NodeCodecName = Exclude<CodecName, 'binary' | 'bits'>

/** A trained codec for nodes. It is immutable. */
export interface NodeCodec {
  readonly name: NodeCodecName
  readonly kind: NodeKind
  /** Number of bytes from the start of one node to the start of the next. */
  readonly stride: number
  /** Serialized parameters, from which `openNodeCodec` restores the codec. */
  readonly parameters: Uint8Array
  /** Encode `count` consecutive vectors at address `vectors` as nodes at address `to`. */
  encode(arena: Arena, vectors: number, count: number, to: number): void
  /** Encode a query, so that the graph kernel can compare it with nodes. */
  query(query: Float32Array): Uint8Array
  /** See `Codec.canTell`. */
  canTell?(query: Float32Array): boolean
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

/** Nodes with one byte per element of a vector. */
class ScalarNodes implements NodeCodec {
  readonly name = 'scalar'
  readonly kind = 'u8'
  readonly stride: number
  readonly #codec: ScalarCodec
  readonly #dim: number

  constructor(codec: ScalarCodec, dim: number) {
    this.#codec = codec
    this.#dim = dim
    this.stride = codec.stride
  }

  get parameters(): Uint8Array {
    return this.#codec.parameters
  }

  encode(arena: Arena, vectors: number, count: number, to: number): void {
    this.#codec.encodeRows(arena, vectors, count, this.#dim, to, this.stride)
  }

  query(query: Float32Array): Uint8Array {
    return this.#codec.encodeQuery(query)
  }

  canTell(query: Float32Array): boolean {
    return this.#codec.canTell(query)
  }
}

/** Nodes with one byte per part of a vector. */
class ProductNodes implements NodeCodec {
  readonly name = 'product'
  readonly kind = 'pq'
  readonly stride: number
  readonly #codec: ProductCodec
  readonly #dim: number

  constructor(codec: ProductCodec, dim: number) {
    this.#codec = codec
    this.#dim = dim
    this.stride = codec.parts
  }

  get parameters(): Uint8Array {
    return this.#codec.parameters
  }

  encode({ buffer }: Arena, vectors: number, count: number, to: number): void {
    const codes = this.#codec.encodeRows(new Float32Array(buffer, vectors, count * this.#dim))
    new Uint8Array(buffer, to, codes.length).set(codes)
  }

  query(query: Float32Array): Uint8Array {
    return new Uint8Array(this.#codec.tableOf(query).buffer)
  }
}

/** Train a codec on a sample of `rows` vectors, at least one. */
export async function trainNodeCodec(
  settings: CodecSettings & { readonly name: NodeCodecName },
  sample: Float32Array,
  rows: number,
  pacer: Pacer,
): Promise<NodeCodec> {
  const { name, dim } = settings
  if (name === 'flat') return new FlatNodes(dim)
  if (name === 'scalar') return new ScalarNodes(await trainScalar(settings, sample, rows, pacer), dim)
  return new ProductNodes(await trainProduct(settings, sample, rows, pacer), dim)
}

/** Restore a codec from its parameters. Throws Internal if `parameters` are invalid. */
export function openNodeCodec(name: NodeCodecName, dim: number, parameters: Uint8Array): NodeCodec {
  if (name === 'flat') return new FlatNodes(dim)
  if (name === 'scalar') return new ScalarNodes(openScalar(dim, parameters), dim)
  return new ProductNodes(openProduct(dim, parameters), dim)
}

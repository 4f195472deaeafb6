/** Arrow streams whose bodies are compressed, which no writer of ours makes. */
import type { Batch } from '../../src/arrow/column.js'
import { concatChunks, encodeIpcStream } from '../../src/arrow/encode-ipc.js'
import {
  encodeFlatbuffer,
  int8,
  int16,
  int64,
  int64s,
  type Part,
  table,
} from '../../src/arrow/flatbuffer-write.js'
import { type FlatColumns, flattenColumn } from '../../src/arrow/flatten.js'
import { encodeLz4Frame } from './arrow-lz4.js'

/** A message of any kind, with any header. */
export function ipcMessage(kind: number, header: Part, body: Uint8Array = new Uint8Array(0)): Uint8Array {
  const metadata = encodeFlatbuffer(table([int16(4), int8(kind), header, int64(body.length)]))
  const prefix = new DataView(new ArrayBuffer(8))
  prefix.setUint32(0, 0xffffffff, true)
  prefix.setInt32(4, metadata.length, true)
  return concatChunks([new Uint8Array(prefix.buffer), metadata, body])
}

export interface Compression {
  /** As the metadata names it: 0 LZ4, 1 ZSTD. */
  readonly codec: number
  readonly compress: (buffer: Uint8Array) => Uint8Array
  /** What is said of how long it is; -1: stored. */
  readonly length: (buffer: Uint8Array) => number
}

export const lz4: Compression = { codec: 0, compress: encodeLz4Frame, length: buffer => buffer.length }
export const stored: Compression = { codec: 0, compress: buffer => buffer, length: () => -1 }

/** A stream of one batch; as the format wants it, every buffer comes behind its own length. */
export function compressedStream(batch: Batch, { codec, compress, length }: Compression = lz4): Uint8Array {
  const flat: FlatColumns = { nodes: [], buffers: [] }
  for (const column of batch.columns) flattenColumn(column, flat)
  const parts: Uint8Array[] = []
  const buffers: number[] = []
  let at = 0
  for (const buffer of flat.buffers.map(concatChunks)) {
    const prefix = new Uint8Array(BigInt64Array.of(BigInt(length(buffer))).buffer)
    const framed = concatChunks([prefix, compress(buffer)])
    const part = buffer.length === 0 ? buffer : concatChunks([framed, new Uint8Array(-framed.length & 7)])
    buffers.push(at, buffer.length === 0 ? 0 : framed.length)
    parts.push(part)
    at += part.length
  }
  const how = table([int8(codec), int8(0)])
  const header = table([int64(batch.length), int64s(flat.nodes, 2), int64s(buffers, 2), how])
  const [head] = encodeIpcStream(batch.schema, [])
  return concatChunks([head!, ipcMessage(3, header, concatChunks(parts))])
}

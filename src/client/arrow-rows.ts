/**
 * Rows of requests and replies. Inside a process, rows are passed as Arrow batches. They are encoded to bytes only for
 * an HTTP body, or for a message to a worker thread.
 */
import type { Batch } from '../arrow/column.js'
import { decodeIpc } from '../arrow/decode-ipc.js'
import { decodeIpcStream } from '../arrow/decode-stream.js'
import { encodeIpcFile, IpcStreamWriter } from '../arrow/encode-ipc.js'
import type { Schema } from '../arrow/types.js'
import type { ArrowBody, ArrowReply, HandlerOptions } from '../protocol/calls.js'
import { PlainRows } from './plain-rows.js'

/** Rows to write. They can be read only once: by `batches`, or as the bytes of an Arrow IPC stream by iteration. */
export class ArrowRows implements AsyncIterable<Uint8Array> {
  readonly schema: Schema
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
  /** Close the source of the rows. Call this even if the rows were not read. */
  readonly close: () => Promise<void>

  constructor(
    schema: Schema,
    batches: AsyncIterable<Batch> | Iterable<Batch>,
    close: () => Promise<void> = async () => {},
  ) {
    this.schema = schema
    this.batches = batches
    this.close = close
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const writer = new IpcStreamWriter(this.schema)
    for await (const batch of this.batches) yield* writer.write(batch)
    yield* writer.finish()
  }
}

type BodyOptions = Pick<HandlerOptions, 'signal' | 'maxMessageBytes' | 'callKey' | 'memory'>

/** Rows that arrive batch by batch. */
export interface IncomingRows {
  readonly schema: Schema
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
}

/**
 * Read the schema and the batches of a body. `keeps`: whether the caller keeps all batches in memory until the call
 * ends. Default false.
 *
 * Throws `InvalidInput` for bytes that are not Arrow data, with status 413 if there are too many. Throws
 * `ServiceUnavailable` if other calls use the memory that the rows need.
 */
export async function readBody(
  body: ArrowBody,
  { signal, maxMessageBytes, callKey, memory }: BodyOptions,
  keeps = false,
): Promise<IncomingRows> {
  callKey?.beginRows()
  if (body instanceof ArrowRows) return body
  if (body instanceof PlainRows) return body.typed()
  if (body instanceof Uint8Array) return decodeIpc(body)
  return decodeIpcStream(body, {
    signal,
    memory,
    keeps,
    ...(maxMessageBytes !== undefined && { maxBytes: maxMessageBytes }),
  })
}

/** The rows of an answer. `chunks` are the bytes of an Arrow IPC file, which is encoded at the first access. */
export class ReadRows implements ArrowReply {
  readonly version: number
  readonly schema: Schema
  readonly batches: readonly Batch[]
  #chunks: readonly Uint8Array[] | undefined

  constructor(version: number, schema: Schema, batches: readonly Batch[]) {
    this.version = version
    this.schema = schema
    this.batches = batches
  }

  get chunks(): readonly Uint8Array[] {
    const chunks = this.#chunks ?? encodeIpcFile(this.schema, this.batches)
    this.#chunks = chunks
    return chunks
  }
}

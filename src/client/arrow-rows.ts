/**
 * Rows of requests and replies. Inside a process, rows travel as Arrow batches. They are encoded to bytes when an
 * adapter needs bytes: for an HTTP body, or for a message to a worker.
 */
import type { Batch } from '../arrow/column.js'
import { decodeIpc } from '../arrow/decode-ipc.js'
import { decodeIpcStream } from '../arrow/decode-stream.js'
import { encodeIpcFile, IpcStreamWriter } from '../arrow/encode-ipc.js'
import type { Schema } from '../arrow/types.js'
import type { ArrowBody, ArrowReply, HandlerOptions } from '../protocol/calls.js'

/** Rows to write. They can be read only once. Iteration yields an Arrow IPC stream. */
export class ArrowRows implements AsyncIterable<Uint8Array> {
  readonly schema: Schema
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
  /** Release the source of the rows, whether or not they were read. */
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
 * Read schema and batches of a body of any kind. `keeps`: whether all batches stay in memory until the call ends.
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
  if (body instanceof Uint8Array) return decodeIpc(body)
  return decodeIpcStream(body, {
    signal,
    memory,
    keeps,
    ...(maxMessageBytes !== undefined && { maxBytes: maxMessageBytes }),
  })
}

/** Rows of an answer. `chunks` is an Arrow IPC file, encoded at the first access. */
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

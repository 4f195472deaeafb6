/**
 * Rows on their way in or out of an operation. Inside a process they travel as batches; whoever needs bytes (an HTTP
 * body, a message to a worker) gets them encoded at that moment.
 */
import type { Batch } from '../arrow/column.js'
import { decodeIpc } from '../arrow/decode-ipc.js'
import { decodeIpcStream } from '../arrow/decode-stream.js'
import { concatChunks, encodeIpcFile, IpcStreamWriter } from '../arrow/encode-ipc.js'
import type { Schema } from '../arrow/types.js'
import type { ArrowBody, ArrowReply, HandlerOptions } from '../protocol/calls.js'

/** Rows to write, to be read once; iterated, an Arrow IPC stream. */
export class ArrowRows implements AsyncIterable<Uint8Array> {
  readonly schema: Schema
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
  /** Lets go of whatever the rows come from, read or not. */
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

/** Rows as they come, batch by batch. */
export interface IncomingRows {
  readonly schema: Schema
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
}

/**
 * Schema and batches of a body, whatever it is. `keeps`: whether all of them stay in memory until the call ends. Throws code 13 for bytes that
 * are no Arrow data, with status 413 for too many, and code 17 where other calls have the memory for them.
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

/** Rows that were read; its chunks are an Arrow IPC file, encoded when first asked for. */
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

/** Schema and batches of a reply, whichever way it came. */
export function readReply(reply: ArrowReply): {
  readonly schema: Schema
  readonly batches: readonly Batch[]
} {
  if (reply instanceof ReadRows) return reply
  const { chunks } = reply
  return decodeIpc(concatChunks(chunks))
}

/**
 * Rows of requests and replies. Inside a process, rows are passed as Arrow batches. They are encoded to bytes only for
 * an HTTP body, or for a message to a worker thread.
 */
import type { Batch } from '../arrow/column.js'
import { encodeIpcFile, IpcStreamWriter } from '../arrow/encode-ipc.js'
import type { Schema } from '../arrow/types.js'
import type { ArrowReply } from '../protocol/calls.js'

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

/** The rows of an answer. `chunks` are the bytes of an Arrow IPC file, which is encoded at the first access. */
export class ReadRows implements ArrowReply {
  readonly version: number
  readonly schema: Schema
  readonly batches: readonly Batch[]
  /** Whether no other code uses the memory of the batches. */
  readonly isOwned: boolean
  #chunks: readonly Uint8Array[] | undefined

  constructor(version: number, schema: Schema, batches: readonly Batch[], isOwned = false) {
    this.version = version
    this.schema = schema
    this.batches = batches
    this.isOwned = isOwned
  }

  get chunks(): readonly Uint8Array[] {
    const chunks = this.#chunks ?? encodeIpcFile(this.schema, this.batches)
    this.#chunks = chunks
    return chunks
  }
}

/** Rows to append or to merge that are passed as objects. A client loads this file at once, and the code of Arrow data only later. */
import type { Batch } from '../arrow/column.js'
import type { Schema } from '../arrow/types.js'

/** The rows as Arrow data: as batches, or as the bytes of an Arrow IPC stream by iteration. */
interface TypedRows extends AsyncIterable<Uint8Array> {
  readonly schema: Schema
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
  readonly close: () => Promise<void>
}

/**
 * A few plain objects to append or to merge. An engine in this process encodes them with the types of the table. So the
 * client does not ask for these types first, which would take as long as the whole commit.
 */
export class PlainRows implements AsyncIterable<Uint8Array> {
  readonly rows: readonly object[]
  /** Ask for the types of the table, and convert the rows to them. The caller closes the result. */
  readonly typed: () => Promise<TypedRows>

  constructor(rows: readonly object[], typed: () => Promise<TypedRows>) {
    this.rows = rows
    this.typed = typed
  }

  /** Nothing is open before `typed`. */
  async close(): Promise<void> {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const typed = await this.typed()
    try {
      yield* typed
    } finally {
      await typed.close()
    }
  }
}

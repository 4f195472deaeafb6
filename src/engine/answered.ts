/** Streams the answers of queries. The first bytes can be sent before all rows are found. */
import type { Batch } from '../arrow/column.js'
import { hasDictionaries, IpcFileSender } from '../arrow/encode-ipc.js'
import { batchBytes } from '../arrow/layout.js'
import { ReadRows } from '../client/arrow-rows.js'
import type { TaskStream } from '../primitives/task.js'
import type { ArrowReply } from '../protocol/calls.js'
import type { Scan } from '../query/execute.js'

/**
 * Return the answer to a scan. If the rows have at most `streamAfter` bytes, the answer is complete. It is also
 * complete if the schema has dictionaries, because a dictionary depends on all rows. Otherwise the answer begins with
 * the schema, and its batches follow when they are found. The bytes are the same in all cases.
 */
export async function answered(
  version: number,
  { schema, batches }: Scan,
  streamAfter: number,
): Promise<ArrowReply> {
  const first: Batch[] = []
  const isWhole = await gather(batches, first, hasDictionaries(schema) ? Infinity : streamAfter)
  if (isWhole) return new ReadRows(version, schema, first)
  const sender = new IpcFileSender(schema)
  return { version, chunks: sender.begin(), rest: rest(first, batches, sender) }
}

/** Collect batches until they have more than `maxBytes` bytes. Returns whether the stream has no more batches. */
async function gather(batches: TaskStream<Batch>, into: Batch[], maxBytes: number): Promise<boolean> {
  try {
    for (let bytes = 0; bytes <= maxBytes; ) {
      const { done, value } = batches.next()
      if (done === true) return true
      if (value instanceof Promise) {
        await value
        continue
      }
      into.push(value)
      bytes += batchBytes(value)
    }
    return false
  } catch (error) {
    batches.return()
    throw error
  }
}

const nothing = new Uint8Array(0)

async function* rest(
  first: Batch[],
  batches: TaskStream<Batch>,
  sender: IpcFileSender,
): AsyncGenerator<Uint8Array> {
  while (first.length > 0) yield* chunksOf(first.shift()!, sender)
  for (const next of batches) {
    if (next instanceof Promise) await next
    else yield* chunksOf(next, sender)
  }
  yield* sender.finish()
}

function* chunksOf(batch: Batch, sender: IpcFileSender): Generator<Uint8Array> {
  const chunks = sender.write(batch)
  while (chunks.length > 0) yield chunks.shift()!
  // A consumer keeps a chunk in memory until the next one arrives. Yield an empty chunk, so that the batch is released
  // while the next batch is computed.
  yield nothing
}

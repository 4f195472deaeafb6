/** Converts batches to row objects. Pauses regularly, so that the event loop is not blocked. */
import type { Batch } from '../arrow/column.js'
import { sliceBatch } from '../arrow/slice.js'
import { batchToRows } from '../arrow/values.js'
import { Pacer } from '../primitives/pacer.js'
import type { RowObject, RowsOptions } from './rows-options.js'

/** Approximate number of cells that are converted between two checks of the clock. */
const cellsAtOnce = 8 * 1024

/** Return the rows of batches as objects, in order. */
export async function rowObjects(
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  { int64 = 'number', vectors = 'typed', signal }: RowsOptions,
): Promise<RowObject[]> {
  const pacer = new Pacer(signal)
  const rows: RowObject[] = []
  const add = async (batch: Batch) => {
    const step = Math.max(1, Math.floor(cellsAtOnce / Math.max(1, batch.columns.length)))
    for (let from = 0; from < batch.length; from += step) {
      const piece = sliceBatch(batch, from, Math.min(step, batch.length - from))
      for (const row of batchToRows(piece, { int64, vectors })) rows.push(row)
      if (pacer.due()) await pacer.pause()
    }
  }
  // `for await` would wait for each batch of a synchronous iterable.
  if (Symbol.iterator in batches) for (const batch of batches) await add(batch)
  else for await (const batch of batches) await add(batch)
  return rows
}

/** Converts batches to objects, a few rows at a time. */
import type { Batch } from '../arrow/column.js'
import { sliceBatch } from '../arrow/slice.js'
import { batchToRows, type ReadOptions } from '../arrow/values.js'
import { Pacer } from '../primitives/pacer.js'
import { type CallOptions, callFields } from '../protocol/calls.js'
import { oneOf, options } from '../protocol/shape.js'

/** Options of methods that return rows as objects. */
export interface RowsOptions extends CallOptions {
  /** Representation of 64-bit integers: `number` (default; throws beyond 2^53), `bigint` or `string`. */
  readonly int64?: ReadOptions['int64'] | undefined
  /**
   * Representation of vectors: typed arrays (`typed`, the default), or plain arrays (`array`), which JSON.stringify
   * and test matchers handle better.
   */
  readonly vectors?: ReadOptions['vectors'] | undefined
}

export const rowsShape = options<RowsOptions>()({
  int64: oneOf('number', 'bigint', 'string'),
  vectors: oneOf('typed', 'array'),
  ...callFields,
})

export type RowObject = Record<string, unknown>

/** Cells that are converted between two checks of the clock. */
const cellsAtOnce = 8 * 1024

/** Return the options of the call, without the options of representation. */
export function callOptions({ int64: _, vectors: __, ...call }: RowsOptions): CallOptions {
  return call
}

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
  // A synchronous iterable needs no await per batch.
  if (Symbol.iterator in batches) for (const batch of batches) await add(batch)
  else for await (const batch of batches) await add(batch)
  return rows
}

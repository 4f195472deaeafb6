/** Batches as objects, a few at a time. */
import type { Batch } from '../arrow/column.js'
import { sliceBatch } from '../arrow/slice.js'
import { batchToRows, type ReadOptions } from '../arrow/values.js'
import { Pacer } from '../primitives/pacer.js'
import { type CallOptions, callFields } from '../protocol/calls.js'
import { oneOf, options } from '../protocol/shape.js'

export interface RowsOptions extends CallOptions {
  /** How 64-bit integers come: as numbers (the default; beyond 2^53 that throws), or as bigints or strings. */
  readonly int64?: ReadOptions['int64'] | undefined
  /**
   * How vectors come: as typed arrays (`typed`, the default), or as plain arrays (`array`), which JSON.stringify writes and test
   * matchers compare as they are.
   */
  readonly vectors?: ReadOptions['vectors'] | undefined
}

export const rowsShape = options<RowsOptions>()({
  int64: oneOf('number', 'bigint', 'string'),
  vectors: oneOf('typed', 'array'),
  ...callFields,
})

export type RowObject = Record<string, unknown>

/** Values made into JavaScript's between two looks at the clock. */
const cellsAtOnce = 8 * 1024

/** The options of a call without those that say how values are given. */
export function callOptions({ int64: _, vectors: __, ...call }: RowsOptions): CallOptions {
  return call
}

/** The rows of batches, in order. */
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
  // Those that are there need not be waited for one by one.
  if (Symbol.iterator in batches) for (const batch of batches) await add(batch)
  else for await (const batch of batches) await add(batch)
  return rows
}

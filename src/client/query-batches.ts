/** Reads a query as batches, which have the types of the columns. Row objects do not have these types. */
import type { ArrowBatch, ArrowTable } from '../arrow/to-arrow.js'

/** The parts of a `Search` that are used here. */
interface Batched {
  batches(options: { readonly signal?: AbortSignal }): AsyncIterable<ArrowBatch>
  toArrow(options: { readonly signal?: AbortSignal }): Promise<ArrowTable>
}

/** Return whether rows to write are a query. The query may come from the other build of Sheaf (ES module or CommonJS). */
export function isQuery(rows: object): rows is Batched {
  const { batches, toArrow } = rows as Partial<Batched>
  return Symbol.asyncIterator in rows && typeof batches === 'function' && typeof toArrow === 'function'
}

/** Yield the answer of a query. An answer without rows is one empty batch, which has the columns. */
export async function* queryBatches(query: Batched, signal?: AbortSignal): AsyncGenerator<ArrowBatch> {
  const options = signal === undefined ? {} : { signal }
  let isEmpty = true
  for await (const batch of query.batches(options)) {
    isEmpty = false
    yield batch
  }
  if (isEmpty) yield* (await query.toArrow(options)).batches
}

/** Return the way out for rows to write that are not rows. */
export function rowsHint(rows: unknown): string {
  const isTable = typeof (rows as { query?: unknown } | null | undefined)?.query === 'function'
  return isTable ? 'pass the rows of the table: table.query()' : 'write [row]'
}

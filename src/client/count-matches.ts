/** Counts the matching rows of a query. */
import { invalidInput } from '../errors.js'
import type { CallOptions, Operations, Request } from '../protocol/calls.js'
import { importReplies } from './import-replies.js'
import { isOfGroups } from './selection.js'

type QueryRequest = Request<'queryTable'>

/**
 * Return the number of rows that match a query, without the rows that the offset skips, and at most `limit`. Throws
 * `InvalidInput` for a hybrid search, and for a vector search without a distance range, because their limit alone
 * decides the number of rows.
 */
export async function countMatches(
  operations: Operations,
  request: QueryRequest,
  limit: number | undefined,
  call: CallOptions,
): Promise<number> {
  const { id, version, vector, full_text_query, lower_bound, upper_bound, filter, offset = 0 } = request
  if (vector !== null && full_text_query !== undefined) {
    throw invalidInput(
      'count: the matches of a hybrid search cannot be counted, because it ranks a fixed number of rows',
      {
        hint: 'count the text search alone, or query().where(...)',
      },
    )
  }
  if (vector !== null && lower_bound === undefined && upper_bound === undefined) {
    throw invalidInput(
      'count: a vector search without a distance range cannot be counted, because its limit alone decides the number of rows',
      { hint: 'set distanceRange(lower, upper), or count query().where(...)' },
    )
  }
  if (request.distinct === true || (await isOfGroups(request))) {
    const reply = await operations.queryTable(request, call)
    const { readReply } = await importReplies()
    return readReply(reply).batches.reduce((sum, { length }) => sum + length, 0)
  }
  const at = { id, ...(version !== undefined && { version }) }
  // Send the parameter values only if the filter has parameters, because the engine refuses unused values.
  const hasValues = filter !== undefined && /[?$:]/.test(filter) && request.parameters !== undefined
  const values = hasValues ? { parameters: request.parameters } : {}
  const isScan = vector === null && full_text_query === undefined
  const matches = isScan
    ? await operations.countTableRows(
        { ...at, ...(filter !== undefined && { predicate: filter }), ...values },
        call,
      )
    : await searchMatches(operations, request, values, call)
  return Math.max(0, Math.min(limit ?? Number.POSITIVE_INFINITY, matches - offset))
}

async function searchMatches(
  operations: Operations,
  request: QueryRequest,
  values: Pick<QueryRequest, 'parameters'>,
  call: CallOptions,
): Promise<number> {
  // Leave out the fields that do not affect which rows match. The count sets its own columns and parameter values.
  const {
    columns: _columns,
    parameters: _parameters,
    offset: _offset,
    order_by: _order,
    highlight: _highlight,
    with_row_id: _rowId,
    ...matching
  } = request
  const counted = {
    ...matching,
    ...values,
    k: Number.MAX_SAFE_INTEGER,
    columns: { column_aliases: { n: 'count(*)' } },
  }
  const reply = await operations.queryTable(counted, call)
  const { readReply, rowObjects } = await importReplies()
  const [row] = await rowObjects(readReply(reply).batches, {})
  return row!.n as number
}

/** Counts the matching rows of a query. */
import { invalidInput } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import type { CallOptions, Operations, Request } from '../protocol/calls.js'
import { directReadsOf } from '../protocol/direct-reads.js'
import { importReplies } from './import-replies.js'
import { isOfGroups } from './selection.js'

const importJoinConditions = lazyImport(() => import('./join-conditions.js'))

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
  checkCountable('count', request)
  const { id, version, vector, full_text_query, filter, offset = 0 } = request
  if (request.distinct === true || (await isOfGroups(request))) {
    const reply = await operations.queryTable(request, call)
    const { readReply } = await importReplies()
    return readReply(reply).batches.reduce((sum, { length }) => sum + length, 0)
  }
  const at = { id, ...(version !== undefined && { version }) }
  const isScan = vector === null && full_text_query === undefined
  const matches = isScan
    ? (directReadsOf(operations)
        ?.prepare({ ...at, filter })
        ?.count(request.parameters, call) ??
      (await operations.countTableRows(
        { ...at, ...(filter !== undefined && { predicate: filter }), ...(await filterValues(request)) },
        call,
      )))
    : await searchMatches(operations, request, call)
  return Math.max(0, Math.min(limit ?? Number.POSITIVE_INFINITY, matches - offset))
}

async function searchMatches(
  operations: Operations,
  request: QueryRequest,
  call: CallOptions,
): Promise<number> {
  const counted = {
    ...(await matchingFields(request)),
    k: Number.MAX_SAFE_INTEGER,
    columns: { column_aliases: { n: 'count(*)' } },
  }
  const reply = await operations.queryTable(counted, call)
  const { readReply, rowObjects } = await importReplies()
  const [row] = await rowObjects(readReply(reply).batches, {})
  return row!.n as number
}

/** Return the request without the fields that do not affect which rows match, such as the columns and the offset. */
export async function matchingFields(request: QueryRequest): Promise<QueryRequest> {
  const {
    columns: _columns,
    parameters: _parameters,
    offset: _offset,
    order_by: _order,
    highlight: _highlight,
    with_row_id: _rowId,
    ...matching
  } = request
  return { ...matching, ...(await filterValues(request)) }
}

/** Return the parameter values that the filter uses, because the engine refuses unused values. */
async function filterValues({ filter, parameters }: QueryRequest): Promise<Pick<QueryRequest, 'parameters'>> {
  if (parameters === undefined || filter === undefined || !/[?$:]/.test(filter)) return {}
  // A list may be longer than the filter needs, if the filter has numbers. A list for `?` belongs to the filter alone.
  if (Array.isArray(parameters)) return { parameters }
  const { parametersIn } = await importJoinConditions()
  const used = new Set(parametersIn(filter).map(({ value }) => value))
  const values = Object.entries(parameters).filter(([name]) => used.has(name))
  return values.length === 0 ? {} : { parameters: Object.fromEntries(values) }
}

/**
 * Check that the matches of a query can be counted. Throws `InvalidInput` for a hybrid search, and for a vector search
 * without a distance range, because their limit alone decides the number of rows. `call`: the method, for the message.
 */
export function checkCountable(
  call: string,
  { vector, full_text_query, lower_bound, upper_bound }: QueryRequest,
): void {
  if (vector === null) return
  if (full_text_query !== undefined) {
    throw invalidInput(
      `${call}: the matches of a hybrid search cannot be counted, because it ranks a fixed number of rows`,
      {
        hint: 'count the text search alone, or query().where(...)',
      },
    )
  }
  if (lower_bound === undefined && upper_bound === undefined) {
    throw invalidInput(`${call}: a vector search can be counted only if it has a distance range`, {
      hint: 'set distanceRange(lower, upper), or count query().where(...)',
    })
  }
}

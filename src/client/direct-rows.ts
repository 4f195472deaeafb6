/** Reads rows of queries by key without a request, if the engine is in this process. */
import type { Operations } from '../protocol/calls.js'
import { type DirectForm, type DirectRead, directReads } from '../protocol/direct-reads.js'

/** The fields of requests that a direct read takes into account. A query with another field is sent as a request. */
const known = ['id', 'version', 'filter', 'columns', 'parameters', 'k', 'offset']

/** Return the direct read for a query. Return null if the query must be sent as a request. */
export function directReadOf(operations: Operations, request: DirectForm): DirectRead | null {
  const direct = operations[directReads]
  if (direct === undefined || request.filter === undefined) return null
  for (const name in request) if (!known.includes(name)) return null
  return direct.prepare(request)
}

/**
 * Runs a scan as many small queries of one version. Each query continues where the previous query ended. So client and
 * server have only one page in memory, over any transport. The cost of a page depends on its own rows only, because the
 * engine skips earlier rows by metadata.
 */
import { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, whenResolved } from '../primitives/task.js'
import type { CallOptions, Operations, Request } from '../protocol/calls.js'
import type { ReadRows } from './arrow-rows.js'
import { importReplies } from './import-replies.js'
import { isOfGroups, selects } from './selection.js'

type QueryRequest = Request<'queryTable'>

const cursor = '_rowoffset'

/**
 * Return whether a request is a scan: all its rows in row order, without a search, groups, distinct rows or an order.
 */
export function isScan(request: QueryRequest): MaybePromise<boolean> {
  const { vector, full_text_query, distinct, order_by } = request
  if (vector !== null || full_text_query !== undefined || distinct === true) return false
  return (order_by ?? []).length === 0 && whenResolved(isOfGroups(request), isOfGroups => !isOfGroups)
}

/** Yield the answer of a scan in pages of at most `rows` rows. */
export async function* scanPages(
  operations: Operations,
  request: QueryRequest,
  rows: number,
  options: CallOptions,
): AsyncGenerator<ReadRows> {
  const isSelected = selects(request, cursor)
  const pacer = new Pacer(options.signal)
  let { k: remaining, offset = 0, version } = request
  let next = 0
  while (remaining > 0) {
    const k = Math.min(rows, remaining)
    const page = { ...request, k, offset, resume_at: next, ...(version !== undefined && { version }) }
    const reply = await operations.queryTable(page, options)
    const { scanPage } = await importReplies()
    const { rows: read, count, next: after } = scanPage(reply, cursor, isSelected)
    yield read
    await pacer.turn()
    if (count < k) return
    next = after
    remaining -= count
    offset = 0
    version = reply.version
  }
}

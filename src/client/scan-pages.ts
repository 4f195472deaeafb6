/**
 * Runs a scan as many small queries of one version, each continuing where the previous one ended. Client and server
 * hold only one page in memory, over any transport. The cost of a page depends on its own rows only: rows before it
 * are skipped by metadata.
 */
import { concatBatches } from '../arrow/concat.js'
import { assert } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import type { CallOptions, Operations, Request } from '../protocol/calls.js'
import { ReadRows, readReply } from './arrow-rows.js'
import { isOfGroups, selects } from './selection.js'

type QueryRequest = Request<'queryTable'>

const cursor = '_rowoffset'

/** Return whether the answer is a plain scan: rows in row order, without groups. */
export function isScan(request: QueryRequest): boolean {
  const { vector, full_text_query, distinct, order_by } = request
  const isPlain = distinct !== true && !isOfGroups(request)
  return vector === null && full_text_query === undefined && isPlain && (order_by ?? []).length === 0
}

/** Yield the answer of a scan, `rows` rows at a time. */
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
    const { schema, batches } = readReply(reply)
    const cursorColumn = schema.fields.findIndex(field => field.name === cursor)
    assert(cursorColumn !== -1, 'a resumed scan tells where its rows stand')
    const withoutCursor = <T>(list: readonly T[]) =>
      isSelected ? list : list.filter((_, i) => i !== cursorColumn)
    const answer = { ...schema, fields: withoutCursor(schema.fields) }
    const pieces = batches.map(({ length, columns }) => ({
      schema: answer,
      length,
      columns: withoutCursor(columns),
    }))
    // A page of many small fragments is still one batch.
    yield new ReadRows(reply.version, answer, pieces.length === 0 ? [] : [concatBatches(pieces)])
    await pacer.turn()
    const count = batches.reduce((sum, batch) => sum + batch.length, 0)
    if (count < k) return
    const last = batches.at(-1)!
    next = Number((last.columns[cursorColumn]!.values as BigUint64Array)[last.length - 1]!) + 1
    remaining -= count
    offset = 0
    version = reply.version
  }
}

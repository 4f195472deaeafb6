/**
 * A scan as many small queries, each going on where the one before ended, all on one version: neither side ever holds
 * more than a page, over any adapter. A page costs what its own rows cost, since whatever lies before them is passed over
 * by what is known of it.
 */
import { concatBatches } from '../arrow/concat.js'
import { assert } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import type { CallOptions, Operations, Request } from '../protocol/calls.js'
import { ReadRows, readReply } from './arrow-rows.js'
import { isOfGroups, selects } from './selection.js'

type QueryRequest = Request<'queryTable'>

const cursor = '_rowoffset'

/** Whether the rows of an answer come in row order, each for itself. */
export function isScan(request: QueryRequest): boolean {
  const { vector, full_text_query, distinct, order_by } = request
  const isPlain = distinct !== true && !isOfGroups(request)
  return vector === null && full_text_query === undefined && isPlain && (order_by ?? []).length === 0
}

/** The answer to a scan, `rows` rows at a time. */
export async function* scanPages(
  operations: Operations,
  request: QueryRequest,
  rows: number,
  options: CallOptions,
): AsyncGenerator<ReadRows> {
  const isSelected = selects(request, cursor)
  const pacer = new Pacer(options.signal)
  let { k: left, offset = 0, version } = request
  let next = 0
  while (left > 0) {
    const k = Math.min(rows, left)
    const page = { ...request, k, offset, resume_at: next, ...(version !== undefined && { version }) }
    const reply = await operations.queryTable(page, options)
    const { schema, batches } = readReply(reply)
    const place = schema.fields.findIndex(field => field.name === cursor)
    assert(place !== -1, 'a resumed scan tells where its rows stand')
    const kept = <T>(list: readonly T[]) => (isSelected ? list : list.filter((_, i) => i !== place))
    const answer = { ...schema, fields: kept(schema.fields) }
    const pieces = batches.map(({ length, columns }) => ({ schema: answer, length, columns: kept(columns) }))
    // A page of many small fragments is one batch all the same.
    yield new ReadRows(reply.version, answer, pieces.length === 0 ? [] : [concatBatches(pieces)])
    await pacer.turn()
    const count = batches.reduce((sum, batch) => sum + batch.length, 0)
    if (count < k) return
    const last = batches.at(-1)!
    next = Number((last.columns[place]!.values as BigUint64Array)[last.length - 1]!) + 1
    left -= count
    offset = 0
    version = reply.version
  }
}

/**
 * A scan as many small queries, each going on where the one before ended, all on one version: neither side ever holds
 * more than a page, over any adapter. A page costs what its own rows cost, since whatever lies before them is passed over
 * by what is known of it.
 */
import { assert } from '../errors.js'
import type { CallOptions, Operations, Request } from '../protocol/calls.js'
import { ReadRows, readReply } from './arrow-rows.js'

type QueryRequest = Request<'queryTable'>

const cursor = '_rowoffset'

/** Whether the rows of an answer come in row order, each for itself. */
export function isScan({ vector, full_text_query, group_by, distinct, order_by }: QueryRequest): boolean {
  const isPlain = group_by === undefined && distinct !== true
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
    yield new ReadRows(
      reply.version,
      answer,
      batches.map(({ length, columns }) => ({ schema: answer, length, columns: kept(columns) })),
    )
    const count = batches.reduce((sum, batch) => sum + batch.length, 0)
    if (count < k) return
    const last = batches.at(-1)!
    next = Number((last.columns[place]!.values as BigUint64Array)[last.length - 1]!) + 1
    left -= count
    offset = 0
    version = reply.version
  }
}

function selects({ columns }: QueryRequest, name: string): boolean {
  if (columns === undefined) return false
  return 'column_names' in columns
    ? columns.column_names!.includes(name)
    : Object.hasOwn(columns.column_aliases!, name)
}

/** Handler of the query operation. */
import type { Handler } from '../protocol/calls.js'
import { executePlan } from '../query/execute.js'
import { settleQuery } from '../query/settle.js'
import { ReadRows } from './arrow-rows.js'
import { type Engine, openTable } from './engine.js'

export const queryTable: Handler<Engine, 'queryTable'> = async (engine, request, { signal }) => {
  const { reader, record } = await openTable(engine, request.id, request.version, signal)
  const plan = settleQuery(request, reader.schema)
  const { schema, batches } = await executePlan(plan, reader, signal)
  return new ReadRows(record.version, schema, batches)
}

/** Handler of the query operation. */
import type { Handler } from '../protocol/calls.js'
import { executePlan } from '../query/execute.js'
import { settleQuery } from '../query/settle.js'
import { ReadRows } from './arrow-rows.js'
import { type Engine, openTable } from './engine.js'

export const queryTable: Handler<Engine, 'queryTable'> = async (engine, request, options) => {
  const { reader, version } = await openTable(engine, request.id, request.version, options)
  const plan = settleQuery(request, reader.schema)
  const { schema, batches } = await executePlan(plan, reader, options.signal)
  return new ReadRows(version, schema, batches)
}

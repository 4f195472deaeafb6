/** Handlers of the query operations. */
import { Pacer } from '../primitives/pacer.js'
import type { Handler } from '../protocol/calls.js'
import { executePlan } from '../query/execute.js'
import { explainPlan } from '../query/explain.js'
import { settleQuery } from '../query/settle.js'
import { ReadRows } from './arrow-rows.js'
import { type Engine, openTable } from './engine.js'

export const queryTable: Handler<Engine, 'queryTable'> = async (engine, request, options) => {
  const { reader, version } = await openTable(engine, request.id, request.version, options)
  const pacer = new Pacer(options.signal)
  const plan = settleQuery(request, reader.schema, engine.clock)
  const { schema, batches } = await executePlan(plan, reader, pacer, engine.clock)
  return new ReadRows(version, schema, batches)
}

export const explainTableQueryPlan: Handler<Engine, 'explainTableQueryPlan'> = async (
  engine,
  { id, query, verbose },
  options,
) => {
  const { reader } = await openTable(engine, id, query.version, options)
  const pacer = new Pacer(options.signal)
  const plan = settleQuery({ ...query, id }, reader.schema, engine.clock)
  return explainPlan(plan, reader, id.join('$'), verbose === true, pacer)
}

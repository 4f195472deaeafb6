/**
 * Handlers of requests of LanceDB clients for which Sheaf has nothing to do. They only check that the table, index or
 * columns exist.
 */
import { checkRows, findTable, versionOf } from '../catalog/lookup.js'
import { findField } from '../manifest/field-node.js'
import type { Handler } from '../protocol/calls.js'
import type { Engine } from '../root/engine.js'
import { openTable, openVersion } from '../root/open-table.js'
import { findIndex, shownIndexes } from './index-records.js'

export const prewarmTableIndex: Handler<Engine, 'prewarmTableIndex'> = async (engine, request, options) => {
  const state = await engine.root.refresh(options.signal)
  const head = findTable(state, request.id, options.table)
  checkRows(head)
  const { layout } = await openVersion(engine, head, versionOf(head), options.signal)
  findIndex(head, shownIndexes(layout, state), request.index_name)
}

export const prewarmTable: Handler<Engine, 'prewarmTable'> = async (engine, request, options) => {
  const { layout } = await openTable(engine, request.id, undefined, options)
  for (const column of request.columns ?? []) findField(layout.schema, column)
}

export const getTableLsmWriteSpec: Handler<Engine, 'getTableLsmWriteSpec'> = async (
  engine,
  request,
  options,
) => {
  await openTable(engine, request.id, request.version, options)
  return { lsm_write_spec: null }
}

export const getTableLsmStats: Handler<Engine, 'getTableLsmStats'> = async (engine, request, options) => {
  await openTable(engine, request.id, request.version, options)
  return { lsm_stats: null }
}

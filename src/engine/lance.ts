/** Handlers of requests of LanceDB clients for which Sheaf has nothing to do. They only check that the table exists. */
import type { Handler } from '../protocol/calls.js'
import type { Engine } from '../root/engine.js'
import { openReadable } from './lance-versions.js'

export const getTableLsmWriteSpec: Handler<Engine, 'getTableLsmWriteSpec'> = async (
  engine,
  request,
  options,
) => {
  await openReadable(engine, request.id, request.version, options)
  return { lsm_write_spec: null }
}

export const getTableLsmStats: Handler<Engine, 'getTableLsmStats'> = async (engine, request, options) => {
  await openReadable(engine, request.id, request.version, options)
  return { lsm_stats: null }
}

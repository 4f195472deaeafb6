/** Handlers of the operations on namespaces. */
import { namespaceNamesIn } from '../catalog/listing.js'
import { findNamespace } from '../catalog/lookup.js'
import { decideCreateNamespace, decideDropNamespace } from '../catalog/namespaces.js'
import { pathKey } from '../catalog/state.js'
import type { Handler, Reply } from '../protocol/calls.js'
import { namespaceNames, paginate } from '../protocol/page.js'
import { commit } from '../root/commit.js'
import type { Engine } from '../root/engine.js'

export const createNamespace: Handler<Engine, 'createNamespace'> = async (engine, request, options) => {
  const { id, mode = 'Create', properties = {} } = request
  const { reply } = await commit<Reply<'createNamespace'>>(
    engine,
    (state, { transactionId }) => {
      const ops = decideCreateNamespace(state, id, mode, properties)
      return ops.length === 0
        ? { ops, reply: { properties: findNamespace(state, id).props } }
        : { ops, reply: { properties, transaction_id: transactionId } }
    },
    options,
  )
  return reply
}

export const listNamespaces: Handler<Engine, 'listNamespaces'> = async (engine, request, { signal }) => {
  const state = await engine.root.refresh(signal)
  const node = findNamespace(state, request.id)
  const { items, ...next } = paginate(
    namespaceNamesIn(state, node),
    { ...namespaceNames, scope: pathKey(request.id) },
    request,
  )
  return { namespaces: items, ...next }
}

export const describeNamespace: Handler<Engine, 'describeNamespace'> = async (
  engine,
  request,
  { signal },
) => {
  return { properties: findNamespace(await engine.root.refresh(signal), request.id).props }
}

export const namespaceExists: Handler<Engine, 'namespaceExists'> = async (engine, request, { signal }) => {
  findNamespace(await engine.root.refresh(signal), request.id)
}

export const dropNamespace: Handler<Engine, 'dropNamespace'> = async (engine, request, options) => {
  const { id, mode = 'Fail', behavior = 'Restrict' } = request
  const { reply } = await commit<Reply<'dropNamespace'>>(
    engine,
    (state, { transactionId }) => {
      const properties = state.namespaces.get(pathKey(id))?.props ?? {}
      const ops = decideDropNamespace(state, id, mode, behavior)
      return {
        ops,
        reply: ops.length === 0 ? { properties } : { properties, transaction_id: [transactionId] },
      }
    },
    options,
  )
  return reply
}

/** Handlers of the namespace operations. */
import { sortedNames } from '../catalog/listing.js'
import { findNamespace } from '../catalog/lookup.js'
import { decideCreateNamespace, decideDropNamespace } from '../catalog/namespaces.js'
import { pathKey } from '../catalog/state.js'
import type { Handler } from '../protocol/calls.js'
import { namespaceNames, paginate } from '../protocol/page.js'
import { commit, type Engine, transactionOf } from './engine.js'

export const createNamespace: Handler<Engine, 'createNamespace'> = async (engine, request, { signal }) => {
  const { id, mode = 'Create', properties = {} } = request
  const decide = (state: Parameters<typeof decideCreateNamespace>[0]) => {
    return { ops: decideCreateNamespace(state, id, mode, properties) }
  }
  const committed = await commit(engine, decide, signal)
  const state = committed?.state ?? (await engine.committer.refresh(signal))
  return { properties: findNamespace(state, id).props, ...transactionOf(committed) }
}

export const listNamespaces: Handler<Engine, 'listNamespaces'> = async (engine, request, { signal }) => {
  const node = findNamespace(await engine.committer.refresh(signal), request.id)
  const { items, ...next } = paginate(sortedNames(node.namespaces), namespaceNames, request)
  return { namespaces: items, ...next }
}

export const describeNamespace: Handler<Engine, 'describeNamespace'> = async (
  engine,
  request,
  { signal },
) => {
  return { properties: findNamespace(await engine.committer.refresh(signal), request.id).props }
}

export const namespaceExists: Handler<Engine, 'namespaceExists'> = async (engine, request, { signal }) => {
  findNamespace(await engine.committer.refresh(signal), request.id)
}

export const dropNamespace: Handler<Engine, 'dropNamespace'> = async (engine, request, { signal }) => {
  const { id, mode = 'Fail', behavior = 'Restrict' } = request
  const before = (await engine.committer.refresh(signal)).namespaces.get(pathKey(id))
  const committed = await commit(
    engine,
    state => ({ ops: decideDropNamespace(state, id, mode, behavior) }),
    signal,
  )
  return {
    properties: before?.props ?? {},
    ...(committed === null ? {} : { transaction_id: [committed.transactionId] }),
  }
}

/** Handlers of the namespace operations. */
import { sortedNames } from '../catalog/listing.js'
import { findNamespace } from '../catalog/lookup.js'
import { decideCreateNamespace, decideDropNamespace, type Properties } from '../catalog/namespaces.js'
import { type CatalogState, pathKey } from '../catalog/state.js'
import type { Handler } from '../protocol/calls.js'
import { namespaceNames, paginate } from '../protocol/page.js'
import { commit, type Engine, transactionOf } from './engine.js'

export const createNamespace: Handler<Engine, 'createNamespace'> = async (engine, request, { signal }) => {
  const { id, mode = 'Create', properties = {} } = request
  let kept: Properties | undefined
  const decide = (state: CatalogState) => {
    kept = state.namespaces.get(pathKey(id))?.props
    return { ops: decideCreateNamespace(state, id, mode, properties) }
  }
  const committed = await commit(engine, decide, signal)
  return { properties: committed === null ? kept! : properties, ...transactionOf(committed) }
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
  let dropped: Properties = {}
  const decide = (state: CatalogState) => {
    dropped = state.namespaces.get(pathKey(id))?.props ?? {}
    return { ops: decideDropNamespace(state, id, mode, behavior) }
  }
  const committed = await commit(engine, decide, signal)
  return {
    properties: dropped,
    ...(committed === null ? {} : { transaction_id: [committed.transactionId] }),
  }
}

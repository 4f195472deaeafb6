/** Handlers of the tag operations. */

import { sortedNames } from '../catalog/listing.js'
import { findTable, tagOf } from '../catalog/lookup.js'
import type { TagOp } from '../catalog/ops.js'
import type { TableHead } from '../catalog/state.js'
import { decideCreateTag, decideDeleteTag, decideUpdateTag } from '../catalog/tags.js'
import type { Handler, Reply } from '../protocol/calls.js'
import { paginate, tagNames } from '../protocol/page.js'
import { commit, type Engine, transactionOf } from './engine.js'

export const listTableTags: Handler<Engine, 'listTableTags'> = async (engine, request, { signal }) => {
  const head = findTable(await engine.committer.refresh(signal), request.id)
  const { items, ...next } = paginate(sortedNames(head.tags), tagNames, request)
  // Manifests of managed tables are derived and may not be there: size 0 says so.
  const tags: [string, Reply<'listTableTags'>['tags'][string]][] = items.map(name => {
    return [name, { version: head.tags.get(name)!, manifestSize: 0 }]
  })
  return { tags: Object.fromEntries(tags), ...next }
}

export const getTableTagVersion: Handler<Engine, 'getTableTagVersion'> = async (
  engine,
  request,
  { signal },
) => {
  return { version: tagOf(findTable(await engine.committer.refresh(signal), request.id), request.tag) }
}

export const createTableTag: Handler<Engine, 'createTableTag'> = (engine, request, { signal }) => {
  return commitTag(engine, request.id, head => decideCreateTag(head, request.tag, request.version), signal)
}

export const updateTableTag: Handler<Engine, 'updateTableTag'> = (engine, request, { signal }) => {
  return commitTag(engine, request.id, head => decideUpdateTag(head, request.tag, request.version), signal)
}

export const deleteTableTag: Handler<Engine, 'deleteTableTag'> = (engine, request, { signal }) => {
  return commitTag(engine, request.id, head => decideDeleteTag(head, request.tag), signal)
}

async function commitTag(
  engine: Engine,
  id: readonly string[],
  decide: (head: TableHead) => TagOp,
  signal: AbortSignal | undefined,
): Promise<{ transaction_id?: string }> {
  return transactionOf(await commit(engine, state => ({ ops: [decide(findTable(state, id))] }), signal))
}

/** Handlers of the operations on tags. */
import { sortedNames } from '../catalog/listing.js'
import { findTable } from '../catalog/lookup.js'
import type { TagOp } from '../catalog/ops.js'
import type { TableHead } from '../catalog/state.js'
import { decideCreateTag, decideDeleteTag, decideUpdateTag } from '../catalog/tags.js'
import type { Handler, HandlerOptions, Reply } from '../protocol/calls.js'
import { paginate, tagNames } from '../protocol/page.js'
import { commit } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { recordOf } from '../root/open-table.js'
import { directoryTags, versionOfTag } from './lance-tags.js'

export const listTableTags: Handler<Engine, 'listTableTags'> = async (engine, request, options) => {
  const head = findTable(await engine.root.refresh(options.signal), request.id, options.table)
  const { items, ...next } = paginate(
    sortedNames(`tags ${head.uuid}`, head.tags),
    { ...tagNames, scope: head.uuid },
    request,
  )
  const tags: [string, Reply<'listTableTags'>['tags'][string]][] = []
  for (const name of items) {
    const version = head.tags.get(name)!
    // The size is known only for tables of a Lance engine. Sheaf derives the manifests of its own tables later, so
    // their size is reported as 0.
    const record = head.kind === 'sheaf' ? null : await recordOf(engine, head, version, options.signal)
    tags.push([name, { version, manifestSize: record?.manifest?.size ?? 0 }])
  }
  const shown = request.page_token === undefined && head.kind === 'lance'
  const inFolder = shown ? await folderTags(engine, head, options.signal) : null
  return { tags: Object.fromEntries(tags), ...(inFolder !== null && { directory_tags: inFolder }), ...next }
}

/**
 * Return the tags in the folder of a Lance table that differ from those of the log. Null if there are none. Leaves out tags
 * of branches.
 */
async function folderTags(
  engine: Engine,
  head: TableHead,
  signal: AbortSignal | undefined,
): Promise<NonNullable<Reply<'listTableTags'>['directory_tags']> | null> {
  const tags = [...(await directoryTags(engine, head.location, signal))]
    .filter(([name, { version, branch }]) => branch === null && head.tags.get(name) !== version)
    .map(([name, { version }]) => [name, { version }] as const)
  return tags.length === 0 ? null : Object.fromEntries(tags)
}

export const getTableTagVersion: Handler<Engine, 'getTableTagVersion'> = async (engine, request, options) => {
  const head = findTable(await engine.root.refresh(options.signal), request.id, options.table)
  return { version: await versionOfTag(engine, head, request.tag, options.signal) }
}

export const createTableTag: Handler<Engine, 'createTableTag'> = (engine, request, options) => {
  return commitTag(engine, request.id, head => decideCreateTag(head, request.tag, request.version), options)
}

export const updateTableTag: Handler<Engine, 'updateTableTag'> = (engine, request, options) => {
  return commitTag(engine, request.id, head => decideUpdateTag(head, request.tag, request.version), options)
}

export const deleteTableTag: Handler<Engine, 'deleteTableTag'> = (engine, request, options) => {
  return commitTag(engine, request.id, head => decideDeleteTag(head, request.tag), options)
}

async function commitTag(
  engine: Engine,
  id: readonly string[],
  decide: (head: TableHead) => TagOp,
  options: HandlerOptions,
): Promise<{ transaction_id: string }> {
  const { reply } = await commit(
    engine,
    (state, { transactionId }) => {
      return {
        ops: [decide(findTable(state, id, options.table))],
        isPlain: true,
        reply: { transaction_id: transactionId },
      }
    },
    options,
  )
  return reply
}

/**
 * Encodes a catalog state as the texts of a checkpoint, one text per item, and decodes it. The texts do not contain
 * what can be computed from other items: the lists of names in a namespace, and the list of locations that callers
 * chose.
 */
import type { Genesis, Loader } from '../commit/machine.js'
import { assert, corrupted } from '../errors.js'
import { PersistentMap } from '../primitives/persistent-map.js'
import type { FailedBuild } from './index-builds.js'
import type { Properties } from './ops.js'
import {
  type CatalogState,
  type Dropped,
  type Expired,
  emptyState,
  type Job,
  type KeptCheckpoint,
  type KeyedCommit,
  type NamespaceNode,
  newNamespace,
  pathKey,
  type SweepMark,
  type TableHead,
  type TransactionNote,
  type ViewState,
} from './state.js'
import { type EndedUpload, partsOf, type Upload, type UploadPart } from './uploads.js'

/** A table head as it is stored in a checkpoint. */
interface StoredHead extends Omit<TableHead, 'tags' | 'view'> {
  readonly tags: readonly (readonly [string, number])[]
  readonly view?: ViewState
}

type Item =
  | { readonly namespace: readonly string[]; readonly props: Properties }
  | { readonly table: StoredHead }
  | { readonly detached: StoredHead }
  | { readonly drop: string; readonly dropped: Dropped }
  | { readonly key: string; readonly commit: KeyedCommit; readonly ts: number }
  | { readonly job: Job }
  | { readonly upload: Omit<Upload, 'parts'> }
  | { readonly part: UploadPart; readonly of: string }
  | { readonly ended: string; readonly upload_ended: EndedUpload; readonly ts: number }
  | { readonly note: string; readonly content: TransactionNote; readonly ts: number }
  | { readonly failed: string; readonly builds: readonly FailedBuild[] }
  | { readonly expired: Expired }
  | { readonly sweep: SweepMark }
  | { readonly kept: KeptCheckpoint }

/** Encode a state as texts, one text per item. */
export function* saveState(state: CatalogState): Generator<string> {
  for (const item of items(state)) yield JSON.stringify(item)
}

function* items(state: CatalogState): Generator<Item> {
  for (const [, { id, props }] of state.namespaces) if (id.length > 0) yield { namespace: id, props }
  for (const [, head] of state.tables) yield { table: stored(head) }
  for (const [, head] of state.detached) yield { detached: stored(head) }
  for (const [drop, dropped] of state.drops) yield { drop, dropped }
  for (const [key, commit, ts] of state.keys) yield { key, commit, ts }
  for (const [, job] of state.jobs) yield { job }
  for (const [of, open] of state.uploads) {
    const { parts: _, ...upload } = open
    yield { upload }
    for (const part of partsOf(open)) yield { part, of }
  }
  for (const [ended, upload_ended, ts] of state.endedUploads) yield { ended, upload_ended, ts }
  for (const [note, content, ts] of state.notes) yield { note, content, ts }
  for (const [failed, builds] of state.failedBuilds) yield { failed, builds }
  for (const expired of state.expired) yield { expired }
  if (state.sweep.floor > 0) yield { sweep: state.sweep }
  for (const kept of state.checkpoints) yield { kept }
}

/**
 * Convert a table head to its stored form. Copies every field by name, for the reason given at `withVersion`
 * (catalog/state).
 */
function stored(head: TableHead): StoredHead {
  return {
    uuid: head.uuid,
    id: head.id,
    kind: head.kind,
    location: head.location,
    external: head.external,
    props: head.props,
    mark: head.mark,
    live: head.live,
    next: head.next,
    schemaId: head.schemaId,
    start: head.start,
    fragments: head.fragments,
    tags: head.tags.size === 0 ? [] : [...head.tags],
    ...(head.view !== null && { view: head.view }),
  }
}

/** Create a decoder, which decodes one item per call. So the caller can pause between two items. */
export function loadState(genesis: Genesis): Loader<CatalogState> {
  const empty = emptyState(genesis.root)
  const nodes = new Map<string, NamespaceNode>([['', newNamespace([], {})]])
  /**
   * By key of a namespace: the names in the namespace. Names are collected first, because a table may be decoded before
   * its namespace.
   */
  const tablesIn = new Map<string, PersistentMap<string>>()
  const namespacesIn = new Map<string, PersistentMap<true>>()
  let { tables, detached, external, following, drops, keys, jobs, notes, failedBuilds, expired, sweep } =
    empty
  let { checkpoints, uploads, endedUploads } = empty

  const headOf = (item: StoredHead): TableHead => {
    if (item.external) external = external.set(item.location, item.uuid)
    const tags = item.tags.reduce((tags, [name, v]) => tags.set(name, v), noTags)
    return { ...item, tags, view: item.view ?? null }
  }
  const add = (text: string) => {
    const item = JSON.parse(text) as Item
    if ('table' in item) {
      const head = headOf(item.table)
      tables = tables.set(head.uuid, head)
      if (head.view?.definition.auto_refresh === true) following = following.set(head.uuid, true)
      addName(tablesIn, head.id, head.uuid)
    } else if ('namespace' in item) {
      const { namespace: id, props } = item
      nodes.set(pathKey(id), newNamespace(id, props))
      addName(namespacesIn, id, true)
    } else if ('detached' in item) detached = detached.set(item.detached.location, headOf(item.detached))
    else if ('drop' in item) drops = drops.set(item.drop, item.dropped)
    else if ('key' in item) keys = keys.set(item.key, item.commit, item.ts)
    else if ('job' in item) jobs = jobs.set(item.job.id, item.job)
    else if ('upload' in item) {
      uploads = uploads.set(item.upload.id, { ...item.upload, parts: PersistentMap.empty<UploadPart>() })
    } else if ('part' in item) {
      const upload = uploads.get(item.of)
      assert(upload !== undefined, 'a checkpoint contains a part of an upload that is not in the checkpoint')
      uploads = uploads.set(item.of, { ...upload, parts: upload.parts.set(item.part.name, item.part) })
    } else if ('ended' in item) endedUploads = endedUploads.set(item.ended, item.upload_ended, item.ts)
    else if ('note' in item) notes = notes.set(item.note, item.content, item.ts)
    else if ('failed' in item) failedBuilds = failedBuilds.set(item.failed, item.builds)
    else if ('expired' in item) expired = expired.push(item.expired)
    else if ('sweep' in item) sweep = item.sweep
    else if ('kept' in item) checkpoints = [...checkpoints, item.kept]
    else
      throw corrupted(
        `a checkpoint contains an item that this version does not support: ${text.slice(0, 80)}`,
      )
  }
  const end = (): CatalogState => {
    for (const parent of [...tablesIn.keys(), ...namespacesIn.keys()]) {
      assert(nodes.has(parent), 'a checkpoint contains a name in a namespace that is not in the checkpoint')
    }
    let namespaces = empty.namespaces
    for (const [key, node] of nodes) {
      const names = {
        namespaces: namespacesIn.get(key) ?? node.namespaces,
        tables: tablesIn.get(key) ?? node.tables,
      }
      namespaces = namespaces.set(key, { ...node, ...names })
    }
    return {
      ...empty,
      namespaces,
      tables,
      detached,
      external,
      following,
      drops,
      keys,
      jobs,
      uploads,
      endedUploads,
      notes,
      failedBuilds,
      expired,
      sweep,
      checkpoints,
    }
  }
  return { add, end }
}

/** Add the last name of the path `id` to the names of its parent namespace. */
function addName<V>(names: Map<string, PersistentMap<V>>, id: readonly string[], value: V): void {
  const parent = pathKey(id.slice(0, -1))
  names.set(parent, (names.get(parent) ?? PersistentMap.empty<V>()).set(id.at(-1)!, value))
}

const noTags = PersistentMap.empty<number>()

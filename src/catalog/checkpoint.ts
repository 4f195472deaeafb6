/**
 * Encodes a catalog state as the texts of a checkpoint, one text per item, and decodes it. The texts do not contain
 * what can be computed from other items: the lists of names in a namespace, and the list of locations that callers
 * chose.
 *
 * The texts of a difference are the items that changed after a slot, and items for what is gone.
 */
import type { EarlierState, Genesis, Loader } from '../commit/machine.js'
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
  ownLocation,
  pathKey,
  type SweepMark,
  type TableHead,
  type TransactionNote,
  type ViewState,
} from './state.js'
import type { EndedUpload, Upload, UploadPart } from './uploads.js'
import type { Window } from './window.js'

/** A table head as it is stored in a checkpoint, without the members that have their usual values. */
interface StoredHead
  extends Pick<
      TableHead,
      'uuid' | 'id' | 'kind' | 'mark' | 'live' | 'next' | 'schemaId' | 'start' | 'fragments'
    >,
    Partial<Pick<TableHead, 'external' | 'location' | 'props'>> {
  /** The slots of `TableHead.changes`: the first slot, then the distance of each slot to the one before it. */
  readonly changes?: readonly number[]
  readonly tags?: readonly (readonly [string, number])[]
  readonly view?: ViewState
}

/** The maps of a state from which an item is removed by its key. */
type GoneKind = 'namespace' | 'table' | 'detached' | 'drop' | 'job' | 'upload' | 'failed'
/** The windows of a state (window.ts), by the member of their items that has the key. */
type WindowKind = 'key' | 'ended' | 'note'

type Item =
  | { readonly gone: GoneKind; readonly at: string | readonly string[] }
  | { readonly first: WindowKind; readonly at: string | null }
  | { readonly namespace: readonly string[]; readonly props: Properties }
  | { readonly table: StoredHead }
  | { readonly detached: StoredHead }
  | { readonly drop: string; readonly dropped: Dropped }
  | { readonly key: string; readonly commit: KeyedCommit; readonly ts?: number }
  | { readonly job: Job }
  | { readonly upload: Omit<Upload, 'parts'> }
  | { readonly part: UploadPart; readonly of: string }
  | { readonly ended: string; readonly upload_ended: EndedUpload; readonly ts?: number }
  | { readonly note: string; readonly content: TransactionNote; readonly ts?: number }
  | { readonly failed: string; readonly builds: readonly FailedBuild[] }
  | { readonly expired: Expired }
  | { readonly sweep: SweepMark }
  | { readonly kept: KeptCheckpoint }
  | { readonly heads: string }

/** The search for removed things yields no item for up to this many changed ones. Then it yields an empty text. */
const silentMax = 256

/**
 * Encode a state as texts, one text per item. With `before`, only the items that changed after its slot. `before` must
 * be an earlier state from which `state` was computed. An empty text is no item: there the caller can pause.
 */
export function* saveState(state: CatalogState, before?: EarlierState<CatalogState>): Generator<string> {
  if (before !== undefined) {
    for (const item of goneItems(state, before.state)) yield item === null ? '' : JSON.stringify(item)
  }
  const since = before ?? { state: emptyState(state.root), slot: -1 }
  for (const item of items(state, since)) yield JSON.stringify(item)
}

function* items(state: CatalogState, { state: before, slot }: EarlierState<CatalogState>): Generator<Item> {
  for (const [key, node] of state.namespaces.changesSince(before.namespaces)) {
    if (node === undefined || node.id.length === 0 || before.namespaces.get(key)?.props === node.props)
      continue
    yield { namespace: node.id, props: node.props }
  }
  for (const [, head] of present(state.tables, before.tables)) yield { table: stored(head) }
  for (const [, head] of present(state.detached, before.detached)) yield { detached: stored(head) }
  for (const [drop, dropped] of present(state.drops, before.drops)) yield { drop, dropped }
  for (const [key, commit] of state.keys.updatedSince(before.keys)) yield { key, commit }
  for (const [key, commit, ts] of state.keys.addedSince(before.keys)) yield { key, commit, ts }
  for (const [, job] of present(state.jobs, before.jobs)) yield { job }
  for (const [of, open] of present(state.uploads, before.uploads)) {
    const { parts, ...upload } = open
    yield { upload }
    const changed = present(parts, before.uploads.get(of)?.parts ?? noParts)
    for (const [, part] of [...changed].sort(([, a], [, b]) => a.place - b.place)) yield { part, of }
  }
  for (const [ended, upload_ended] of state.endedUploads.updatedSince(before.endedUploads)) {
    yield { ended, upload_ended }
  }
  for (const [ended, upload_ended, ts] of state.endedUploads.addedSince(before.endedUploads)) {
    yield { ended, upload_ended, ts }
  }
  for (const [note, content] of state.notes.updatedSince(before.notes)) yield { note, content }
  for (const [note, content, ts] of state.notes.addedSince(before.notes)) yield { note, content, ts }
  for (const [failed, builds] of present(state.failedBuilds, before.failedBuilds)) yield { failed, builds }
  for (const expired of state.expired.newestWhile(each => each.slot > slot)) yield { expired }
  if (state.sweep.floor > before.sweep.floor) yield { sweep: state.sweep }
  if (state.checkpoints !== before.checkpoints) for (const kept of state.checkpoints) yield { kept }
}

/**
 * Yield the items that remove what `before` has and `state` has not. They must precede all other items. Yields null now and
 * then if there are none.
 */
function* goneItems(state: CatalogState, before: CatalogState): Generator<Item | null> {
  for (const [key, node] of state.namespaces.changesSince(before.namespaces)) {
    if (node === undefined) yield { gone: 'namespace', at: before.namespaces.get(key)!.id }
  }
  yield* gone('table', state.tables, before.tables)
  yield* gone('detached', state.detached, before.detached)
  yield* gone('drop', state.drops, before.drops)
  yield* gone('job', state.jobs, before.jobs)
  yield* gone('upload', state.uploads, before.uploads)
  yield* gone('failed', state.failedBuilds, before.failedBuilds)
  yield* firstItem('key', state.keys, before.keys)
  yield* firstItem('ended', state.endedUploads, before.endedUploads)
  yield* firstItem('note', state.notes, before.notes)
}

/** Yield the item that drops old keys of a window, if it dropped any since `before`. */
function* firstItem<V>(first: WindowKind, window: Window<V>, before: Window<V>): Generator<Item> {
  if (!window.droppedSince(before)) return
  const oldest = window.oldest()
  const [added] = window.addedSince(before)
  // If all remaining keys were added since `before`, drop all keys.
  yield { first, at: oldest === undefined || oldest === added?.[0] ? null : oldest }
}

function* present<V>(map: PersistentMap<V>, before: PersistentMap<V>): Generator<readonly [string, V]> {
  for (const [key, value] of map.changesSince(before)) if (value !== undefined) yield [key, value]
}

function* gone<V>(kind: GoneKind, map: PersistentMap<V>, before: PersistentMap<V>): Generator<Item | null> {
  let silent = 0
  for (const [at, value] of map.changesSince(before)) {
    if (value === undefined) yield { gone: kind, at }
    else if (++silent % silentMax === 0) yield null
  }
}

/** Convert a table head to its stored form. */
function stored(head: TableHead): StoredHead {
  const {
    uuid,
    id,
    kind,
    mark,
    live,
    next,
    schemaId,
    start,
    fragments,
    changes,
    location,
    external,
    props,
    tags,
    view,
  } = head
  return {
    uuid,
    id,
    kind,
    mark,
    live,
    next,
    schemaId,
    start,
    fragments,
    ...(changes.length > 0 && { changes: changes.map((slot, i) => slot - (changes[i - 1] ?? 0)) }),
    ...(external && { external }),
    ...(location !== ownLocation(uuid) && { location }),
    ...(Object.keys(props).length > 0 && { props }),
    ...(tags.size > 0 && { tags: [...tags] }),
    ...(view !== null && { view }),
  }
}

function sums(distances: readonly number[]): readonly number[] {
  let sum = 0
  return distances.map(distance => {
    sum += distance
    return sum
  })
}

/** Copies every field by name, for the reason given at `withVersion` (catalog/state). */
function headOf(item: StoredHead): TableHead {
  return {
    uuid: item.uuid,
    id: item.id,
    kind: item.kind,
    location: item.location ?? ownLocation(item.uuid),
    external: item.external ?? false,
    props: item.props ?? {},
    mark: item.mark,
    live: item.live,
    next: item.next,
    schemaId: item.schemaId,
    start: item.start,
    changes: sums(item.changes ?? []),
    fragments: item.fragments,
    tags: (item.tags ?? []).reduce((tags, [name, v]) => tags.set(name, v), noTags),
    view: item.view ?? null,
  }
}

/**
 * Create a decoder, which decodes one item per call. So the caller can pause between two items. `before`: the state to
 * which the items are applied; absent if they are the whole state.
 */
export function loadState(genesis: Genesis, before?: CatalogState): Loader<CatalogState> {
  return new StateLoader(before ?? emptyState(genesis.root))
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

class StateLoader implements Loader<CatalogState> {
  readonly #state: Mutable<CatalogState>
  readonly #names: Names
  /** The named checkpoints among the items. They replace all earlier ones. */
  readonly #kept: KeptCheckpoint[] = []

  constructor(before: CatalogState) {
    this.#state = { ...before }
    this.#names = new Names(before.namespaces)
  }

  add(text: string): void {
    const state = this.#state
    const item = JSON.parse(text) as Item
    if ('table' in item) this.#putTable(headOf(item.table))
    else if ('namespace' in item) this.#names.put(item.namespace, item.props)
    else if ('detached' in item) {
      const head = headOf(item.detached)
      if (head.external) state.external = state.external.set(head.location, head.uuid)
      state.detached = state.detached.set(head.location, head)
    } else if ('drop' in item) state.drops = state.drops.set(item.drop, item.dropped)
    else if ('key' in item) state.keys = placed(state.keys, item.key, item.commit, item.ts)
    else if ('job' in item) state.jobs = state.jobs.set(item.job.id, item.job)
    else if ('upload' in item) {
      const { parts } = state.uploads.get(item.upload.id) ?? { parts: noParts }
      state.uploads = state.uploads.set(item.upload.id, { ...item.upload, parts })
    } else if ('part' in item) {
      const upload = state.uploads.get(item.of)
      assert(upload !== undefined, 'a checkpoint contains a part of an upload that is not in the checkpoint')
      const parts = upload.parts.set(item.part.name, item.part)
      state.uploads = state.uploads.set(item.of, { ...upload, parts })
    } else if ('ended' in item) {
      state.endedUploads = placed(state.endedUploads, item.ended, item.upload_ended, item.ts)
    } else if ('note' in item) state.notes = placed(state.notes, item.note, item.content, item.ts)
    else if ('failed' in item) state.failedBuilds = state.failedBuilds.set(item.failed, item.builds)
    else if ('expired' in item) state.expired = state.expired.push(item.expired)
    else if ('sweep' in item) state.sweep = item.sweep
    else if ('kept' in item) this.#kept.push(item.kept)
    else if ('gone' in item) this.#remove(item.gone, item.at)
    else if ('first' in item) this.#dropBefore(item.first, item.at)
    // Hints about the table `heads`, which are no part of the state (docs/format.md).
    else if ('heads' in item) return
    else
      throw corrupted(
        `a checkpoint contains an item that this version does not support: ${text.slice(0, 80)}`,
      )
  }

  end(): CatalogState {
    const state = this.#state
    state.namespaces = this.#names.end()
    if (this.#kept.length > 0) state.checkpoints = this.#kept
    const { floor } = state.sweep
    state.expired = state.expired.dropWhile(({ slot }) => slot <= floor)
    return { ...state }
  }

  #putTable(head: TableHead): void {
    const state = this.#state
    const { uuid, external, location, view } = head
    const known = state.tables.get(uuid)
    if (known !== undefined && pathKey(known.id) !== pathKey(head.id)) this.#names.removeTable(known.id, uuid)
    this.#names.putTable(head.id, uuid)
    if (external) state.external = state.external.set(location, uuid)
    const follows = view?.definition.auto_refresh === true
    if (follows) state.following = state.following.set(uuid, true)
    else if (known !== undefined) state.following = state.following.delete(uuid)
    state.tables = state.tables.set(uuid, head)
  }

  #remove(kind: GoneKind, at: string | readonly string[]): void {
    const state = this.#state
    const key = at as string
    if (kind === 'namespace') this.#names.remove(at as readonly string[])
    else if (kind === 'table') {
      const head = state.tables.get(key)
      if (head === undefined) return
      this.#names.removeTable(head.id, key)
      this.#freeLocation(head)
      state.following = state.following.delete(key)
      state.tables = state.tables.delete(key)
    } else if (kind === 'detached') {
      const head = state.detached.get(key)
      if (head !== undefined) this.#freeLocation(head)
      state.detached = state.detached.delete(key)
    } else if (kind === 'drop') state.drops = state.drops.delete(key)
    else if (kind === 'job') state.jobs = state.jobs.delete(key)
    else if (kind === 'upload') state.uploads = state.uploads.delete(key)
    else state.failedBuilds = state.failedBuilds.delete(key)
  }

  #freeLocation({ location, uuid }: TableHead): void {
    const state = this.#state
    if (state.external.get(location) === uuid) state.external = state.external.delete(location)
  }

  #dropBefore(kind: WindowKind, oldest: string | null): void {
    const state = this.#state
    if (kind === 'key') state.keys = state.keys.dropBefore(oldest)
    else if (kind === 'ended') state.endedUploads = state.endedUploads.dropBefore(oldest)
    else state.notes = state.notes.dropBefore(oldest)
  }
}

/** Put an item into a window: at the end, or under its key if it has no time. */
function placed<V>(window: Window<V>, key: string, value: V, ts: number | undefined): Window<V> {
  if (ts !== undefined) return window.append(key, value, ts)
  assert(
    window.get(key) !== undefined,
    `a checkpoint changes the item ${key}, which is not in the checkpoint`,
  )
  return window.set(key, value, 0)
}

/**
 * The namespaces while items are decoded. A table may be decoded before its namespace, so names are collected by the key
 * of their namespace, and put into the namespaces at the end.
 */
class Names {
  readonly #before: CatalogState['namespaces']
  /** By key: the namespaces among the items; null for a namespace that is gone. */
  readonly #nodes = new Map<string, NamespaceNode | null>()
  readonly #tables = new Map<string, PersistentMap<string>>()
  readonly #namespaces = new Map<string, PersistentMap<true>>()

  constructor(before: CatalogState['namespaces']) {
    this.#before = before
  }

  put(id: readonly string[], props: Properties): void {
    this.#nodes.set(pathKey(id), newNamespace(id, props))
    const parent = pathKey(id.slice(0, -1))
    this.#namespaces.set(parent, this.#namespacesIn(parent).set(id.at(-1)!, true))
  }

  remove(id: readonly string[]): void {
    this.#nodes.set(pathKey(id), null)
    const parent = pathKey(id.slice(0, -1))
    this.#namespaces.set(parent, this.#namespacesIn(parent).delete(id.at(-1)!))
  }

  putTable(id: readonly string[], uuid: string): void {
    const parent = pathKey(id.slice(0, -1))
    const names = this.#tablesIn(parent)
    if (names.get(id.at(-1)!) !== uuid) this.#tables.set(parent, names.set(id.at(-1)!, uuid))
  }

  /** Remove the name of a table, unless another table has it now. */
  removeTable(id: readonly string[], uuid: string): void {
    const parent = pathKey(id.slice(0, -1))
    const names = this.#tablesIn(parent)
    if (names.get(id.at(-1)!) === uuid) this.#tables.set(parent, names.delete(id.at(-1)!))
  }

  end(): CatalogState['namespaces'] {
    let namespaces = this.#before
    for (const key of new Set([...this.#nodes.keys(), ...this.#tables.keys(), ...this.#namespaces.keys()])) {
      const node = this.#nodes.get(key)
      const known = node === undefined ? this.#before.get(key) : (node ?? undefined)
      const names = { namespaces: this.#namespacesIn(key), tables: this.#tablesIn(key) }
      if (known === undefined) {
        assert(
          names.namespaces.size + names.tables.size === 0,
          'a checkpoint contains a name in a namespace that is not in the checkpoint',
        )
        namespaces = namespaces.delete(key)
      } else namespaces = namespaces.set(key, { ...known, ...names })
    }
    return namespaces
  }

  #tablesIn(parent: string): PersistentMap<string> {
    return this.#tables.get(parent) ?? this.#before.get(parent)?.tables ?? noTables
  }

  #namespacesIn(parent: string): PersistentMap<true> {
    return this.#namespaces.get(parent) ?? this.#before.get(parent)?.namespaces ?? noNames
  }
}

const noTags = PersistentMap.empty<number>()
const noParts = PersistentMap.empty<UploadPart>()
const noTables = PersistentMap.empty<string>()
const noNames = PersistentMap.empty<true>()

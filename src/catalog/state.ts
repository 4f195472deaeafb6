/**
 * The catalog state: the namespaces, tables and other objects of a root after a slot of the log. A state is immutable.
 * A newer state shares all unchanged parts with the older state.
 *
 * The size of a state depends on the number of objects, not on the length of the log. For each table, the state has
 * only the numbers of the live versions. The records of versions are in the history (manifest/history).
 */
import type { OpenJob } from '../jobs/job-op.js'
import type { Counters } from '../manifest/change.js'
import { lastOf, type Runs, withNext } from '../manifest/runs.js'
import { PersistentMap } from '../primitives/persistent-map.js'
import { PersistentQueue } from '../primitives/persistent-queue.js'
import type { TransactionStatus } from '../protocol/transaction-shapes.js'
import type { FailedBuilds } from './index-builds.js'
import type { Properties, ShownSource, ViewDefinition } from './ops.js'
import type { EndedUpload, Upload } from './uploads.js'
import { Window } from './window.js'

/** A namespace. */
export interface NamespaceNode {
  readonly id: readonly string[]
  readonly props: Properties
  /** Names of the direct child namespaces. */
  readonly namespaces: PersistentMap<true>
  /** By table name: the uuid of the table. */
  readonly tables: PersistentMap<string>
}

/**
 * The kind of a table: `declared` before the first version, then `sheaf` (Sheaf wrote the rows), `lance` (a Lance
 * engine wrote the manifest), or `pointer` (each version is any other path).
 */
type TableKind = 'declared' | 'sheaf' | 'lance' | 'pointer'

/** A table: its name, its kind, and the state of its newest version. */
export interface TableHead {
  readonly uuid: string
  readonly id: readonly string[]
  readonly kind: TableKind
  /** The folder of the table's files, relative to the root. */
  readonly location: string
  /**
   * Whether the caller chose the location. If so, Sheaf does not delete its files. A location that Sheaf chose is never
   * used for another table.
   */
  readonly external: boolean
  readonly props: Properties
  /** The highest version number ever used. */
  readonly mark: number
  /** The numbers of the live versions. */
  readonly live: Runs
  /** The next free ids of rows, fragments and fields. */
  readonly next: Counters
  /** Id of the current schema; 0 before the first version. */
  readonly schemaId: number
  /**
   * The version whose stored manifest replay begins with to compute the newest manifest. 0: replay begins with no rows.
   */
  readonly start: number
  /**
   * The slots of the changes after version `start`, in order. Empty if they are not known, because one of these changes
   * is a restore.
   */
  readonly changes: readonly number[]
  /** Number of fragments of the newest version. */
  readonly fragments: number
  /** By tag name: the version. */
  readonly tags: PersistentMap<number>
  /** The view; null if the table is not a view. */
  readonly view: ViewState | null
}

/**
 * A materialized view: its definition, and the source version from which its rows were computed. `src`: null before the
 * first refresh.
 */
export interface ViewState {
  readonly definition: ViewDefinition
  readonly src: ShownSource | null
}

/** A dropped table whose files must still be deleted. */
export interface Dropped {
  readonly uuid: string
  readonly slot: number
  /** The time of the drop, in milliseconds since 1970. */
  readonly ts: number
}

/** The position of a commit that had an idempotency key, and the fingerprint of its call. */
export interface KeyedCommit {
  readonly hash: string
  readonly slot: number
  readonly entry: number
}

/** A queued or running job. Its id is the transaction id of the commit that queued it. */
export interface Job extends OpenJob {
  /** The properties that callers set. */
  readonly props: Properties
}

/** Facts about a transaction that its entry does not contain: the outcome of a job, and properties that callers set. */
export interface TransactionNote {
  readonly status: TransactionStatus
  readonly props: Properties
  /** Only for a job. */
  readonly kind?: string
  readonly table?: string
  readonly reason?: string
}

/** Versions of a sheaf table that were removed in slot `slot`. */
export interface Expired {
  readonly slot: number
  readonly t: string
  readonly runs: Runs
}

/** The GC watermark. */
export interface SweepMark {
  /** Files with an older creation slot than this cannot be committed. */
  readonly floor: number
  /** The time of the last change of the watermark, in milliseconds since 1970. */
  readonly ts: number
}

/** A checkpoint that an entry of the log recorded. */
export interface KeptCheckpoint {
  readonly name: string
  /** `slot`: the slot whose state is in the checkpoint. `at`: the later slot that recorded the checkpoint. */
  readonly slot: number
  readonly at: number
}

/** The state of a root. See the head of this file. */
export interface CatalogState {
  readonly root: string
  /** By `pathKey`: all namespaces, including the root namespace. */
  readonly namespaces: PersistentMap<NamespaceNode>
  /** By uuid: all attached tables. */
  readonly tables: PersistentMap<TableHead>
  /** By location: the deregistered tables. */
  readonly detached: PersistentMap<TableHead>
  /** By location that a caller chose: the uuid of the attached or deregistered table there. */
  readonly external: PersistentMap<string>
  /** The uuids of the views with automatic refresh. */
  readonly following: PersistentMap<true>
  /** By location: the dropped tables whose files are not deleted yet. */
  readonly drops: PersistentMap<Dropped>
  /** By idempotency key: the recent commits that had a key. */
  readonly keys: Window<KeyedCommit>
  /** By id: the open uploads. `endedUploads`: recently ended uploads. */
  readonly uploads: PersistentMap<Upload>
  readonly endedUploads: Window<EndedUpload>
  /** By id: the open jobs. */
  readonly jobs: PersistentMap<Job>
  /** By transaction id: ended jobs, and transactions with properties. */
  readonly notes: Window<TransactionNote>
  /** Failed builds of indexes that were not built, dropped or replaced since. */
  readonly failedBuilds: FailedBuilds
  /**
   * Versions that were removed after slot `sweep.floor`, the oldest removal first. Readers that began before the
   * removal may still read them.
   */
  readonly expired: PersistentQueue<Expired>
  readonly sweep: SweepMark
  /** The two newest recorded checkpoints, the older one first. Files that they name must not be deleted. */
  readonly checkpoints: readonly KeptCheckpoint[]
}

/**
 * Return the key of a namespace path for maps. The key joins the names by NUL, because names have no control characters
 * . A path with an invalid name gets a key that no namespace has.
 */
export function pathKey(id: readonly string[]): string {
  return id.some(name => name.includes('\0')) ? '\0' : id.join('\0')
}

/**
 * Return the slots of the changes after version `start` up to the newest version; null if they are not known.
 */
export function knownChanges({ start, mark, changes }: Pick<TableHead, 'start' | 'mark' | 'changes'>) {
  return changes.length === mark - start ? changes : null
}

/** Return the newest live version; undefined if there is none. */
export function latestOf(head: TableHead): number | undefined {
  return lastOf(head.live)
}

/** Return whether the version number `v` was never used. Only the first version of a table may have the number 0. */
export function isUnused(head: TableHead, v: number): boolean {
  return v > head.mark || (v === 0 && head.kind === 'declared')
}

const noTags = PersistentMap.empty<number>()
const noNames = PersistentMap.empty<true>()
const noTables = PersistentMap.empty<string>()
const noCounters: Counters = { row: 0, frag: 0, field: 0 }

/** Return the location that Sheaf chooses for a table. */
export function ownLocation(uuid: string): string {
  return `tables/${uuid}`
}

/** Create the head of a declared table without versions. */
export function newTable(
  uuid: string,
  id: readonly string[],
  props: Properties,
  location: string = ownLocation(uuid),
): TableHead {
  return {
    uuid,
    id,
    kind: 'declared',
    location,
    external: location !== ownLocation(uuid),
    props,
    mark: 0,
    live: [],
    next: noCounters,
    schemaId: 0,
    start: 0,
    changes: [],
    fragments: 0,
    tags: noTags,
    view: null,
  }
}

/** Create a namespace without tables and child namespaces. */
export function newNamespace(id: readonly string[], props: Properties): NamespaceNode {
  return { id, props, namespaces: noNames, tables: noTables }
}

/** Create the state of an empty root, which has only the root namespace. `root`: the uuid of the root. */
export function emptyState(root: string): CatalogState {
  return {
    root,
    namespaces: PersistentMap.empty<NamespaceNode>().set(pathKey([]), newNamespace([], {})),
    tables: PersistentMap.empty(),
    detached: PersistentMap.empty(),
    external: PersistentMap.empty(),
    following: PersistentMap.empty(),
    drops: PersistentMap.empty(),
    keys: Window.empty(),
    uploads: PersistentMap.empty(),
    endedUploads: Window.empty(),
    jobs: PersistentMap.empty(),
    notes: Window.empty(),
    failedBuilds: PersistentMap.empty(),
    expired: PersistentQueue.empty(),
    sweep: { floor: 0, ts: 0 },
    checkpoints: [],
  }
}

/**
 * Return `state` with other table heads. This function and `withVersion` run for every version of every commit. They
 * copy each field by name, because in V8 a spread takes twenty times as long.
 */
export function withTables(state: CatalogState, tables: CatalogState['tables']): CatalogState {
  return {
    root: state.root,
    namespaces: state.namespaces,
    tables,
    detached: state.detached,
    external: state.external,
    following: state.following,
    drops: state.drops,
    keys: state.keys,
    uploads: state.uploads,
    endedUploads: state.endedUploads,
    jobs: state.jobs,
    notes: state.notes,
    failedBuilds: state.failedBuilds,
    expired: state.expired,
    sweep: state.sweep,
    checkpoints: state.checkpoints,
  }
}

/** Return `head` after version `v` was created. */
export function withVersion(
  head: TableHead,
  kind: TableKind,
  v: number,
  {
    next,
    schemaId,
    start,
    changes,
    fragments,
  }: Pick<TableHead, 'next' | 'schemaId' | 'start' | 'changes' | 'fragments'> = head,
): TableHead {
  return {
    uuid: head.uuid,
    id: head.id,
    kind,
    location: head.location,
    external: head.external,
    props: head.props,
    mark: v,
    live: withNext(head.live, v),
    next,
    schemaId,
    start,
    changes,
    fragments,
    tags: head.tags,
    view: head.view,
  }
}

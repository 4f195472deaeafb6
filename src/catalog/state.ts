/**
 * What exists: the fold of the log. Immutable; a newer state shares all that did not change with the older.
 *
 * It grows with what exists, not with what happened: of a table's past it knows which version numbers are alive; their
 * records lie in the history (manifest/history), which never changes.
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

export interface NamespaceNode {
  readonly id: readonly string[]
  readonly props: Properties
  /** Names of the namespaces right below. */
  readonly namespaces: PersistentMap<true>
  /** Table name to uuid. */
  readonly tables: PersistentMap<string>
}

/**
 * `declared` until the first version decides what the table is: rows written here (`sheaf`), a manifest staged by a
 * Lance engine (`lance`), or any other path (`pointer`).
 */
export type TableKind = 'declared' | 'sheaf' | 'lance' | 'pointer'

export interface TableHead {
  readonly uuid: string
  readonly id: readonly string[]
  readonly kind: TableKind
  /** Folder of its files, relative to the root. */
  readonly location: string
  /** The caller chose the location: its files are not ours to delete. One of our own is never used by another table. */
  readonly external: boolean
  readonly props: Properties
  /** The highest version number ever used. */
  readonly mark: number
  /** The versions there are. */
  readonly live: Runs
  readonly next: Counters
  /** Id of the current schema; 0 before there is one. */
  readonly schemaId: number
  /** The version whose stored layout the newest one's is folded from; 0: from nothing. */
  readonly start: number
  /** How many fragments the newest version has. */
  readonly fragments: number
  /** Tag name to version. */
  readonly tags: PersistentMap<number>
  /** Null: a table like any other. */
  readonly view: ViewState | null
}

/** A materialized view: what makes its rows, and what they show; null before the first refresh. */
export interface ViewState {
  readonly definition: ViewDefinition
  readonly src: ShownSource | null
}

/** A location whose files wait to be deleted. */
export interface Dropped {
  readonly uuid: string
  readonly slot: number
  /** When it was dropped, milliseconds since 1970. */
  readonly ts: number
}

/** A commit that carried an idempotency key. */
export interface KeyedCommit {
  readonly hash: string
  readonly slot: number
  readonly entry: number
}

/** Work that is waiting or under way. Its id is the transaction id of the commit that queued it. */
export interface Job extends OpenJob {
  /** What callers noted on it. */
  readonly props: Properties
}

/** What is known of a transaction beyond its entry: how a job ended, what was noted on it. */
export interface TransactionNote {
  readonly status: TransactionStatus
  readonly props: Properties
  /** Of a job. */
  readonly kind?: string
  readonly table?: string
  readonly reason?: string
}

/** Versions of a table with rows of ours that ceased to exist. */
export interface Expired {
  readonly slot: number
  readonly t: string
  readonly runs: Runs
}

/** How far files that nothing refers to were given up. */
export interface SweepMark {
  /** Files born before this slot enter the log no more. */
  readonly floor: number
  /** When the floor was last raised, milliseconds since 1970. */
  readonly ts: number
}

/** A checkpoint that the log names. */
export interface KeptCheckpoint {
  readonly name: string
  /** The slot that it holds the fold of, and the later one that names it. */
  readonly slot: number
  readonly at: number
}

export interface CatalogState {
  readonly root: string
  /** By path key; the root namespace is always there. */
  readonly namespaces: PersistentMap<NamespaceNode>
  /** By uuid. */
  readonly tables: PersistentMap<TableHead>
  /** Deregistered tables, by location. */
  readonly detached: PersistentMap<TableHead>
  /** Locations of tables, attached or not, that callers chose; to the table's uuid. */
  readonly external: PersistentMap<string>
  /** Views that follow their sources by themselves, by uuid. */
  readonly following: PersistentMap<true>
  /** Locations of dropped tables whose files are still there. */
  readonly drops: PersistentMap<Dropped>
  readonly keys: Window<KeyedCommit>
  /** Open uploads in parts, by id; and those that ended not long ago. */
  readonly uploads: PersistentMap<Upload>
  readonly endedUploads: Window<EndedUpload>
  /** Open jobs, by id. */
  readonly jobs: PersistentMap<Job>
  /** Ended jobs and transactions with notes, by transaction id. */
  readonly notes: Window<TransactionNote>
  /** Builds of indexes that failed, as long as nothing came in their place. */
  readonly failedBuilds: FailedBuilds
  /** What ceased to exist after slot `sweep.floor`, oldest first: who began to read before then may still do so. */
  readonly expired: PersistentQueue<Expired>
  readonly sweep: SweepMark
  /** The newest two, the older first. No file that one of them names may go. */
  readonly checkpoints: readonly KeptCheckpoint[]
}

/**
 * A namespace path as a map key. Names hold no control character, so NUL separates; a path with a name that does
 * gets the key of none.
 */
export function pathKey(id: readonly string[]): string {
  return id.some(name => name.includes('\0')) ? '\0' : id.join('\0')
}

/** The newest version there is. */
export function latestOf(head: TableHead): number | undefined {
  return lastOf(head.live)
}

/** Whether a version may still get the number `v`. Numbers are used once; 0 only by a table's first version. */
export function isUnused(head: TableHead, v: number): boolean {
  return v > head.mark || (v === 0 && head.kind === 'declared')
}

const noTags = PersistentMap.empty<number>()
const noNames = PersistentMap.empty<true>()
const noTables = PersistentMap.empty<string>()
const noCounters: Counters = { row: 0, frag: 0, field: 0 }

/** Where the files of a table lie unless its creator says otherwise. */
export function ownLocation(uuid: string): string {
  return `tables/${uuid}`
}

/** A table as its declaration makes it: no version yet. */
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
    fragments: 0,
    tags: noTags,
    view: null,
  }
}

export function newNamespace(id: readonly string[], props: Properties): NamespaceNode {
  return { id, props, namespaces: noNames, tables: noTables }
}

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
 * `state` with other heads. Like `withVersion` it names every field: copying by spread takes V8 twenty times as long, and
 * these two run for every version of every commit.
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

/** `head` after version `v`. */
export function withVersion(
  head: TableHead,
  kind: TableKind,
  v: number,
  { next, schemaId, start, fragments }: Pick<TableHead, 'next' | 'schemaId' | 'start' | 'fragments'> = head,
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
    fragments,
    tags: head.tags,
    view: head.view,
  }
}

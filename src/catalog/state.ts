/**
 * The catalog state: what exists after a prefix of the log. Immutable; a newer state shares everything unchanged with
 * the older one.
 *
 * Its size depends on what exists, not on what happened. Of a table's past it has only the numbers of the existing
 * versions. Their records are in the history (manifest/history), and never change.
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
  /** Table name to uuid. */
  readonly tables: PersistentMap<string>
}

/**
 * `declared` until the first version decides the kind: `sheaf` (rows written by Sheaf), `lance` (a manifest staged by a
 * Lance engine), or `pointer` (any other path).
 */
type TableKind = 'declared' | 'sheaf' | 'lance' | 'pointer'

/** A table: its name, its kind, and the state of its newest version. */
export interface TableHead {
  readonly uuid: string
  readonly id: readonly string[]
  readonly kind: TableKind
  /** Folder of its files, relative to the root. */
  readonly location: string
  /**
   * Whether the caller chose the location: then its files are not ours to delete. A location that Sheaf chose is never
   * reused.
   */
  readonly external: boolean
  readonly props: Properties
  /** The highest version number ever used. */
  readonly mark: number
  /** The existing versions. */
  readonly live: Runs
  readonly next: Counters
  /** Id of the current schema; 0 before the first version. */
  readonly schemaId: number
  /** The version whose base the newest manifest is derived from; 0: derived from nothing. */
  readonly start: number
  /** Number of fragments of the newest version. */
  readonly fragments: number
  /** Tag name to version. */
  readonly tags: PersistentMap<number>
  /** Null if the table is not a view. */
  readonly view: ViewState | null
}

/** A materialized view: its definition, and the source version that its rows show. `src`: null before the first refresh. */
export interface ViewState {
  readonly definition: ViewDefinition
  readonly src: ShownSource | null
}

/** A location whose files must still be deleted. */
export interface Dropped {
  readonly uuid: string
  readonly slot: number
  /** When it was dropped, milliseconds since 1970. */
  readonly ts: number
}

/** A commit with an idempotency key. */
export interface KeyedCommit {
  readonly hash: string
  readonly slot: number
  readonly entry: number
}

/** A queued or running job. Its id is the transaction id of the commit that queued it. */
export interface Job extends OpenJob {
  /** Properties that callers set. */
  readonly props: Properties
}

/** What the state knows of a transaction in addition to its entry: how a job ended, and its properties. */
export interface TransactionNote {
  readonly status: TransactionStatus
  readonly props: Properties
  /** For a job. */
  readonly kind?: string
  readonly table?: string
  readonly reason?: string
}

/** Versions of a sheaf table that ceased to exist. */
export interface Expired {
  readonly slot: number
  readonly t: string
  readonly runs: Runs
}

/** The watermark of garbage collection. */
export interface SweepMark {
  /** Files created before this slot cannot be committed any more. */
  readonly floor: number
  /** When the watermark was last raised, milliseconds since 1970. */
  readonly ts: number
}

/** A checkpoint that the log names. */
export interface KeptCheckpoint {
  readonly name: string
  /** The slot that it holds the state of, and the later slot that names it. */
  readonly slot: number
  readonly at: number
}

/** Everything that exists in a root. See the head of this file. */
export interface CatalogState {
  readonly root: string
  /** By path key; includes the root namespace. */
  readonly namespaces: PersistentMap<NamespaceNode>
  /** By uuid. */
  readonly tables: PersistentMap<TableHead>
  /** Deregistered tables, by location. */
  readonly detached: PersistentMap<TableHead>
  /** Locations that callers chose, of attached and deregistered tables, to the table's uuid. */
  readonly external: PersistentMap<string>
  /** Views with automatic refresh, by uuid. */
  readonly following: PersistentMap<true>
  /** Locations of dropped tables whose files are not deleted yet. */
  readonly drops: PersistentMap<Dropped>
  readonly keys: Window<KeyedCommit>
  /** Open uploads by id, and recently ended ones. */
  readonly uploads: PersistentMap<Upload>
  readonly endedUploads: Window<EndedUpload>
  /** Open jobs, by id. */
  readonly jobs: PersistentMap<Job>
  /** Ended jobs and transactions with notes, by transaction id. */
  readonly notes: Window<TransactionNote>
  /** Failed index builds that nothing has replaced. */
  readonly failedBuilds: FailedBuilds
  /**
   * Versions that ceased to exist after slot `sweep.floor`, oldest first. Readers that began earlier may still read
   * them.
   */
  readonly expired: PersistentQueue<Expired>
  readonly sweep: SweepMark
  /** The two newest checkpoints, the older first. No file that they name may be deleted. */
  readonly checkpoints: readonly KeptCheckpoint[]
}

/**
 * Return a namespace path as a map key. Names have no control characters, so NUL separates them. A path with
 * such a name gets a key that no namespace has.
 */
export function pathKey(id: readonly string[]): string {
  return id.some(name => name.includes('\0')) ? '\0' : id.join('\0')
}

/** Return the newest existing version; undefined if there is none. */
export function latestOf(head: TableHead): number | undefined {
  return lastOf(head.live)
}

/** Return whether version number `v` is still unused. A number is used once; 0 only by a table's first version. */
export function isUnused(head: TableHead, v: number): boolean {
  return v > head.mark || (v === 0 && head.kind === 'declared')
}

const noTags = PersistentMap.empty<number>()
const noNames = PersistentMap.empty<true>()
const noTables = PersistentMap.empty<string>()
const noCounters: Counters = { row: 0, frag: 0, field: 0 }

/** Return the default location of a table's files. */
export function ownLocation(uuid: string): string {
  return `tables/${uuid}`
}

/** Create a declared table, without versions. */
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

/** Create a namespace, without contents. */
export function newNamespace(id: readonly string[], props: Properties): NamespaceNode {
  return { id, props, namespaces: noNames, tables: noTables }
}

/** Create the state of an empty root, with the root namespace only. `root`: the uuid of the root. */
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
 * Return `state` with other heads. Like `withVersion` it copies each field by name: V8 takes twenty times as long to
 * copy by spread, and these two functions run for every version of every commit.
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

/** Return `head` after version `v`. */
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

/** The interface of an open root, with the objects that handlers use. */
import type { CatalogCommit, CatalogCommitted, CatalogJobRunner } from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import type { ExternalLog } from '../commit/external-log.js'
import type { SlotReader } from '../commit/slots.js'
import type { History } from '../manifest/history.js'
import type { LanceLayouts } from '../manifest/lance-layouts.js'
import type { LanceManifests } from '../manifest/lance-manifests.js'
import type { LayoutStore } from '../manifest/layout-store.js'
import type { RecentChanges } from '../manifest/recent-changes.js'
import type { Activity } from '../primitives/activity.js'
import type { Clock } from '../primitives/clock.js'
import type { Tracing } from '../primitives/tracing.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { TableSource } from '../table/table-source.js'
import type { ColumnFunction } from '../write/functions.js'
import type { Holds } from '../write/holds.js'
import type { Pins } from '../write/pins.js'
import type { UnderWay } from '../write/under-way.js'
import type { SessionTokens } from './session-tokens.js'
import type { TableWriters } from './table-writers.js'

/** The log, as handlers see it. It is the log of the committer, or that of a snapshot, which does not change. */
export interface Root {
  readonly state: CatalogState
  /** The newest slot in `state`. */
  readonly head: number
  refresh(signal?: AbortSignal): Promise<CatalogState>
  /** Whether a refresh takes as long as a read of a file, because the log is in object storage. Default false. */
  readonly isFar?: boolean
  /** Milliseconds since `state` was certainly the newest one. Absent: callers must use `refresh`. */
  readonly ageMs?: number
  /** Returns whether the log certainly has a slot after `state`. Absent: other writers do not change the state. */
  readonly isBehind?: () => boolean
  /**
   * Return the newest state, if it is certain without waiting that no process has committed a newer one. Otherwise
   * return null. Absent: callers must use `refresh`.
   */
  current?(): CatalogState | null
  /** Commits an entry, like `Committer.commit`. */
  readonly commit: CatalogCommit
}

/** The versions of tables: their records, manifests and changes. */
export interface Versions {
  readonly slots: SlotReader
  readonly history: Pick<History, 'find' | 'range'>
  readonly layouts: Pick<LayoutStore, 'at' | 'schemaOf'> & Partial<Pick<LayoutStore, 'known'>>
  readonly recent: Pick<RecentChanges, 'between'>
  readonly lance: LanceManifests
  /** The manifests of Lance tables, in the form that queries use. */
  readonly lanceLayouts: LanceLayouts
  /**
   * Whether to record versions in the log that a Lance engine wrote. False in read-only roots, snapshots and
   * transactions.
   */
  readonly adopts: boolean
}

/** The readers and writers whose files garbage collection must keep. */
export interface Retained {
  readonly pins: Pins
  /** Pins of the uploads in parts that this process serves. */
  readonly uploads: Holds
  /** Pins of the read sessions that this process serves. */
  readonly sessions: Holds
  readonly tokens: SessionTokens
  /** The running writes of this process. */
  readonly underWay: UnderWay
}

/** An open root. Each handler receives it as its first argument. */
export interface Engine {
  /** Address of the root, from which `location` in replies is derived: an absolute path, or a `memory://` address. */
  readonly location: string
  readonly store: BlobStore
  /** The commit log, if it is not in the store. */
  readonly externalLog?: ExternalLog | undefined
  readonly clock: Clock
  readonly root: Root
  readonly versions: Versions
  /** Reads the files of tables. */
  readonly source: TableSource
  readonly writers: TableWriters
  readonly retained: Retained
  readonly jobs: CatalogJobRunner
  /** Notified of each commit of this process. Works in the background (maintenance/). */
  readonly maintenance: { afterCommit(committed: CatalogCommitted): void }
  /** The running calls and transactions of callers. */
  readonly running: { readonly calls: Activity; readonly transactions: Activity }
  /** Registered functions that compute columns. */
  readonly functions: readonly ColumnFunction[]
  /** Maximum age in milliseconds of the state that queries use if a refresh takes long. */
  readonly maxStalenessMs: number
  /** Maximum number of threads that build one index. */
  readonly buildThreads: number
  /** Reports a problem that ends no call. */
  readonly warn: (message: string, cause: unknown) => void
  /** Records spans of calls. Default: none are recorded. */
  readonly tracing?: Tracing | undefined
  /** Number of rows from which an index build is split into units. Infinity: it is never split. */
  readonly unitRows: number
}

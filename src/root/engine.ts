/** An opened root: the parts that handlers work on. */
import type { CatalogCommit, CatalogCommitted, CatalogJobRunner } from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import type { SlotReader } from '../commit/slots.js'
import type { History } from '../manifest/history.js'
import type { LanceManifests } from '../manifest/lance-manifests.js'
import type { LayoutStore } from '../manifest/layout-store.js'
import type { RecentChanges } from '../manifest/recent-changes.js'
import type { Activity } from '../primitives/activity.js'
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { TableSource } from '../table/table-source.js'
import type { ColumnFunction } from '../write/functions.js'
import type { Holds } from '../write/holds.js'
import type { Pins } from '../write/pins.js'
import type { UnderWay } from '../write/under-way.js'
import type { SessionTokens } from './session-tokens.js'
import type { TableWriters } from './table-writers.js'

/** The log as handlers see it: that of the committer, or a snapshot, which does not change. */
export interface Root {
  readonly state: CatalogState
  /** The newest slot in `state`. */
  readonly head: number
  refresh(signal?: AbortSignal): Promise<CatalogState>
  /** Commit, as `Committer.commit` does. */
  readonly commit: CatalogCommit
}

/** The versions of tables: their records, manifests and changes. */
export interface Versions {
  readonly slots: SlotReader
  readonly history: Pick<History, 'find' | 'range'>
  readonly layouts: Pick<LayoutStore, 'at' | 'schemaOf'> & Partial<Pick<LayoutStore, 'known'>>
  readonly recent: Pick<RecentChanges, 'between'>
  readonly lance: LanceManifests
  /** Whether to record versions that a Lance engine wrote directly. False in read-only roots, snapshots and transactions. */
  readonly adopts: boolean
}

/** The readers and writers whose files garbage collection must keep. */
export interface Retained {
  readonly pins: Pins
  /** Multipart uploads that this process serves. */
  readonly uploads: Holds
  /** Read sessions that this process serves, and the encryption of their tokens. */
  readonly sessions: Holds
  readonly tokens: SessionTokens
  /** Writing calls of this process that have not ended. */
  readonly underWay: UnderWay
}

/** The parts of an opened root. Handlers receive it as their first argument. */
export interface Engine {
  /** Address of the root, for `location` in answers: an absolute path, or `memory://`. */
  readonly location: string
  readonly store: BlobStore
  readonly clock: Clock
  readonly root: Root
  readonly versions: Versions
  /** Reads the files of tables. */
  readonly source: TableSource
  readonly writers: TableWriters
  readonly retained: Retained
  readonly jobs: CatalogJobRunner
  /** Notified of every commit; works in the background (maintenance/). */
  readonly maintenance: { afterCommit(committed: CatalogCommitted): void }
  /** The calls and the transactions of callers that have not ended. */
  readonly running: { readonly calls: Activity; readonly transactions: Activity }
  /** Functions that can fill columns. */
  readonly functions: readonly ColumnFunction[]
  /** Maximum number of threads that build one index. */
  readonly buildThreads: number
}

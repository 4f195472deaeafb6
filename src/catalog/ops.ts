/** What a commit does to the catalog, as it stands in a slot (docs/format.md). Plain data. */
import type { Json } from '../commit/machine.js'
import type { JobOp } from '../jobs/job-op.js'
import type { Change } from '../manifest/change.js'
import type { Runs } from '../manifest/runs.js'
import type { RegisterOp, TakenOp, VersionOp } from '../manifest/version.js'
import type { PartOp, UploadedOp, UploadOp } from './uploads.js'

export type Properties = Readonly<Record<string, string>>

/** Creates a namespace or replaces its properties; `props: null` drops it with everything below. */
export interface NamespaceOp {
  readonly op: 'namespace'
  readonly id: readonly string[]
  readonly props: Properties | null
}

/** A new table: a name, a fresh uuid, no version yet. */
export interface DeclareOp {
  readonly op: 'declare'
  readonly t: string
  readonly id: readonly string[]
  /** `tables/<t>`, or a folder the caller chose. */
  readonly location: string
  readonly props: Properties
}

/** A deregistered table is back, under this name and with these properties. */
export interface AttachOp {
  readonly op: 'attach'
  readonly t: string
  readonly location: string
  readonly id: readonly string[]
  readonly props: Properties
}

/** The name is gone; the table waits at its location to be attached again. */
export interface DeregisterOp {
  readonly op: 'deregister'
  readonly t: string
}

/** The table and its name are gone; a location of ours waits in the queue of drops. */
export interface DropOp {
  readonly op: 'drop'
  readonly t: string
}

/** The files at a dropped location are gone. */
export interface DroppedOp {
  readonly op: 'dropped'
  readonly location: string
}

/** The table has another name, perhaps in another namespace. */
export interface RenameOp {
  readonly op: 'rename'
  readonly t: string
  readonly id: readonly string[]
}

/** Properties of a table, merged by key. */
export interface PropsOp {
  readonly op: 'props'
  readonly t: string
  readonly set: Properties
}

/** The table is a materialized view from now on: its rows are made by refreshes alone. */
export interface ViewOp {
  readonly op: 'view'
  readonly t: string
  readonly definition: ViewDefinition
}

/** What the rows of a view show; in the entry that brings them. */
export interface ShowsOp {
  readonly op: 'shows'
  readonly t: string
  readonly src: ShownSource
}

/** What makes the rows of a view, as its creator gave it. */
export interface ViewDefinition {
  readonly kind: 'query' | 'udtf' | 'chunker'
  readonly source_query: string
  readonly udtf_spec?: Json
  readonly auto_refresh: boolean
  /** The table it is made of; null where the query is none that Sheaf runs. */
  readonly source: { readonly id: readonly string[]; readonly uuid: string } | null
}

/** A version of a table, whose row `n` is row `firstRow + n` of the view. */
export interface ShownSource {
  readonly uuid: string
  readonly version: number
  readonly firstRow: number
}

/** Points a tag at a version; `v: null` removes it. */
export interface TagOp {
  readonly op: 'tag'
  readonly t: string
  readonly name: string
  readonly v: number | null
}

/** Versions that no longer exist. */
export interface ExpireOp {
  readonly op: 'expire'
  readonly t: string
  readonly runs: Runs
}

/**
 * From now on no entry may bring a file that was born before slot `floor`, so that those which nothing refers to can be
 * deleted (STORAGE S7). Versions that ceased to exist up to that slot are forgotten.
 */
export interface SweepOp {
  readonly op: 'sweep'
  readonly floor: number
}

/**
 * A checkpoint counts: it was written on a state in which the checkpoints that count were the same as before this entry. The
 * two newest of these stay, with everything they name.
 */
export interface CheckpointOp {
  readonly op: 'checkpoint'
  /** The name of its file in `_ckpt/`. */
  readonly name: string
}

/** What readers of a checkpoint must know where the log names checkpoints. */
export const checkpointsFeature = 'checkpoints'

/** What readers of a checkpoint must know where versions expired or a floor was set. */
export const sweepFeature = 'sweep'

/** Notes on a transaction. */
export interface TxnOp {
  readonly op: 'txn'
  readonly id: string
  readonly set: Properties
  readonly unset: readonly string[]
}

export type CatalogOp =
  | NamespaceOp
  | DeclareOp
  | RegisterOp
  | AttachOp
  | DeregisterOp
  | DropOp
  | DroppedOp
  | RenameOp
  | PropsOp
  | TagOp
  | ViewOp
  | ShowsOp
  | ExpireOp
  | SweepOp
  | CheckpointOp
  | TxnOp
  | JobOp
  | UploadOp
  | PartOp
  | UploadedOp
  | VersionOp
  | TakenOp
  | Change

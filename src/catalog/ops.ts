/** The operations of transactions on the catalog, as stored in a slot (docs/format.md). Operations are plain data. */
import type { MovedOp } from '../commit/log-moves.js'
import type { Json } from '../commit/machine.js'
import type { JobOp } from '../jobs/job-op.js'
import type { Change } from '../manifest/change.js'
import type { Runs } from '../manifest/runs.js'
import type { RegisterOp, TakenOp, VersionOp } from '../manifest/version.js'
import type { PartOp, UploadedOp, UploadOp } from './uploads.js'

/** Properties of a namespace, table or transaction, by name. */
export type Properties = Readonly<Record<string, string>>

/** Creates a namespace, or replaces its properties. With `props: null`, drops the namespace and everything in it. */
export interface NamespaceOp {
  readonly op: 'namespace'
  readonly id: readonly string[]
  readonly props: Properties | null
}

/** Declares a table: gives a new table a name and a uuid. The table has no versions yet. */
export interface DeclareOp {
  readonly op: 'declare'
  readonly t: string
  readonly id: readonly string[]
  /** `tables/<t>`, or a folder that the caller chose. */
  readonly location: string
  readonly props: Properties
}

/** Attaches a deregistered table again, with the name `id` and these properties. */
export interface AttachOp {
  readonly op: 'attach'
  readonly t: string
  readonly location: string
  readonly id: readonly string[]
  readonly props: Properties
}

/** Deregisters a table: removes its name. The table can be attached again at its location. */
interface DeregisterOp {
  readonly op: 'deregister'
  readonly t: string
}

/** Drops a table and its name. If Sheaf chose the location, the location is queued for deletion. */
export interface DropOp {
  readonly op: 'drop'
  readonly t: string
}

/** Removes a location from the queue of drops, because its files were deleted. */
export interface DroppedOp {
  readonly op: 'dropped'
  readonly location: string
}

/** Renames a table. The new name may be in another namespace. */
export interface RenameOp {
  readonly op: 'rename'
  readonly t: string
  readonly id: readonly string[]
}

/** Merges properties into those of a table, by name. */
export interface PropsOp {
  readonly op: 'props'
  readonly t: string
  readonly set: Properties
}

/** Makes a table a materialized view. Afterwards only refreshes change its rows. */
export interface ViewOp {
  readonly op: 'view'
  readonly t: string
  readonly definition: ViewDefinition
}

/**
 * Sets the source version from which the rows of a view were computed. The operation is in the same entry as the change
 * of these rows.
 */
export interface ShowsOp {
  readonly op: 'shows'
  readonly t: string
  readonly src: ShownSource
}

/** The definition of a view, as the caller gave it. */
export interface ViewDefinition {
  readonly kind: 'query' | 'udtf' | 'chunker'
  readonly source_query: string
  readonly udtf_spec?: Json
  readonly auto_refresh: boolean
  /** The source table. Null if Sheaf cannot run the query. */
  readonly source: { readonly id: readonly string[]; readonly uuid: string } | null
}

/**
 * A version of the source table of a view. The source row with the id `n` becomes the view row with the id `firstRow +
 * n`.
 */
export interface ShownSource {
  readonly uuid: string
  readonly version: number
  readonly firstRow: number
}

/** Sets a tag to version `v`. With `v: null`, removes the tag. */
export interface TagOp {
  readonly op: 'tag'
  readonly t: string
  readonly name: string
  readonly v: number | null
}

/** Removes the versions `runs` of a table. */
export interface ExpireOp {
  readonly op: 'expire'
  readonly t: string
  readonly runs: Runs
}

/**
 * Raises the GC watermark to slot `floor`. Afterwards no entry may add a file with an older creation slot, so garbage
 * collection can delete older files to which nothing refers (STORAGE S7). Versions that expired up to this slot are
 * dropped from the state.
 */
export interface SweepOp {
  readonly op: 'sweep'
  readonly floor: number
}

/**
 * Names a checkpoint in the log, which makes it a counting checkpoint. The operation is not allowed if a slot after the
 * checkpoint's own slot already has an operation of this kind. The two newest recorded checkpoints are kept, with all files that they name.
 */
export interface CheckpointOp {
  readonly op: 'checkpoint'
  /** The name of the checkpoint file in `_ckpt/`. */
  readonly name: string
}

/**
 * The need feature that a checkpoint file has if the log has a `checkpoint` operation. A reader that does not support
 * it refuses the file.
 */
export const checkpointsFeature = 'checkpoints'

/** The need feature that a checkpoint file has if versions have expired or a GC watermark was set. */
export const sweepFeature = 'sweep'

/** Sets and removes properties of a transaction. */
export interface TxnOp {
  readonly op: 'txn'
  readonly id: string
  readonly set: Properties
  readonly unset: readonly string[]
}

/** Every operation that an entry of the log may have. */
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
  | MovedOp
  | TxnOp
  | JobOp
  | UploadOp
  | PartOp
  | UploadedOp
  | VersionOp
  | TakenOp
  | Change

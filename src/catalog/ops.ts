/** The operations of a commit on the catalog, as stored in a slot (docs/format.md). Plain data. */
import type { Json } from '../commit/machine.js'
import type { JobOp } from '../jobs/job-op.js'
import type { Change } from '../manifest/change.js'
import type { Runs } from '../manifest/runs.js'
import type { RegisterOp, TakenOp, VersionOp } from '../manifest/version.js'
import type { PartOp, UploadedOp, UploadOp } from './uploads.js'

/** Properties of a namespace, table or transaction, by name. */
export type Properties = Readonly<Record<string, string>>

/** Create a namespace or replace its properties. `props: null` drops the namespace and everything below it. */
export interface NamespaceOp {
  readonly op: 'namespace'
  readonly id: readonly string[]
  readonly props: Properties | null
}

/** Declare a table: a name and a fresh uuid, without versions. */
export interface DeclareOp {
  readonly op: 'declare'
  readonly t: string
  readonly id: readonly string[]
  /** `tables/<t>`, or a folder that the caller chose. */
  readonly location: string
  readonly props: Properties
}

/** Attach a deregistered table, under this name and with these properties. */
export interface AttachOp {
  readonly op: 'attach'
  readonly t: string
  readonly location: string
  readonly id: readonly string[]
  readonly props: Properties
}

/** Deregister a table: remove its name. The table can be attached again at its location. */
interface DeregisterOp {
  readonly op: 'deregister'
  readonly t: string
}

/** Drop a table and its name. A location that Sheaf chose is queued for deletion. */
export interface DropOp {
  readonly op: 'drop'
  readonly t: string
}

/** The files at a dropped location were deleted. */
export interface DroppedOp {
  readonly op: 'dropped'
  readonly location: string
}

/** Rename a table, possibly into another namespace. */
export interface RenameOp {
  readonly op: 'rename'
  readonly t: string
  readonly id: readonly string[]
}

/** Merge properties into those of a table, by key. */
export interface PropsOp {
  readonly op: 'props'
  readonly t: string
  readonly set: Properties
}

/** Make a table a materialized view: from now on only refreshes change its rows. */
export interface ViewOp {
  readonly op: 'view'
  readonly t: string
  readonly definition: ViewDefinition
}

/** Set the source version that the rows of a view show. In the same entry as these rows. */
export interface ShowsOp {
  readonly op: 'shows'
  readonly t: string
  readonly src: ShownSource
}

/** The definition of a view, as its creator gave it. */
export interface ViewDefinition {
  readonly kind: 'query' | 'udtf' | 'chunker'
  readonly source_query: string
  readonly udtf_spec?: Json
  readonly auto_refresh: boolean
  /** The source table; null if Sheaf cannot run the query. */
  readonly source: { readonly id: readonly string[]; readonly uuid: string } | null
}

/** A version of the source table. Its row `n` is row `firstRow + n` of the view. */
export interface ShownSource {
  readonly uuid: string
  readonly version: number
  readonly firstRow: number
}

/** Set a tag to a version; `v: null` removes the tag. */
export interface TagOp {
  readonly op: 'tag'
  readonly t: string
  readonly name: string
  readonly v: number | null
}

/** Remove versions. */
export interface ExpireOp {
  readonly op: 'expire'
  readonly t: string
  readonly runs: Runs
}

/**
 * Raise the watermark of garbage collection: from now on no entry may add a file that was created before slot `floor`,
 * so that unreferenced older files can be deleted (STORAGE S7). Versions that ceased to exist up to that slot are
 * dropped from the state.
 */
export interface SweepOp {
  readonly op: 'sweep'
  readonly floor: number
}

/**
 * Adopt a checkpoint. No other checkpoint may have been adopted since its state was taken.
 * The two newest adopted checkpoints are kept, with everything they name.
 */
export interface CheckpointOp {
  readonly op: 'checkpoint'
  /** The name of its file in `_ckpt/`. */
  readonly name: string
}

/** Need feature of a checkpoint file, set once the log has a `checkpoint` operation: a reader that does not know it refuses the file. */
export const checkpointsFeature = 'checkpoints'

/** Need feature of a checkpoint file, set once versions expired or a GC watermark was set. */
export const sweepFeature = 'sweep'

/** Change the properties of a transaction. */
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
  | TxnOp
  | JobOp
  | UploadOp
  | PartOp
  | UploadedOp
  | VersionOp
  | TakenOp
  | Change

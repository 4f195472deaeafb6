/** Options, progress and results of `verify`. */
import { signalShape } from '../protocol/calls.js'
import { boolean, callback, options } from '../protocol/shape.js'

/**
 * The kind of a problem: the damaged file or record.
 * - `slot`: a slot of the commit log. It cannot be rebuilt.
 * - `pack`: a file with needed slots that were moved out of the log.
 * - `checkpoint`, `page`, `layout`: a checkpoint, a history page, or the stored manifest of a version. It can be
 *   rebuilt while the log has the slots from which it was derived.
 * - `data`: a file with columns, row ids or offsets of deleted rows.
 * - `rows`: a version refers to rows that its files or its slot do not have.
 * - `index`: a file of an index, or the record of an index in a version. No row is lost. Drop the index and create it
 *   again.
 * - `manifest`: the manifest of a version whose rows are stored by a Lance engine.
 */
export type ProblemKind =
  | 'slot'
  | 'pack'
  | 'checkpoint'
  | 'page'
  | 'layout'
  | 'data'
  | 'rows'
  | 'index'
  | 'manifest'

/** A problem that a verification found. */
export interface Problem {
  readonly kind: ProblemKind
  /** Path of the damaged file, or of the folder of the table, relative to the root. */
  readonly path: string
  /** Description of the problem. */
  readonly what: string
  /** Whether `verify` with `repair` fixes the problem. */
  readonly repairable: boolean
}

/** Amount of data that a verification has checked. */
export interface Checked {
  /** Number of slots of the log. */
  slots: number
  /** Number of files that are not slots. */
  files: number
  /** Bytes of all slots and files together. */
  bytes: number
  tables: number
  versions: number
}

/** The result of a verification. */
export interface Verification {
  /** Whether the root has no problem, except for those that were repaired. */
  readonly ok: boolean
  /** Problems that were not repaired. */
  readonly problems: readonly Problem[]
  /** Problems that were repaired. */
  readonly repaired: readonly Problem[]
  /**
   * Sorted paths of unreferenced files. Unreferenced files are not checked. They come from interrupted or running
   * writes, wait for garbage collection, or were created by another program. Files in `_tmp/`, `_pins/` and `_jobs/`
   * are not listed.
   */
  readonly unreferenced: readonly string[]
  /** Amount of data that was checked. */
  readonly checked: Readonly<Checked>
}

/** Progress of a verification. */
export interface VerifyProgress {
  /** The part of the root that is being checked. */
  readonly phase: 'log' | 'history' | 'tables'
  /** Number of steps of the phase that are done. */
  readonly done: number
  /** Number of all steps of the phase. */
  readonly total: number
}

/** Options of `verify` and `Namespace.verify`. */
export interface VerifyOptions {
  /**
   * Whether to rebuild damaged files that can be derived from the log. Never changes the log or data files. Default
   * false.
   */
  readonly repair?: boolean
  /** Called after every few steps with the progress. Default: no callback. */
  readonly onProgress?: (progress: VerifyProgress) => void
  readonly signal?: AbortSignal | undefined
}

export const verifyShape = options<VerifyOptions>()({
  repair: boolean,
  onProgress: callback<(progress: VerifyProgress) => void>(),
  signal: signalShape,
})

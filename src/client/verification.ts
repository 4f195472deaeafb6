/** Options and results of `verify`. */
import { signalShape } from '../protocol/calls.js'
import { boolean, callback, options } from '../protocol/shape.js'

/**
 * The kind of file or record that is damaged:
 * - `slot`: a slot of the log; nothing can replace it;
 * - `pack`: slots that were moved out of the log, and are still needed;
 * - `checkpoint`, `page`, `layout`: stored catalog state, history, and manifests of versions. They can be rebuilt
 *   from the log while its slots exist;
 * - `data`: columns, row ids or offsets of deleted rows, in a file;
 * - `rows`: a version refers to rows that its files or its slot do not hold;
 * - `index`: a file of an index, or its record in a version. No row is lost: drop the index and create it again;
 * - `manifest`: manifest of a version whose rows a Lance engine stores.
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
  /** A path relative to the root: the damaged file, or the folder of the table. */
  readonly path: string
  /** Description of the problem. */
  readonly what: string
  /** Whether `verify` with `repair` fixes the problem. */
  readonly repairable: boolean
}

/** Counts of everything that a verification has checked. */
export interface Checked {
  /** Slots of the log. */
  slots: number
  /** Files outside the log. */
  files: number
  /** Bytes of slots and files. */
  bytes: number
  tables: number
  versions: number
}

/** The result of a verification. */
export interface Verification {
  /** Whether no problem remains. */
  readonly ok: boolean
  /** Problems that remain. */
  readonly problems: readonly Problem[]
  /** Problems that were repaired. */
  readonly repaired: readonly Problem[]
  /**
   * Unreferenced files, which were not checked, ascending. Interrupted or running writes left them, garbage
   * collection has not deleted them yet, or another program put them there. Without files of `_tmp/`, `_pins/` and
   * `_jobs/`.
   */
  readonly unreferenced: readonly string[]
  /** What was checked, in numbers. */
  readonly checked: Readonly<Checked>
}

/** Progress of a verification. */
export interface VerifyProgress {
  /** The part of the root that is being checked. */
  readonly phase: 'log' | 'history' | 'tables'
  /** Steps of the phase that are done. */
  readonly done: number
  /** All steps of the phase. */
  readonly total: number
}

/** Options of `verify` and `Namespace.verify`. */
export interface VerifyOptions {
  /**
   * Whether to rebuild damaged files that can be derived from the log. Never changes the log or data files. Default
   * false.
   */
  readonly repair?: boolean
  /** Called every few steps. */
  readonly onProgress?: (progress: VerifyProgress) => void
  readonly signal?: AbortSignal | undefined
}

export const verifyShape = options<VerifyOptions>()({
  repair: boolean,
  onProgress: callback<(progress: VerifyProgress) => void>(),
  signal: signalShape,
})

/** What `verify` takes and gives. */
import { signalShape } from '../protocol/calls.js'
import { boolean, callback, options } from '../protocol/shape.js'

/**
 * - `slot`: of the log; what nothing else can replace
 * - `pack`: slots that were taken out of the log, and are still needed
 * - `checkpoint`, `page`, `layout`: the state, the history and the layouts of versions, kept; made of the log, so they can be made
 *   again as long as the slots for it are there
 * - `data`: columns, row ids or offsets of dead rows, in a file
 * - `rows`: what a version says of its rows, which its files or its slot do not hold
 * - `index`: a file of an index, or what a version says of it; no row is lost: drop the index and create it anew
 * - `manifest`: of a version whose rows a Lance engine keeps
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

export interface Problem {
  readonly kind: ProblemKind
  /** A key of the root: the file in which it is, or the folder of the table. */
  readonly path: string
  readonly what: string
  /** Whether a verification that repairs sets it right. */
  readonly repairable: boolean
}

export interface Checked {
  /** In the log. */
  slots: number
  /** Apart from those of the log. */
  files: number
  /** Of both. */
  bytes: number
  tables: number
  versions: number
}

export interface Verification {
  /** Whether there are no problems, or none any more. */
  readonly ok: boolean
  /** Those that are left. */
  readonly problems: readonly Problem[]
  /** Those that were set right. */
  readonly repaired: readonly Problem[]
  /**
   * Keys of files that nothing of the root refers to, and that were therefore not checked: left by writes that were
   * interrupted or are under way, no longer needed and not collected yet, or put there by somebody else. Ascending. Files of
   * `_tmp/`, `_pins/` and `_jobs/` are not listed.
   */
  readonly unreferenced: readonly string[]
  readonly checked: Readonly<Checked>
}

export interface VerifyProgress {
  readonly phase: 'log' | 'history' | 'tables'
  readonly done: number
  readonly total: number
}

export interface VerifyOptions {
  /** Whether what can be made again from the log is, where it is damaged. Never touches the log or data. Default false. */
  readonly repair?: boolean
  /** Told of every few steps. */
  readonly onProgress?: (progress: VerifyProgress) => void
  readonly signal?: AbortSignal | undefined
}

export const verifyShape = options<VerifyOptions>()({
  repair: boolean,
  onProgress: callback<(progress: VerifyProgress) => void>(),
  signal: signalShape,
})

/** What a verification found, and what it did about it. */
import { ErrorCode, SheafError } from '../../errors.js'
import { signalShape } from '../../protocol/calls.js'
import { boolean, callback, options } from '../../protocol/shape.js'

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

export class Findings {
  problems: Problem[] = []
  readonly repaired: Problem[] = []
  checked: Checked = { ...nothing }
  unreferenced: string[] = []
  /** Keys of the files that were checked, or are missing. */
  #looked = new Set<string>()
  readonly #repairs: boolean
  readonly #onProgress: (progress: VerifyProgress) => void

  constructor({ repair = false, onProgress = () => {} }: VerifyOptions) {
    this.#repairs = repair
    this.#onProgress = onProgress
  }

  /** Forgets what was found, but for what was done about it. */
  startOver(): void {
    this.problems = []
    this.checked = { ...nothing }
    this.unreferenced = []
    this.#looked = new Set()
  }

  progress(phase: VerifyProgress['phase'], done: number, total: number): void {
    this.#onProgress({ phase, done, total })
  }

  /** Notes a problem; where it can be set right, and that is wanted, `repair` does. */
  async note(kind: ProblemKind, path: string, what: string, repair?: () => Promise<void>): Promise<void> {
    const problem = { kind, path, what, repairable: repair !== undefined }
    if (repair === undefined || !this.#repairs) {
      this.problems.push(problem)
      return
    }
    try {
      await repair()
      this.repaired.push(problem)
    } catch (error) {
      this.problems.push({ ...problem, what: `${what}; ${damageOf(error)}`, repairable: false })
    }
  }

  /** Counts a file that is checked; `bytes`: of it, 0 where it is missing. */
  file(key: string, bytes: number): void {
    if (this.#looked.has(key)) return
    this.#looked.add(key)
    this.checked.files++
    this.checked.bytes += bytes
  }

  /** The same for a slot in the log. */
  slot(key: string, bytes: number): void {
    this.#looked.add(key)
    this.checked.slots++
    this.checked.bytes += bytes
  }

  /** Whether a file was checked. */
  hasLookedAt(key: string): boolean {
    return this.#looked.has(key)
  }

  result(): Verification {
    const { problems, repaired, unreferenced, checked } = this
    return { ok: problems.length === 0, problems, repaired, unreferenced, checked }
  }
}

const nothing: Checked = { slots: 0, files: 0, bytes: 0, tables: 0, versions: 0 }

/** What is wrong with bytes that could not be read. Throws on what says nothing of them. */
export function damageOf(error: unknown): string {
  if (error instanceof SheafError && error.code === ErrorCode.Internal) return error.message
  throw error
}

/** The results of a verification: problems, repaired problems, and the numbers of checked files. */
import type {
  Checked,
  Problem,
  ProblemKind,
  Verification,
  VerifyOptions,
  VerifyProgress,
} from '../client/verification.js'
import { ErrorCode, SheafError } from '../errors.js'

export class Findings {
  problems: Problem[] = []
  readonly repaired: Problem[] = []
  checked: Checked = { ...nothing }
  unreferenced: string[] = []
  /** Keys of the files that were checked or are missing. */
  #looked = new Set<string>()
  readonly #repairs: boolean
  readonly #onProgress: (progress: VerifyProgress) => void

  constructor({ repair = false, onProgress = () => {} }: VerifyOptions) {
    this.#repairs = repair
    this.#onProgress = onProgress
  }

  /** Remove all results except the repaired problems, because the verification starts again. */
  startOver(): void {
    this.problems = []
    this.checked = { ...nothing }
    this.unreferenced = []
    this.#looked = new Set()
  }

  progress(phase: VerifyProgress['phase'], done: number, total: number): void {
    this.#onProgress({ phase, done, total })
  }

  /**
   * Add a problem. `repair`: repairs the problem; it is called only if the caller requested repairs. Undefined: not
   * repairable.
   */
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

  /** Count a checked file. `bytes`: size of the file; 0 if it is missing. */
  file(key: string, bytes: number): void {
    if (this.#looked.has(key)) return
    this.#looked.add(key)
    this.checked.files++
    this.checked.bytes += bytes
  }

  /** Count a checked slot of the log. */
  slot(key: string, bytes: number): void {
    this.#looked.add(key)
    this.checked.slots++
    this.checked.bytes += bytes
  }

  /** Return whether a file was checked, or was reported as missing. */
  hasLookedAt(key: string): boolean {
    return this.#looked.has(key)
  }

  result(): Verification {
    const { problems, repaired, unreferenced, checked } = this
    return { ok: problems.length === 0, problems, repaired, unreferenced, checked }
  }
}

const nothing: Checked = { slots: 0, files: 0, bytes: 0, tables: 0, versions: 0 }

/** Return the description of the damage from an `Internal` error. Throws `error` again if it is another error. */
export function damageOf(error: unknown): string {
  if (error instanceof SheafError && error.code === ErrorCode.Internal) return error.message
  throw error
}

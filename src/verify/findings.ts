/** What a verification has found so far, and what it did about it. */
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

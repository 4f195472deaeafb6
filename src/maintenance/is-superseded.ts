/** Recognizes errors of work on a table that commits of others have superseded. */
import { ErrorCode, SheafError } from '../errors.js'

const codes: readonly ErrorCode[] = [
  ErrorCode.TableVersionNotFound,
  ErrorCode.TableNotFound,
  ErrorCode.ConcurrentModification,
]

/** Return whether `error` says that the table or version no longer exists, or that files passed the GC watermark before their commit. */
export function isSuperseded(error: unknown): boolean {
  return error instanceof SheafError && codes.includes(error.code)
}

/** Recognizes errors of maintenance work that commits of other writers have made useless. */
import { ErrorCode, SheafError } from '../errors.js'

const codes: readonly ErrorCode[] = [
  ErrorCode.TableVersionNotFound,
  ErrorCode.TableNotFound,
  ErrorCode.ConcurrentModification,
]

/**
 * Return whether `error` means that the table or version no longer exists, or that the commit conflicts with other
 * commits. This includes files that are older than the GC watermark.
 */
export function isSuperseded(error: unknown): boolean {
  return error instanceof SheafError && codes.includes(error.code)
}

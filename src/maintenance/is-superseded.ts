/** Work on a table that others have overtaken. */
import { ErrorCode, SheafError } from '../errors.js'

const codes: readonly ErrorCode[] = [
  ErrorCode.TableVersionNotFound,
  ErrorCode.TableNotFound,
  ErrorCode.ConcurrentModification,
]

/** Whether `error` says that what was looked at is no more, or that files were given up for lost before they were committed. */
export function isSuperseded(error: unknown): boolean {
  return error instanceof SheafError && codes.includes(error.code)
}

/** Checks the path of a root. */
import { invalidInput, quote } from '../errors.js'

/** Throws `InvalidInput` unless `path` is a non-empty string without NUL. */
export function checkRootPath(path: unknown): asserts path is string {
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return
  throw invalidInput(`path must be the path of a directory, or 'memory://', got ${quote(path)}`)
}

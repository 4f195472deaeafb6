/** The path of a root as callers give it. */
import { invalidInput, quote } from '../errors.js'

/** Throws code 13 for what can be no path. */
export function checkRootPath(path: unknown): asserts path is string {
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return
  throw invalidInput(`path must be a directory or memory://, got ${quote(path)}`)
}

/** Paths of data outside of the project. No other file knows where they are. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

const root = resolve(process.env.SHEAF_DATA ?? '../shared/data')

/** Return the path of a data file, or null if it is not on this machine (a test then reports this and is skipped). */
export function dataPath(...parts: string[]): string | null {
  const path = resolve(root, ...parts)
  return existsSync(path) ? path : null
}

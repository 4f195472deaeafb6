/** Finds data sets that are not part of the project. Only this file knows their folder. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

const root = resolve(process.env.SHEAF_DATA ?? '../shared/data')

/**
 * Return the path of a data file or folder. Returns null if it does not exist on this machine: then tests that need it
 * are skipped and say so.
 */
export function dataPath(...parts: string[]): string | null {
  const path = resolve(root, ...parts)
  return existsSync(path) ? path : null
}

/** The one place that knows where data outside the project lies. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

const root = resolve(process.env.SHEAF_DATA ?? '../shared/data')

/** Path of a data file, or null when it is not on this machine (a test then says so and skips). */
export function dataPath(...parts: string[]): string | null {
  const path = resolve(root, ...parts)
  return existsSync(path) ? path : null
}

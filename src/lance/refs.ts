/** Reads tags and branches of a Lance table: JSON files in its folder `_refs`. */
import { invalidInput } from '../errors.js'

/** A tag of a Lance table. `branch`: the branch with the version; null for the main branch. */
export interface LanceTag {
  readonly version: number
  readonly branch: string | null
}

/** Read the file of a tag. `name`: the name of the file, for errors. */
export function readLanceTag(bytes: Uint8Array, name: string): LanceTag {
  let content: unknown
  try {
    content = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw invalidInput(`${name} is not the file of a Lance tag`, { cause })
  }
  const { version, branch } = (content ?? {}) as { readonly version?: unknown; readonly branch?: unknown }
  const isBranch = branch === undefined || branch === null || typeof branch === 'string'
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 0 || !isBranch) {
    throw invalidInput(`${name} is not the file of a Lance tag: it has no version`)
  }
  return { version, branch: branch === undefined || branch === 'main' ? null : branch }
}

/** Return the name of the tag or branch with a file name; null for other files. */
export function refName(path: string): string | null {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (!name.endsWith('.json')) return null
  return name.slice(0, -'.json'.length).replaceAll('%2F', '/')
}

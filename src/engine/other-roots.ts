/** Detects other roots that contain a location or lie below it. Databases may be nested. */
import { invalidInput, quote } from '../errors.js'
import type { BlobStore } from '../storage/blob-store.js'

/**
 * Check that a table location is not inside another root and does not contain one, because dropping the table would
 * delete files of that root. A root is recognized by its log. Throws `InvalidInput`.
 */
export async function checkOtherRoots(
  store: BlobStore,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const names = folder.split('/')
  for (let depth = 1; depth <= names.length; depth++) {
    const prefix = names.slice(0, depth).join('/')
    for await (const _ of store.list(`${prefix}/_log/`, undefined, signal)) throw otherRoot(folder, prefix)
  }
  for await (const { key } of store.list(`${folder}/`, undefined, signal)) {
    const at = key.indexOf('/_log/')
    if (at !== -1) throw otherRoot(folder, key.slice(0, at))
  }
}

function otherRoot(folder: string, root: string) {
  return invalidInput(
    `location ${quote(folder)} is inside another database or contains one: ${quote(root)}`,
    {
      hint: 'leave location out, or choose another folder of the root',
    },
  )
}

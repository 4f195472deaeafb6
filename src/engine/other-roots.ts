/** Roots below a root: databases may lie below one another. */
import { invalidInput, quote } from '../errors.js'
import type { BlobStore } from '../storage/blob-store.js'

/**
 * Refuses (code 13) a location that a caller chose for a table, where it lies in or around another root: that root would lose its files when the table is
 * dropped. Every root has a log.
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
  return invalidInput(`location ${quote(folder)} lies in or around another database: ${quote(root)}`, {
    hint: 'leave location out, or choose another folder of the root',
  })
}

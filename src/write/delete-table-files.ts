/** Deletes the files of a table that was dropped. */
import type { BlobStore } from '../storage/blob-store.js'
import { deleteIfPossible } from '../storage/delete-if-possible.js'

/** The folders that Sheaf and Lance engines make for a table. */
const folders = [
  'data',
  'dead',
  'rows',
  'indexes',
  '_versions',
  '_indices',
  '_deletions',
  '_transactions',
  '_refs',
  'tree',
]

/**
 * Deletes what Sheaf and Lance engines keep at `location`, and nothing else that may have got there. Can be begun again
 * at any point. Whether all is gone: what cannot be deleted now is passed over.
 */
export async function deleteTableFiles(store: BlobStore, location: string): Promise<boolean> {
  let isGone = true
  for (const folder of folders) {
    const keys: string[] = []
    for await (const { key } of store.list(`${location}/${folder}/`)) keys.push(key)
    for (const key of keys) isGone = (await deleteIfPossible(store, key)) && isGone
  }
  return isGone
}

/** Deletes the files of a table that was dropped. */
import type { BlobStore } from '../storage/blob-store.js'
import { deleteIfPossible } from '../storage/delete-if-possible.js'

/** Names of the folders that Sheaf and engines of Lance create in the folder of a table. */
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
 * Delete the files that Sheaf and engines of Lance created in the table's folder `location`. Other files stay. Files
 * that cannot be deleted now are skipped. Returns whether all files were deleted. The call can be repeated after a
 * failure.
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

/** Deletes the files of a table that was dropped. */
import type { BlobStore } from '../storage/blob-store.js'
import { deleteIfPossible } from '../storage/delete-if-possible.js'

/** The folders that Sheaf and Lance engines create in a table's folder. */
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
 * Delete the files of Sheaf and Lance engines at `location`, and no others. Safe to repeat after any failure. Returns
 * whether all are deleted; skips files that cannot be deleted now.
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

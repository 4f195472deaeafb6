/** Deletes the files of a table that was dropped. */
import type { BlobStore } from '../storage/blob-store.js'

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
 * at any point.
 */
export async function deleteTableFiles(store: BlobStore, location: string): Promise<void> {
  for (const folder of folders) {
    const keys: string[] = []
    for await (const { key } of store.list(`${location}/${folder}/`)) keys.push(key)
    for (const key of keys) await store.delete(key)
  }
}

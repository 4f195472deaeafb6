/** Lists keys. Asking a disk for the size and age of each blob takes longer than listing their names. */
import type { BlobStore } from './blob-store.js'

/** Return the keys that start with `prefix` and come after `startAfter`, in byte order. */
export async function keysOf(
  store: BlobStore,
  prefix: string,
  startAfter?: string,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  if (store.listKeys !== undefined) return store.listKeys(prefix, startAfter, signal)
  const keys: string[] = []
  for await (const { key } of store.list(prefix, startAfter, signal)) keys.push(key)
  return keys
}

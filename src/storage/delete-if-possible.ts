/** Deletes what may be in use: Windows refuses to delete a file that somebody has open, a virus scanner for one. */
import type { BlobStore } from './blob-store.js'

/** Whether a blob is gone now; false: the store refuses for now to delete it. Rejects with `signal.reason` only. */
export async function deleteIfPossible(
  store: BlobStore,
  key: string,
  signal?: AbortSignal,
): Promise<boolean> {
  try {
    await store.delete(key, signal)
    return true
  } catch {
    signal?.throwIfAborted()
    return false
  }
}

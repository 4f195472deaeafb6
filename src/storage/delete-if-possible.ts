/**
 * Deletes files that may be in use. Windows refuses to delete a file that another process has open, for example a virus
 * scanner.
 */
import type { BlobStore } from './blob-store.js'

/** Delete a blob. Returns false if the store cannot delete it at the moment. Rejects only with `signal.reason`. */
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

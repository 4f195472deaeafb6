/** Opens the log of a root in its files. */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import { newestMove, refuseOldLog } from './log-moves.js'
import { TailedLog } from './tailed-log.js'

interface FileLog {
  readonly log: TailedLog
  /** The bytes of slot 0. They may be damaged, or a pointer (external-log.ts). Null: there is no slot 0. */
  readonly first: Uint8Array | null
}

/**
 * Open the log in the files of a root, and read its slot 0. Throws `InvalidInput` if the log was moved to a database.
 */
export async function openFileLog(
  store: BlobStore,
  options: { readonly clock: Clock; readonly readOnly: boolean },
  signal?: AbortSignal,
): Promise<FileLog> {
  const log = new TailedLog(store, options)
  // Both at the same time, because each is a request in object storage.
  const [first, move] = await Promise.all([log.read(0, signal), newestMove(store, signal)])
  if (move === null) return { log, first }
  if (move.log !== null) throw refuseOldLog(move, store.name, null)
  return { log: new TailedLog(store, { ...options, first: move.bytes }), first: move.bytes }
}

/**
 * Heartbeats show that a process is still running. At intervals, the process writes a new blob and deletes the previous
 * one. The key of the blob is
 *
 *     <owner>-<counter>
 *
 * - `owner`: a key that only one process uses. The counter only increases, so no key is written twice.
 * - To decide whether the owner is alive, another process reads the newest heartbeat. If its content identifies the
 *   process of the owner, the other process checks whether that process is alive (storage/processes). Otherwise it
 *   measures how long no new heartbeat appears (storage/stillness).
 */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from './blob-store.js'
import { deleteIfPossible } from './delete-if-possible.js'
import { isStillnessRecord } from './stillness.js'

const pattern = /^(.+)-(\d{1,15})$/

interface HeartbeatOptions {
  readonly owner: string
  /** The counter of the first heartbeat. If it is above 0, the caller has already written the heartbeat before it. */
  readonly from: number
  /** Time until the first heartbeat, in milliseconds. */
  readonly firstMs: number
  /** Time between later heartbeats, in milliseconds. */
  readonly everyMs: number
  content(): Uint8Array
}

interface ListOptions {
  readonly signal?: AbortSignal | undefined
  readonly isSkipped?: (owner: string) => boolean
}

/** The heartbeats of one owner that a listing found. */
export interface OwnerHeartbeats {
  readonly owner: string
  readonly counter: number
  /** The key of the newest heartbeat. */
  readonly key: string
  /** The keys of all heartbeats of the owner. */
  readonly keys: readonly string[]
}

/** Return the key of a heartbeat. */
export function heartbeatKey(owner: string, counter: number): string {
  return `${owner}-${counter}`
}

/** Write heartbeats until `signal` fires, then delete them. Never rejects. */
export async function keepHeartbeat(
  store: BlobStore,
  clock: Clock,
  { owner, from, firstMs, everyMs, content }: HeartbeatOptions,
  signal: AbortSignal,
): Promise<void> {
  const written = from === 0 ? [] : [heartbeatKey(owner, from - 1)]
  for (let counter = from; ; counter++) {
    await clock.sleep(counter === from ? firstMs : everyMs, signal).catch(() => {})
    if (signal.aborted) break
    const key = heartbeatKey(owner, counter)
    written.push(key)
    try {
      await store.put(key, content(), signal)
      while (written.length > 1) {
        await store.delete(written[0]!, signal)
        written.shift()
      }
    } catch {
      // Ignore the error: the next heartbeat may succeed.
    }
  }
  for (const key of written) await deleteIfPossible(store, key)
}

/**
 * List the heartbeats whose keys begin with `prefix`, grouped by owner. Also return the keys of stillness records in
 * the same folder. Skips blobs of more than `bytesMax` bytes, and owners for which `isSkipped` returns true.
 */
export async function listHeartbeats(
  store: BlobStore,
  prefix: string,
  bytesMax: number,
  { signal, isSkipped = () => false }: ListOptions = {},
): Promise<{ readonly heartbeats: readonly OwnerHeartbeats[]; readonly records: readonly string[] }> {
  const owners = new Map<string, OwnerHeartbeats>()
  const records: string[] = []
  for await (const { key, size } of store.list(prefix, undefined, signal)) {
    const [, owner, digits] = pattern.exec(key) ?? []
    if (owner === undefined) {
      if (isStillnessRecord(key)) records.push(key)
      continue
    }
    if (size > bytesMax || isSkipped(owner)) continue
    const before = owners.get(owner)
    const counter = Number(digits)
    const newest = before !== undefined && before.counter > counter ? before : { counter, key }
    owners.set(owner, {
      owner,
      counter: newest.counter,
      key: newest.key,
      keys: [...(before?.keys ?? []), key],
    })
  }
  return { heartbeats: [...owners.values()], records }
}

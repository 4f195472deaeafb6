/**
 * Heartbeats show that a process still runs. The process writes a blob at intervals and deletes the one before:
 *
 *     <owner>-<counter>
 *
 * - `owner` is a key that belongs to one process. The counter only grows, so no key is written twice.
 * - Other processes judge a heartbeat by the process that its content names (storage/processes), or by how long it stays
 *   the newest of its owner (storage/stillness).
 */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from './blob-store.js'
import { deleteIfPossible } from './delete-if-possible.js'
import { isStillnessRecord } from './stillness.js'

const pattern = /^(.+)-(\d{1,15})$/

interface HeartbeatOptions {
  readonly owner: string
  /** Counter of the first heartbeat. The caller has written the heartbeat before it, if there is one. */
  readonly from: number
  /** Time until the first heartbeat, milliseconds. */
  readonly firstMs: number
  /** Interval of the other heartbeats, milliseconds. */
  readonly everyMs: number
  content(): Uint8Array
}

interface ListOptions {
  readonly signal?: AbortSignal | undefined
  readonly isSkipped?: (owner: string) => boolean
}

/** The heartbeats of one owner, as listed. */
export interface OwnerHeartbeats {
  readonly owner: string
  readonly counter: number
  /** Key of the newest heartbeat. */
  readonly key: string
  /** Keys of all heartbeats of the owner. */
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
      // The next heartbeat may succeed.
    }
  }
  for (const key of written) await deleteIfPossible(store, key)
}

/**
 * List the heartbeats whose keys begin with `prefix` by owner, and the keys of the stillness records beside them. Skips
 * blobs of more than `bytesMax` bytes, and owners for which `isSkipped` returns true.
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

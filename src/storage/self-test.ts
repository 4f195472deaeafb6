/**
 * Tests that a store rejects a second conditional write. Every root needs this guarantee, but some servers accept the
 * write silently.
 */
import { ErrorCode, SheafError, unsupported } from '../errors.js'
import type { Clock } from '../primitives/clock.js'
import { Ambiguous, type BlobStore } from './blob-store.js'

/** Names of the stores that passed in this process. */
const passed = new Set<string>()

/**
 * Test with a probe key, deleted afterwards, that `store` rejects a second `putIfAbsent` and keeps the first content.
 * Runs once per process and store name. Throws `Unsupported` for a store that fails, and `ServiceUnavailable` for a
 * store that does not answer.
 */
export async function selfTest(store: BlobStore, clock: Clock, signal?: AbortSignal): Promise<void> {
  if (passed.has(store.name)) return
  const key = `_probe-${clock.uuid()}`
  try {
    const first = await store.putIfAbsent(key, Uint8Array.of(1), signal)
    const second = await store.putIfAbsent(key, Uint8Array.of(2), signal)
    const kept = await store.get(key, signal)
    if (first !== 'won' || second !== 'taken' || kept?.length !== 1 || kept[0] !== 1) {
      throw unsupported(
        `${store.name} cannot hold a root: it let a second conditional write replace the first`,
      )
    }
  } catch (error) {
    if (!(error instanceof Ambiguous)) throw error
    throw new SheafError(ErrorCode.ServiceUnavailable, `${store.name} did not answer its self-test`, {
      cause: error,
    })
  } finally {
    await store.delete(key)
  }
  passed.add(store.name)
}

/**
 * Tests that a store refuses to write a key twice. Every root needs this guarantee, but some servers silently replace
 * the first content.
 */
import { ErrorCode, SheafError, unsupported } from '../errors.js'
import type { Clock } from '../primitives/clock.js'
import { Ambiguous, type BlobStore } from './blob-store.js'

/** The names of the stores that passed the test in this process. */
const passed = new Set<string>()

/**
 * Test that a second `putIfAbsent` to the same key returns `taken` and keeps the first content. Uses a test key, which
 * is deleted afterwards. Runs once per process and store name. Throws `Unsupported` if the store fails the test, and
 * `ServiceUnavailable` if the store does not report the outcome of a write.
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
        `${store.name} cannot store a root, because a second conditional write to a key replaced the first`,
      )
    }
  } catch (error) {
    if (!(error instanceof Ambiguous)) throw error
    throw new SheafError(
      ErrorCode.ServiceUnavailable,
      `${store.name} did not report the outcome of a test write`,
      {
        cause: error,
      },
    )
  } finally {
    await store.delete(key)
  }
  passed.add(store.name)
}

/** Watches a root for commits of any process. */
import type { Clock } from '../primitives/clock.js'
import type { Root } from '../root/engine.js'

/** Interval between polls of the log, milliseconds. A poll takes two microseconds on a local disk. */
const pollMs = 50

/**
 * Yield the current newest slot, and again after each change. Several commits between two polls give one value. Throws
 * `signal.reason` if the signal aborts.
 */
export async function* watchRoot(
  root: Root,
  clock: Clock,
  signal: AbortSignal | undefined,
): AsyncGenerator<number> {
  for (let seen = -1; ; await clock.sleep(pollMs, signal, true)) {
    await root.refresh(signal)
    if (root.head === seen) continue
    seen = root.head
    yield seen
  }
}

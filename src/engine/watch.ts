/** Watches a root for commits by any process. */
import type { Clock } from '../primitives/clock.js'
import type { Root } from '../root/engine.js'

/** Milliseconds between polls. A poll takes two microseconds on a local disk. */
const pollMs = 50

/**
 * Yield the newest slot, first the current one, then each time it has changed. Several commits between two polls are
 * one event. Throws `signal.reason`.
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

/** Waiting for commits, whoever makes them. */
import type { Clock } from '../primitives/clock.js'
import type { Root } from '../root/engine.js'

/** Between two looks: two microseconds on a local disk. */
const pollMs = 50

/**
 * The newest slot, each time it is another than before: the current one at once. Ends with `signal.reason`. Several commits
 * between two looks are one event.
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

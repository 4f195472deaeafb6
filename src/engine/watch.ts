/** Watches a root for commits of any process. */
import { within } from '../primitives/abort.js'
import type { Engine } from '../root/engine.js'

/** Interval between polls of the log, milliseconds. A poll takes two microseconds on a local disk. */
const pollMs = 50
/** The interval if the log notifies. A poll finds what a lost notification was about. */
const notifiedPollMs = 1000

/**
 * Yield the current newest slot, and again after each change. Several commits between two polls give one value. Throws
 * `signal.reason` if the signal aborts.
 */
export async function* watchRoot(
  { root, clock, externalLog }: Pick<Engine, 'root' | 'clock' | 'externalLog'>,
  signal: AbortSignal | undefined,
): AsyncGenerator<number> {
  let wake = () => {}
  const stop = externalLog?.watch?.(() => wake())
  const restMs = stop === undefined ? pollMs : notifiedPollMs
  try {
    for (let seen = -1; ; ) {
      // A notification during the refresh may be about a slot that the refresh does not read.
      const woken = new Promise<void>(resolve => {
        wake = resolve
      })
      await root.refresh(signal)
      if (root.head !== seen) {
        seen = root.head
        yield seen
      }
      await within(clock, restMs, woken, signal)
    }
  } finally {
    stop?.()
  }
}

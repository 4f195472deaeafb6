/** Watches a root for commits of any process. */
import { orAborted, within } from '../primitives/abort.js'
import type { Engine, Root } from '../root/engine.js'

/** Interval between two looks at the state, in milliseconds. On a local disk, each look also reads the log in microseconds. */
const lookMs = 50
/** Maximum interval between two polls of a log whose reads take a request, in milliseconds. */
const pollMsMax = 30_000
/** The interval between two polls is at most this part of the time since the last change. */
const idlePart = 1 / 4

/** The running polls of far logs. Several watchers of a root share one poll. */
const polls = new WeakMap<Root, Promise<unknown>>()

/**
 * Yield the current newest slot, and again after each change. Several commits between two looks give one value. Throws
 * `signal.reason` if the signal aborts.
 *
 * If each read of the log is a request, the log is polled less and less often while nothing changes. So an idle process
 * makes few requests. Commits and reads of this process are seen at once, and postpone the next poll.
 */
export async function* watchRoot(
  { root, clock, externalLog }: Pick<Engine, 'root' | 'clock' | 'externalLog'>,
  signal: AbortSignal | undefined,
): AsyncGenerator<number> {
  let isNotified = false
  let wake = () => {}
  const stop = externalLog?.watch?.(() => {
    isNotified = true
    wake()
  })
  try {
    let changedAt = clock.elapsed()
    for (let seen = -1; ; ) {
      // A notification during the refresh may be about a slot that the refresh does not read.
      const woken = new Promise<void>(resolve => {
        wake = resolve
      })
      const idleMs = clock.elapsed() - changedAt
      const mayPollAt = Math.min(Math.max(lookMs, idleMs * idlePart), pollMsMax)
      if (root.isFar !== true || seen === -1 || isNotified) {
        isNotified = false
        await root.refresh(signal)
      } else if ((root.ageMs ?? 0) >= mayPollAt) await poll(root, signal)
      if (root.head !== seen) {
        seen = root.head
        changedAt = clock.elapsed()
        yield seen
      }
      await within(clock, lookMs, woken, signal)
    }
  } finally {
    stop?.()
  }
}

/** Refresh the state, together with the other watchers of the root that do it now. */
async function poll(root: Root, signal: AbortSignal | undefined): Promise<void> {
  let running = polls.get(root)
  if (running === undefined) {
    running = root.refresh().finally(() => polls.delete(root))
    polls.set(root, running)
  }
  await orAborted(running, signal)
}

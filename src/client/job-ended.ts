/** Waits for a job, over any transport. */
import { ErrorCode, quote, SheafError } from '../errors.js'
import { systemClock } from '../primitives/clock.js'
import type { CallOptions, Operations } from '../protocol/calls.js'

/** Minimum and maximum time between polls, in milliseconds. */
const pollMinMs = 2
const pollMaxMs = 1000
/** Wait before the next poll, as a fraction of the time since the call began. So long jobs are polled less often. */
const pollFraction = 1 / 8

/** Wait until the job has succeeded. Throws `InvalidTableState` with the reason if the job failed or was canceled. */
export async function jobEnded(operations: Operations, id: string, call: CallOptions): Promise<void> {
  // Leave out the idempotency key: it applies to the call that queued the job.
  const { idempotencyKey: _, ...options } = call
  for await (const _ of pauses(options.signal)) {
    const { status, properties = {} } = await operations.describeTransaction({ id: [id] }, options)
    if (status === 'Succeeded') return
    if (status === 'Failed' || status === 'Canceled') {
      const reason = properties.reason === undefined ? '' : `: ${properties.reason}`
      const message = `job ${quote(id)} has ended as ${status}${reason}`
      throw new SheafError(ErrorCode.InvalidTableState, message)
    }
  }
}

/** Yield immediately, and then at each time for a poll. Throws `signal.reason` when the signal aborts. */
export async function* pauses(signal: AbortSignal | undefined): AsyncGenerator<void> {
  const began = systemClock.elapsed()
  for (;;) {
    yield
    const ms = (systemClock.elapsed() - began) * pollFraction
    await systemClock.sleep(Math.min(pollMaxMs, Math.max(pollMinMs, ms)), signal, true)
  }
}

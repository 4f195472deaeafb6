/** Waits for a job, over any door. */
import { ErrorCode, quote, SheafError } from '../errors.js'
import { systemClock } from '../primitives/clock.js'
import type { CallOptions, Operations } from '../protocol/calls.js'

/** Between two questions, milliseconds: */
const askedMinMs = 2
const askedMaxMs = 1000
/** this part of how long it has been, so that an end is known soon for what it took. */
const askedPart = 1 / 8

/** Returns when the job has succeeded; throws code 19 with the reason when it has failed or was canceled. */
export async function jobEnded(operations: Operations, id: string, call: CallOptions): Promise<void> {
  // The key names the call that queued the job.
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

/** Yields when it is time to ask again, at once for the first time. Throws `signal.reason`. */
export async function* pauses(signal: AbortSignal | undefined): AsyncGenerator<void> {
  const began = systemClock.elapsed()
  for (;;) {
    yield
    const ms = (systemClock.elapsed() - began) * askedPart
    await systemClock.sleep(Math.min(askedMaxMs, Math.max(askedMinMs, ms)), signal, true)
  }
}

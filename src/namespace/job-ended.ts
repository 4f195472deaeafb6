/** Waits for a job, over any door. */
import { ErrorCode, quote, SheafError } from '../errors.js'
import { systemClock } from '../primitives/clock.js'
import type { CallOptions, Operations } from '../protocol/calls.js'

/** Between two questions: short at first, since most jobs are, milliseconds. */
const askedFirstMs = 2
const askedMostMs = 1000

/** Returns when the job has succeeded; throws code 19 with the reason when it has failed or was canceled. */
export async function jobEnded(operations: Operations, id: string, call: CallOptions): Promise<void> {
  // The key names the call that queued the job.
  const { idempotencyKey: _, table: __, ...options } = call
  for (let ms = askedFirstMs; ; ms = Math.min(2 * ms, askedMostMs)) {
    const { status, properties = {} } = await operations.describeTransaction({ id: [id] }, options)
    if (status === 'Succeeded') return
    if (status === 'Failed' || status === 'Canceled') {
      const reason = properties.reason === undefined ? '' : `: ${properties.reason}`
      const message = `job ${quote(id)} has ended as ${status}${reason}`
      throw new SheafError(ErrorCode.InvalidTableState, message)
    }
    await systemClock.sleep(ms, options.signal, true)
  }
}

/** Waits for a job, over any door. */
import { ErrorCode, quote, SheafError } from '../errors.js'
import { systemClock } from '../primitives/clock.js'
import type { CallOptions, Operations } from '../protocol/calls.js'
import type { Watch } from './changes.js'

/** Between two questions where nothing tells of commits: short at first, since most jobs are, milliseconds. */
const askedFirstMs = 5
const askedMostMs = 1000

/** Returns when the job has succeeded; throws code 19 with the reason when it has failed or was canceled. */
export async function jobEnded(
  operations: Operations,
  id: string,
  watch: Watch | undefined,
  call: CallOptions,
): Promise<void> {
  // The key names the call that queued the job.
  const { idempotencyKey: _, table: __, ...options } = call
  for await (const ___ of watch === undefined ? ticks(options.signal) : watch(options)) {
    const { status, properties = {} } = await operations.describeTransaction({ id: [id] }, options)
    if (status === 'Succeeded') return
    if (status === 'Queued' || status === 'Running') continue
    const reason = properties.reason === undefined ? '' : `: ${properties.reason}`
    const message = `job ${quote(id)} has ended as ${status}${reason}`
    throw new SheafError(ErrorCode.InvalidTableState, message)
  }
}

async function* ticks(signal: AbortSignal | undefined): AsyncGenerator<void> {
  for (let ms = askedFirstMs; ; ms = Math.min(2 * ms, askedMostMs)) {
    yield
    await systemClock.sleep(ms, signal, true)
  }
}

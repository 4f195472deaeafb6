/** Lists the readers of old states and the open jobs because of which garbage collection must not delete some files. */
import type { CatalogState } from '../catalog/state.js'
import type { Holder, JobUnderWay, Reader } from '../client/optimized.js'
import { parseTransactionId } from '../commit/transaction-id.js'
import type { Pin } from '../write/pins.js'

/** Return the readers and jobs that need a state from before slot `before`, the oldest first. */
export function holdersBefore(
  before: number,
  pins: readonly Pin[],
  { jobs }: CatalogState,
): readonly Holder[] {
  const readers = pins.map(({ slot, key, process, stillMs }): Reader => {
    return { kind: 'reader', slot, file: key, process, stillMs }
  })
  const open = [...jobs].map(([id, { status }]): JobUnderWay => {
    return { kind: 'job', slot: slotOfJob(id), id, status }
  })
  return [...readers, ...open].filter(({ slot }) => slot < before).sort((a, b) => a.slot - b.slot)
}

/** Return the slot that queued a job. */
export function slotOfJob(id: string): number {
  return parseTransactionId(id)?.slot ?? 0
}

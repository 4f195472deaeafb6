/** Lists the readers of old states and the open jobs because of which garbage collection must not delete some files. */
import type { CatalogState } from '../catalog/state.js'
import type { Holder, JobUnderWay, Reader } from '../client/optimized.js'
import { slotOfJob } from '../jobs/job-op.js'
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
  const open = [...jobs]
    .filter(([, { of }]) => of === undefined)
    .map(([id, { status }]): JobUnderWay => {
      return { kind: 'job', slot: slotOfJob(id), id, status }
    })
  return [...readers, ...open].filter(({ slot }) => slot < before).sort((a, b) => a.slot - b.slot)
}

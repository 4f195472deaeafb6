/**
 * Refuses commits of files that garbage collection may delete: files that are older than the GC watermark (STORAGE S7).
 */
import { ErrorCode, SheafError } from '../errors.js'
import { creationSlotOfPath, filesOfChange } from '../manifest/file-names.js'
import type { CatalogOp } from './ops.js'
import type { CatalogState } from './state.js'

/**
 * Check that all files that `ops` add were created at or after the GC watermark. Throws `CommitTooLate` otherwise,
 * because garbage collection may delete older files at any time.
 */
export function checkCreationSlots({ sweep }: CatalogState, ops: readonly CatalogOp[]): void {
  if (sweep.floor === 0) return
  for (const op of ops) {
    if (op.op !== 'change') continue
    for (const path of filesOfChange(op)) {
      if ((creationSlotOfPath(path) ?? sweep.floor) < sweep.floor) throw new CommitTooLate(sweep.floor)
    }
  }
}

/** The error for a commit that took so long that garbage collection may delete its files. */
export class CommitTooLate extends SheafError {
  constructor(floor: number) {
    super(
      ErrorCode.ConcurrentModification,
      `the commit took too long: garbage collection may delete its files, which are older than slot ${floor}`,
      { hint: 'try again; if your writes often take that long, increase maintenance.keepOrphansMs' },
    )
  }
}

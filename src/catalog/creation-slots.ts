/** Keeps slow writers and garbage collection apart (STORAGE S7): files older than the watermark cannot be committed. */
import { ErrorCode, SheafError } from '../errors.js'
import { creationSlotOfPath, filesOfChange } from '../manifest/file-names.js'
import type { CatalogOp } from './ops.js'
import type { CatalogState } from './state.js'

/**
 * Check that all files of `ops` were created at or after the GC watermark. Throws ConcurrentModification otherwise: an
 * older file may be deleted at any moment.
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

/** Thrown for a commit that took so long that garbage collection may delete its files. */
export class CommitTooLate extends SheafError {
  constructor(floor: number) {
    super(
      ErrorCode.ConcurrentModification,
      `the commit took too long: its files are older than slot ${floor}, the limit of garbage collection`,
      { hint: 'try again; if writes take that long, raise maintenance.keepOrphansMs' },
    )
  }
}

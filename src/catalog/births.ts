/** The fence between slow writers and sweeps (STORAGE S7): what was given up for lost does not come into the log. */
import { ErrorCode, SheafError } from '../errors.js'
import { birthOfPath, filesOfChange } from '../manifest/file-names.js'
import type { CatalogOp } from './ops.js'
import type { CatalogState } from './state.js'

/** Throws code 14 when `ops` bring a file born before the floor of the last sweep: it may be deleted at any moment. */
export function checkBirths({ sweep }: CatalogState, ops: readonly CatalogOp[]): void {
  if (sweep.floor === 0) return
  for (const op of ops) {
    if (op.op !== 'change') continue
    for (const path of filesOfChange(op)) {
      if ((birthOfPath(path) ?? sweep.floor) < sweep.floor) throw new SweptAway(sweep.floor)
    }
  }
}

/** The files of a commit were given up for lost while it was under way. */
export class SweptAway extends SheafError {
  constructor(floor: number) {
    super(
      ErrorCode.ConcurrentModification,
      `the files of this commit were begun before slot ${floor}, and were given up for lost since`,
      { hint: 'try again; where writes take that long, raise maintenance.keepOrphansMs' },
    )
  }
}

/** Folds operations into a catalog state without any log, as one slot per call. */
import { catalogMachine } from '../../src/catalog/apply.js'
import type { CatalogOp } from '../../src/catalog/ops.js'
import type { CatalogState } from '../../src/catalog/state.js'
import type { Change } from '../../src/manifest/change.js'

export const emptyCatalog: CatalogState = catalogMachine.initial({ root: 'root', format: 1 })

export function commit(state: CatalogState, slot: number, ...ops: CatalogOp[]): CatalogState {
  const entry = { txn: `txn-${slot}`, req: [], ops }
  return catalogMachine.apply(state, entry, { slot, entry: 0, ts: 1_000 + slot })
}

/** A change that adds nothing: enough to make a version. */
export function emptyChange(table: string, version: number, more: Partial<Change> = {}): Change {
  return {
    op: 'change',
    t: table,
    v: version,
    base: version - 1,
    start: 0,
    kind: version === 1 ? 'create' : 'append',
    add: [],
    dead: [],
    drop: [],
    schema: version === 1 ? { id: 1, fields: [] } : null,
    next: { row: 0, frag: 0, field: 0 },
    ...more,
  }
}

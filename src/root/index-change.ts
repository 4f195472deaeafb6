import type { TableHead } from '../catalog/state.js'
import type { Change } from '../manifest/change.js'
import type { IndexChange } from '../manifest/table-index.js'
import { buildChange } from '../write/build-change.js'

/** A version that differs from the one before it in an index. */
export function indexChange(head: TableHead, change: IndexChange, firstBlob: number): Change {
  return buildChange(head, { kind: 'index', indexes: () => [change] }, firstBlob).change
}

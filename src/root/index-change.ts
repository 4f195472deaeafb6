/** Builds changes that affect only indexes. */
import type { TableHead } from '../catalog/state.js'
import type { Change } from '../manifest/change.js'
import type { IndexChange } from '../manifest/table-index.js'
import { buildChange } from '../write/build-change.js'

/** Build a change whose version differs from the one before it only in one index. */
export function indexChange(head: TableHead, change: IndexChange, firstBlob: number): Change {
  return buildChange(head, { kind: 'index', indexes: () => [change] }, firstBlob).change
}

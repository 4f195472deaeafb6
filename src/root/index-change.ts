/** Changes of indexes that change nothing else. */
import type { TableHead } from '../catalog/state.js'
import type { Change } from '../manifest/change.js'
import type { IndexChange } from '../manifest/table-index.js'
import { buildChange } from '../write/build-change.js'

/** Build the change of a version whose only difference from the version before is one index. */
export function indexChange(head: TableHead, change: IndexChange, firstBlob: number): Change {
  return buildChange(head, { kind: 'index', indexes: () => [change] }, firstBlob).change
}

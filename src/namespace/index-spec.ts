/** What a job that builds an index is told. */
import type { TableIndex } from '../manifest/table-index.js'

/** The kind of those jobs. */
export const indexJob = 'index'

/** The index as it will be, without its segments. */
export type IndexSpec = Omit<TableIndex, 'segments'>

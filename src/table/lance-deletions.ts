/** Reads deletion files of Lance tables. */
import { readDeletionFile } from '../lance/deletion-file.js'
import type { LanceRuns } from '../manifest/layout.js'
import type { NumberRuns } from '../primitives/number-runs.js'
import type { MaybePromise } from '../primitives/task.js'
import type { TableSource } from './table-source.js'

/** Read the offsets of the deleted rows of a fragment. `location`: the folder of the table. */
export function readLanceDeletions(
  { store, runs }: Pick<TableSource, 'store' | 'runs'>,
  location: string,
  { lance, deletions, rows }: LanceRuns,
): MaybePromise<NumberRuns> {
  const load = () => readDeletionFile(store, location, deletions, rows)
  return runs.get(`${location}/${lance}`, load) as MaybePromise<NumberRuns>
}

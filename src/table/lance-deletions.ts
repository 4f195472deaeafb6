/** Reads deletion files of Lance tables. */
import { corrupted } from '../errors.js'
import { decodeDeletions } from '../lance/deletion-file.js'
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
  const path = `${location}/${lance}`
  const load = async () => {
    const bytes = await store.get(path)
    if (bytes === null) throw corrupted(`${path} is missing`)
    return decodeDeletions(bytes, deletions, rows)
  }
  return runs.get(path, load) as MaybePromise<NumberRuns>
}

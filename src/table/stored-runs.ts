/** Numbers that lie in files of a table's `rows` folder: read whole, checked, and kept. */
import { corrupted } from '../errors.js'
import { filePath } from '../manifest/file-names.js'
import type { StoredRuns } from '../manifest/stored-runs.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import type { MaybePromise } from '../primitives/task.js'
import { readWhole } from './data-file.js'
import type { TableSource } from './table-source.js'

/** Null for bytes that are no such numbers. */
export type DecodeRuns<R extends RunSequence> = (bytes: Uint8Array) => R | null

/**
 * `location`: the table's folder. Throws corrupted (code 18) for what is not what was written, or has not `count` numbers where
 * that is given.
 */
export function readStoredRuns<R extends RunSequence>(
  { store, runs }: TableSource,
  location: string,
  place: StoredRuns,
  decode: DecodeRuns<R>,
  count?: number,
): MaybePromise<R> {
  const path = `${location}/${filePath('rows', place.file)}`
  const load = async () => checkedRuns(decode(await readWhole(store, path, place)), path, count)
  return runs.get(path, load) as MaybePromise<R>
}

/** Throws corrupted (code 18), as `readStoredRuns` does. */
export function checkedRuns<R extends RunSequence>(read: R | null, name: string, count?: number): R {
  if (read !== null && (count === undefined || read.count === count)) return read
  throw corrupted(`${name} does not hold the numbers that were written`)
}

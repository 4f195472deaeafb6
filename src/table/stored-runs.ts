/**
 * Reads the files of a table's `rows` folder. Each file is a set of row numbers, which is read whole, checked and
 * cached.
 */
import { corrupted } from '../errors.js'
import { filePath } from '../manifest/file-names.js'
import type { StoredRuns } from '../manifest/stored-runs.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import type { MaybePromise } from '../primitives/task.js'
import { readWhole } from './data-file.js'
import type { TableSource } from './table-source.js'

/** Decodes a set of numbers. Returns null for invalid bytes. */
export type DecodeRuns<R extends RunSequence> = (bytes: Uint8Array) => R | null

/**
 * Read a set of numbers from a file. `location`: the table's folder. Throws Internal ("corrupted") if the
 * file is damaged, or if it does not hold `count` numbers. `count` undefined: any number of numbers.
 */
export function readStoredRuns<R extends RunSequence>(
  { store, runs }: TableSource,
  location: string,
  address: StoredRuns,
  decode: DecodeRuns<R>,
  count?: number,
): MaybePromise<R> {
  const path = `${location}/${filePath('rows', address.file)}`
  const load = async () => checkedRuns(decode(await readWhole(store, path, address)), path, count)
  return runs.get(path, load) as MaybePromise<R>
}

/** Return `read` if it is valid and has `count` numbers. Otherwise throws Internal ("corrupted") with `name`. */
export function checkedRuns<R extends RunSequence>(read: R | null, name: string, count?: number): R {
  if (read !== null && (count === undefined || read.count === count)) return read
  throw corrupted(`${name} does not contain the numbers that were written`)
}

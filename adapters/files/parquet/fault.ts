/** Errors about Parquet files. */
import { invalidInput, type SheafError } from '../../../src/errors.js'

/** Create the error for a file that breaks the format. `at`: the byte of the file. Undefined: the place is not known. */
export function brokenParquet(what: string, at?: number, cause?: unknown): SheafError {
  return invalidInput(`broken Parquet file: ${what}${at === undefined ? '' : ` (byte ${at})`}`, { cause })
}

/**
 * A file of the table's `rows` folder with a set of numbers as runs (primitives/number-runs). `crc`: the checksum of
 * the whole file.
 */
export interface StoredRuns {
  readonly file: string
  readonly bytes: number
  readonly crc: number
}

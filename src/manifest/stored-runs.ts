/** A file of the table's `rows` folder with numbers as runs (primitives/number-runs); `crc` is that of the whole file. */
export interface StoredRuns {
  readonly file: string
  readonly bytes: number
  readonly crc: number
}

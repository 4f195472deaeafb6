/** Rows of a text file with the numbers of their lines. Importers need the lines to report rows that a table refuses. */
import type { Row } from '../../src/client/table-data.js'
import type { SheafError } from '../../src/errors.js'

export interface NumberedRows {
  readonly rows: readonly Row[]
  /** For each row, the number of the line on which it begins, from 1. */
  readonly lines: readonly number[]
  /** Names of the columns of a file without rows. Only the last item of such a file has them. */
  readonly columns?: readonly string[]
}

/** A row that a reader cannot read. */
export interface BadRow {
  readonly line: number
  readonly error: SheafError
  /** The cells of the row, or the text of its line. */
  readonly data: readonly string[] | string
}

/** Called for each bad row, which is then left out. Absent: the reader throws the error of the first bad row. */
export type OnBadRow = ((bad: BadRow) => void) | undefined

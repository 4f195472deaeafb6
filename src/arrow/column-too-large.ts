/** Thrown when the values of some rows of a column exceed 2 GiB (`InvalidInput`). Fewer rows at a time may fit. */
import { ErrorCode, SheafError } from '../errors.js'

export class ColumnTooLarge extends SheafError {
  constructor(rows: number) {
    super(ErrorCode.InvalidInput, `the values of ${rows} rows in one column hold more than 2 GiB`, {
      hint: 'take fewer rows at a time',
    })
  }
}

/**
 * Thrown (as `InvalidInput`) if a column's values in the rows of one call exceed 2 GiB. A caller may retry with fewer
 * rows.
 */
import { ErrorCode, SheafError } from '../errors.js'

export class ColumnTooLarge extends SheafError {
  constructor(rows: number) {
    super(ErrorCode.InvalidInput, `one column has more than 2 GiB of values in ${rows} rows`, {
      hint: 'take fewer rows at a time',
    })
  }
}

/** The state of a cast, and the treatment of values that do not fit into the new type. */
import type { Column } from '../../arrow/column.js'
import { typeName } from '../../arrow/type-name.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput, quote } from '../../errors.js'
import type { Scalar } from '../values/scalar.js'
import { bitAt, columnOfScalars, scalarAt } from '../values/vector.js'
import { writeText } from './cast-text.js'

/** A cast in progress. */
export interface Cast {
  readonly column: Column
  readonly to: DataType
  /** Bitmap of the rows whose result is requested, without rows that are NULL. */
  readonly wanted: Uint32Array
  /**
   * Bitmap of the rows that are not NULL in the result. At first, it has the rows that are not NULL in `column`.
   * `reject` removes rows.
   */
  readonly valid: Uint32Array
  readonly isTry: boolean
  /** Returns the text of the expression for error messages. */
  readonly describe: () => string
  /** For a cast to an integer: `cut` drops the fraction, and `refuse` rejects a number with a fraction. */
  readonly fractions: 'cut' | 'refuse'
}

/**
 * Handle a row whose value does not fit into the new type. The row becomes NULL for TRY_CAST, and if it is not
 * requested. Otherwise throws `InvalidInput`.
 */
export function reject({ column, valid, wanted, isTry, to, describe }: Cast, row: number): void {
  if (!isTry && bitAt(wanted, row)) {
    const value = scalarAt(column, row)
    const text = typeof value === 'string' ? quote(value) : (writeText(value, column.type) ?? String(value))
    throw invalidInput(`${text} is not a value of ${typeName(to)}, in ${describe()}`, {
      hint: 'TRY_CAST gives null instead',
    })
  }
  valid[row >>> 5]! &= ~(1 << (row & 31))
}

/** Cast a column value by value. `convert`: converts a value, or returns null for a value that does not fit. */
export function castValues(cast: Cast, convert: (value: Scalar) => Scalar): Column {
  return castRows(cast, row => convert(scalarAt(cast.column, row)))
}

/** Cast a column row by row. `read`: returns the new value of a row, or null for a value that does not fit. */
export function castRows(cast: Cast, read: (row: number) => Scalar): Column {
  const { column, to, valid, wanted } = cast
  const scalars: Scalar[] = []
  for (let i = 0; i < column.length; i++) {
    const scalar = bitAt(wanted, i) ? read(i) : null
    if (scalar === null && bitAt(valid, i)) reject(cast, i)
    scalars.push(scalar)
  }
  return columnOfScalars(to, scalars)
}

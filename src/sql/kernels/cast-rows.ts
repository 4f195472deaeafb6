/** State of a cast: the requested rows, and the handling of values that do not fit. */
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
  /** Rows whose value is requested. */
  readonly wanted: Uint32Array
  /** Rows that have a value in the end. `reject` removes rows. */
  readonly valid: Uint32Array
  readonly isTry: boolean
  readonly describe: () => string
  /** Whether a cast to an integer drops the fraction, or treats a number with a fraction as not fitting. */
  readonly fractions: 'cut' | 'refuse'
}

/**
 * Mark a row that has no value in the new type: NULL under TRY_CAST or if the row is not requested, else an
 * `InvalidInput` error.
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

/** Cast value by value. `convert` returns null for a value that does not fit. */
export function castValues(cast: Cast, convert: (value: Scalar) => Scalar): Column {
  return castRows(cast, row => convert(scalarAt(cast.column, row)))
}

/** As `castValues`, but `read` returns the new value of a row. */
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

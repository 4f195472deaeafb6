/** A cast under way: which rows it is asked for, and what happens to values that do not fit. */
import type { Column } from '../../arrow/column.js'
import { typeName } from '../../arrow/type-name.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput, quote } from '../../errors.js'
import type { Scalar } from '../values/scalar.js'
import { bitAt, columnOfScalars, scalarAt } from '../values/vector.js'
import { writeText } from './cast-text.js'

/** One cast under way. */
export interface Cast {
  readonly column: Column
  readonly to: DataType
  /** Rows whose value is asked for. */
  readonly wanted: Uint32Array
  /** Rows that have a value in the end; `reject` takes them out. */
  readonly valid: Uint32Array
  readonly isTry: boolean
  readonly describe: () => string
  /** What becomes of the fraction of a number that is to be an integer. */
  readonly fractions: 'cut' | 'refuse'
}

/** The row has no value in the new type: null, or an error if it is asked for. */
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

/** A cast value by value; `convert` gives null for what does not fit. */
export function castValues(cast: Cast, convert: (value: Scalar) => Scalar): Column {
  return castRows(cast, row => convert(scalarAt(cast.column, row)))
}

/** As `castValues`, where `read` gives the new value of a row. */
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

/** The interface of the aggregates of groups (accumulate.ts), and the code that they share. */
import type { Column } from '../arrow/column.js'
import { takeColumn } from '../arrow/take.js'
import type { Pacer } from '../primitives/pacer.js'
import { castColumn } from '../sql/kernels/cast.js'
import { numbersOf } from '../sql/kernels/cast-numbers.js'
import { decoded } from '../sql/kernels/dictionary.js'
import type { Scalar } from '../sql/values/scalar.js'
import { float64, uint32 } from '../sql/values/types.js'
import { bitAt, validWords } from '../sql/values/vector.js'

/** Collects the values of an aggregate, by group. */
export interface Accumulator {
  /** Adds rows: row `i` belongs to group `groups[i]`, all below `count`. `arg`: null for `count(*)`. */
  add(groups: Uint32Array, arg: Column | null, count: number): void
  /** Does the long work after the last row, in steps. Called once before `finish`, with the number of groups. */
  prepare?(count: number, pacer: Pacer): Promise<void>
  /** Return the results of the groups `from .. to`, in the type of the aggregate. */
  finish(from: number, to: number): Column
}

/** The rows of a column that have a value; null if all do. */
function presentRows(column: Column): Uint32Array | null {
  const valid = validWords(column)
  if (valid === null) return null
  const rows: number[] = []
  for (let row = 0; row < column.length; row++) if (bitAt(valid, row)) rows.push(row)
  return Uint32Array.from(rows)
}

/** Leave out rows without a value. */
export function present(groups: Uint32Array, arg: Column): readonly [Uint32Array, Column] {
  const rows = presentRows(arg)
  if (rows === null) return [groups, decoded(arg)]
  return [rows.map(row => groups[row]!), decoded(takeColumn(arg, rows))]
}

/** Return the rows of a column of numbers as doubles: the nearest double of each value. */
export function doublesOfNumbers(column: Column): Float64Array {
  if (column.type.kind !== 'decimal') return numbersOf(column)
  return castColumn(column, float64, false, null, () => 'a decimal').values as Float64Array
}

export function grown(array: Float64Array<ArrayBuffer>, count: number): Float64Array<ArrayBuffer> {
  if (count <= array.length) return array
  const larger = new Float64Array(Math.max(count, 2 * array.length))
  larger.set(array)
  return larger
}

export function results(from: number, to: number, resultOf: (group: number) => Scalar): Scalar[] {
  return Array.from({ length: to - from }, (_, i) => resultOf(from + i))
}

/** Return the groups of rows as a column, to be a key beside values. */
export function columnOfGroups(groups: Uint32Array): Column {
  return {
    type: uint32,
    length: groups.length,
    nullCount: 0,
    validity: null,
    values: groups,
    offsets: null,
    children: [],
    dictionary: null,
  }
}

/** Return the row of each group `from .. to` for `takeColumn`: -1, which stands for NULL, beyond the end of `rows`. */
export function rowsOfGroups(rows: Int32Array, from: number, to: number): Int32Array {
  const out = new Int32Array(to - from).fill(-1)
  out.set(rows.subarray(from, to))
  return out
}

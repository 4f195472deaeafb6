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
  /**
   * Add rows. Row `i` of `arg` belongs to group `groups[i]`. `arg`: values of the argument, null for `count(*)`.
   * `count`: number of groups so far.
   */
  add(groups: Uint32Array, arg: Column | null, count: number): void
  /**
   * Do the long computations after the last row, so that `finish` does not block the event loop. Called once, before
   * `finish`. `count`: number of groups.
   */
  prepare?(count: number, pacer: Pacer): Promise<void>
  /** Return one result for each group from `from` to `to - 1`, in the type of the aggregate. */
  finish(from: number, to: number): Column
}

/** Return the rows of a column that are not NULL. Return null if no row is NULL. */
function presentRows(column: Column): Uint32Array | null {
  const valid = validWords(column)
  if (valid === null) return null
  const rows: number[] = []
  for (let row = 0; row < column.length; row++) if (bitAt(valid, row)) rows.push(row)
  return Uint32Array.from(rows)
}

/** Remove the rows whose value is NULL, from the groups and from the values. Dictionaries are decoded. */
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

/** Return the group numbers of rows as a column, so that they can be a key of a `Grouper`. */
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

/**
 * Return the rows that `takeColumn` takes for the groups from `from` to `to - 1`. Groups beyond the end of `rows` get
 * -1, which `takeColumn` turns into NULL.
 */
export function rowsOfGroups(rows: Int32Array, from: number, to: number): Int32Array {
  const out = new Int32Array(to - from).fill(-1)
  out.set(rows.subarray(from, to))
  return out
}

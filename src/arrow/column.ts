/**
 * Columns and batches: Arrow's buffers as plain data (columnar format, "Physical Memory Layout").
 *
 * - A column starts at row 0 of its buffers. Slices are cut on input, and no offset is carried along.
 * - Buffers are read-only once a column exists. They may be longer than needed, never shorter.
 * - `large` types keep their type, but have 32-bit offsets in memory. Batches with more than 2 GiB of data in a column
 *   are rejected on input.
 * - A Uint8Array is never a Buffer here, because `slice` of a Buffer does not copy.
 * - Offsets start at 0 and never decrease. The last offset is at most the length of `values`, or equals the length of
 *   the child.
 * - Children have exactly the rows that their parent needs: `length` for a struct, `size * length` for a
 *   fixed_size_list, the last offset for a list or map.
 * - The index of a non-null row of a dictionary column is within its dictionary. Values of null rows are arbitrary,
 *   indices included: call `isValid` first.
 */
import type { DataType, Schema } from './types.js'

/** The typed arrays of the values of a column. */
export type Values =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array

/** The rows of one column. The head of this file lists the invariants. */
export interface Column {
  readonly type: DataType
  readonly length: number
  readonly nullCount: number
  /** One bit per row, least significant first, 1 = present. Null if no row is null. */
  readonly validity: Uint8Array | null
  /**
   * - int, float32/64, date, time, timestamp, duration: one element per row in the array of that width (64-bit temporal
   *   types: BigInt64Array; date day and time s/ms: Int32Array; date ms: BigInt64Array)
   * - float16: Uint16Array of the raw bits; bool: Uint8Array of bits
   * - utf8, binary: Uint8Array of all bytes, cut by `offsets`
   * - fixed_size_binary, decimal, interval: Uint8Array of `width * length` bytes
   * - dictionary: the indices; null, lists, struct, map: null
   */
  readonly values: Values | null
  /** utf8, binary, list, map: `length + 1` offsets; else null. */
  readonly offsets: Int32Array | null
  /** list, fixed_size_list, map: one; struct: one per field; else none. */
  readonly children: readonly Column[]
  /** The distinct values of a dictionary column; else null. */
  readonly dictionary: Column | null
}

/** Rows `0 .. length-1` of some columns, in schema order. */
export interface Batch {
  readonly schema: Schema
  readonly length: number
  readonly columns: readonly Column[]
  /** Custom metadata of the batch's IPC message. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** Return whether row `index` of `column` is not null. */
export function isValid(column: Column, index: number): boolean {
  if (column.type.kind === 'null') return false
  const bits = column.validity
  return bits === null || ((bits[index >>> 3]! >>> (index & 7)) & 1) === 1
}

/**
 * Columns and batches: Arrow's buffers, unwrapped (columnar format, "Physical Memory Layout").
 *
 * - A column starts at row 0 of its buffers: slices are cut when they come in, never carried along.
 * - Buffers are read-only once a column exists. They may be longer than needed, never shorter.
 * - `large` types keep their type but hold 32-bit offsets in memory; a batch whose data passes 2 GiB is
 *   refused at the door.
 * - A Uint8Array here is never a Buffer, whose `slice` is no copy.
 * - Offsets start at 0 and never decrease; the last one lies within `values`, or is the child's length.
 * - Children have exactly the rows their parent needs: `length` for a struct, `size * length` for a
 *   fixed_size_list, the last offset for a list or map.
 * - The index of a present row of a dictionary column lies within its dictionary. What stands under a
 *   null is arbitrary, indices included: ask `isValid` first.
 */
import type { DataType, Schema } from './types.js'

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

export interface Column {
  readonly type: DataType
  readonly length: number
  readonly nullCount: number
  /** One bit per row, least significant first, 1 = present; null when no row is null. */
  readonly validity: Uint8Array | null
  /**
   * - int, float32/64, date, time, timestamp, duration: one element per row in the array of that width
   *   (64-bit temporal types: BigInt64Array; date day and time s/ms: Int32Array; date ms: BigInt64Array)
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
  /** Travels in the metadata of its message. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** Whether row `index` of `column` holds a value. */
export function isValid(column: Column, index: number): boolean {
  if (column.type.kind === 'null') return false
  const bits = column.validity
  return bits === null || ((bits[index >>> 3]! >>> (index & 7)) & 1) === 1
}

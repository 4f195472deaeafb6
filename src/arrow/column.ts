/**
 * Columns and batches: Arrow's buffers as plain data (columnar format, "Physical Memory Layout"). Code that creates
 * columns guarantees these invariants, and code that reads columns relies on them:
 *
 * - A column starts at row 0 of its buffers. A slice of a column has its own views, so columns have no start offset.
 * - No code changes a buffer after its column exists. A buffer may be longer than needed, never shorter.
 * - A `large` type stays in the schema, but its offsets have 32 bits in memory. So decoders reject batches with more
 *   than 2 GiB of data in a column.
 * - A Uint8Array is never a Node Buffer, because `slice` of a Buffer does not copy.
 * - Offsets start at 0 and never decrease. For text and bytes, the last offset is at most the length of `values`. For
 *   lists and maps, it equals the length of the child.
 * - The length of a child is `length` for a struct, `size * length` for a fixed_size_list, and the last offset for a
 *   list or map.
 * - The index of a non-null row of a dictionary column is within its dictionary. Values and indices of null rows are
 *   arbitrary, so call `isValid` before you read a value.
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
  /** Bitmap with one bit per row (see `bits.ts`); 1 means "not null". Null if no row is null. */
  readonly validity: Uint8Array | null
  /**
   * The values of the rows. The kind of array depends on the type:
   *
   * - int, float32, float64: the typed array of the element type, with one element per row
   * - date in days, time in s or ms: Int32Array; date in ms, time in us or ns, timestamp, duration: BigInt64Array
   * - float16: Uint16Array of the raw bits; bool: Uint8Array of bits
   * - utf8, binary: Uint8Array of the bytes of all rows; `offsets` gives the range of each row
   * - fixed_size_binary, decimal, interval: Uint8Array of `width * length` bytes
   * - dictionary: the indices into `dictionary`
   * - null, list, fixed_size_list, struct, map: null
   */
  readonly values: Values | null
  /** The `length + 1` offsets of a utf8, binary, list or map column. Null for other types. */
  readonly offsets: Int32Array | null
  /** One child for list, fixed_size_list and map; one per field for struct; empty for other types. */
  readonly children: readonly Column[]
  /** The values of a dictionary column's dictionary. Null for other types. */
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

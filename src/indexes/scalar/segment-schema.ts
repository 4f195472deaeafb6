/** Defines the column types that scalar indexes support, and the schema of their files. */
import type { DataType, Schema } from '../../arrow/types.js'
import { assert } from '../../errors.js'
import { elementType, isOrdered, valueType } from '../../sql/values/types.js'
import type { ScalarKind } from './probe.js'

/** Number of strides in a page of BTREE values. The last page may have fewer. */
export const stridesPerPage = 64
/** Maximum number of values in a stride. A stride of 64-bit values is one block of the file. */
export const strideRows = 128
/** Number of rows in a page of BTREE nulls. The last page may have fewer. */
export const nullsPerPage = stridesPerPage * strideRows
/** Number of bytes of a stored ordinal, which is little-endian. */
export const ordinalBytes = 3

/** Return ordinal `i` of a column of ordinals. */
export function ordinalAt(bytes: Uint8Array, i: number): number {
  const at = ordinalBytes * i
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16)
}

/** Maximum number of rows of a segment. Therefore ordinals fit in three bytes, and a bitmap of all rows takes 1 MiB. */
export const maxSegmentRows = 2 ** 23

/** Return whether a column of this type can have an index of this kind. */
export function indexableBy(kind: ScalarKind, type: DataType): boolean {
  const probed = kind === 'LABEL_LIST' ? elementType(type) : type
  return probed !== null && isOrdered(probed)
}

/**
 * Return the type of the constants in probes. It is the value type of the column, or for a LABEL_LIST of its elements.
 */
function probedType(kind: ScalarKind, type: DataType): DataType {
  const probed = kind === 'LABEL_LIST' ? elementType(type) : type
  assert(probed !== null && isOrdered(probed), `a ${kind} index of ${type.kind}`)
  return valueType(probed)
}

/** Return the schema of a segment's file for an indexed column of `type`. */
export function segmentSchema(kind: ScalarKind, type: DataType): Schema {
  const value = { name: 'value', type: probedType(kind, type), nullable: true }
  if (kind === 'BTREE') {
    const ordinal: DataType = { kind: 'fixed_size_binary', width: ordinalBytes }
    return { fields: [value, { name: 'ordinal', type: ordinal, nullable: false }] }
  }
  return {
    fields: [
      value,
      { name: 'count', type: { kind: 'int', bits: 32, signed: false }, nullable: false },
      { name: 'rows', type: { kind: 'binary', large: false }, nullable: false },
    ],
  }
}

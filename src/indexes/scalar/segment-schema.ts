/** Which columns can be indexed, and the columns of the files that follow. */
import type { DataType, Schema } from '../../arrow/types.js'
import { assert } from '../../errors.js'
import { elementType, isOrdered, valueType } from '../../sql/values/types.js'
import type { ScalarKind } from './probe.js'

/** Strides of each page of values of a BTREE but the last. */
export const stridesPerPage = 64
/** Values of a stride at most: 64-bit values of a stride are a block of the file. */
export const strideRows = 128
/** Rows of each page of nulls of a BTREE but the last. */
export const nullsPerPage = stridesPerPage * strideRows
/** Bytes of an ordinal. */
export const ordinalBytes = 3
/** Number `i` of a column of ordinals. */
export function ordinalAt(bytes: Uint8Array, i: number): number {
  const at = ordinalBytes * i
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16)
}

/** Rows of a segment at most: what three bytes can number, and a bitmap of a megabyte holds. */
export const maxSegmentRows = 2 ** 23

/** Whether columns of a type can have an index of a kind. */
export function indexableBy(kind: ScalarKind, type: DataType): boolean {
  const probed = kind === 'LABEL_LIST' ? elementType(type) : type
  return probed !== null && isOrdered(probed)
}

/** The type of what is looked for: that of the values, or of the lists' elements. */
export function probedType(kind: ScalarKind, type: DataType): DataType {
  const probed = kind === 'LABEL_LIST' ? elementType(type) : type
  assert(probed !== null && isOrdered(probed), `a ${kind} index of ${type.kind}`)
  return valueType(probed)
}

/** The columns of a segment's file, for an indexed column of `type`. */
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

/** Evaluate `IN` with constants. The constants become a set, in which each row is looked up. */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import type { Scalar } from '../values/scalar.js'
import { byteRowsOf, columnOfScalars, type RowMask, tailMask, wordCount, wordsOf } from '../values/vector.js'
import { type ByteMembers, byteMembers, findByteMembers } from './byte-members.js'
import { withoutIntervals } from './compare-values.js'
import { equalAny } from './equal-bytes.js'
import { findNumbers, type NumberMembers, numberMembers } from './number-members.js'

/** Maximum number of byte strings that are compared with each row. Above this number, a lookup in a set is faster. */
const maxFew = 4

/** A set of constants for lookups. Created by `membersOf`. */
export type Members =
  | { readonly kind: 'bits'; readonly hasFalse: boolean; readonly hasTrue: boolean }
  | { readonly kind: 'numbers'; readonly numbers: NumberMembers }
  | { readonly kind: 'bytes'; readonly strings: ByteMembers }
  | { readonly kind: 'few'; readonly strings: readonly Uint8Array[] }

/** Create a set of constants of the type `type`. NULLs in `values` are left out. */
export function membersOf(type: DataType, values: readonly Scalar[]): Members {
  if (type.kind === 'bool') {
    return { kind: 'bits', hasFalse: values.includes(false), hasTrue: values.includes(true) }
  }
  const present = values.includes(null) ? values.filter(value => value !== null) : values
  const column = withoutIntervals(columnOfScalars(type, present))
  if (!isBytes(column.type)) return { kind: 'numbers', numbers: numberMembers(column) }
  const entries = byteRowsOf(column)
  if (column.length > maxFew) return { kind: 'bytes', strings: byteMembers(entries, column.length) }
  const { bytes, offsets } = entries
  const strings = Array.from({ length: column.length }, (_, i) =>
    bytes.subarray(offsets[i]!, offsets[i + 1]!),
  )
  return { kind: 'few', strings }
}

/**
 * Return whether values of the type are looked up as bytes. Decimals of one type are equal exactly if their bytes are.
 */
function isBytes({ kind }: DataType): boolean {
  return kind === 'utf8' || kind === 'binary' || kind === 'fixed_size_binary' || kind === 'decimal'
}

/** Return a bitmap of the requested rows whose value is a member. The bits of NULL rows are undefined. */
export function memberRows(members: Members, rowsOf: Column, length: number, rows: RowMask): Uint32Array {
  const column = withoutIntervals(rowsOf)
  const out = new Uint32Array(wordCount(length))
  switch (members.kind) {
    case 'bits': {
      const bits = wordsOf(column.values as Uint8Array, length)
      for (let w = 0; w < out.length; w++) {
        out[w] = (members.hasTrue ? bits[w]! : 0) | (members.hasFalse ? ~bits[w]! : 0)
      }
      if (out.length > 0) out[out.length - 1]! &= tailMask(length)
      break
    }
    case 'numbers':
      findNumbers(members.numbers, column, out, length, rows)
      break
    case 'bytes':
      findByteMembers(members.strings, byteRowsOf(column), out, length, rows)
      break
    case 'few':
      equalAny(byteRowsOf(column), members.strings, out, length, rows)
  }
  return out
}

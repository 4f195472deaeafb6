/** Compares two columns row by row. */
import { assert } from '../errors.js'
import { Bitset } from '../primitives/bitset.js'
import { type Column, isValid } from './column.js'
import { asBytes, cellBytes } from './layout.js'
import { equalTypes } from './same-type.js'

/**
 * Return the numbers of the rows in which two columns of equal type and length differ. Numbers are compared by their
 * bits: -0 differs from 0, and NaN equals NaN with the same bits. Dictionary columns are compared by their values. Two
 * null rows are equal.
 */
export function differingRows(a: Column, b: Column): Bitset {
  assert(
    a.length === b.length && equalTypes(a.type, b.type),
    'only columns of equal type and length can be compared',
  )
  const pair = pairOf(a, b)
  const differing = new Bitset(a.length)
  for (let row = 0; row < a.length; row++) if (!areEqual(pair, row, row, 1)) differing.add(row)
  return differing
}

/** Two columns, with properties that are computed once for all comparisons of rows. */
interface Pair {
  readonly a: Column
  readonly b: Column
  /** The bytes of `values` of column `a`. Empty if the column has no values. */
  readonly bytesA: Uint8Array
  readonly bytesB: Uint8Array
  /** Bytes of the value of a row. 0 for types whose values have no fixed width in bytes. */
  readonly width: number
  readonly hasNulls: boolean
  /** One pair for each child of the columns, or one pair for their dictionaries. */
  readonly inner: readonly Pair[]
}

function pairOf(a: Column, b: Column): Pair {
  const inner =
    a.dictionary === null
      ? a.children.map((child, i) => pairOf(child, b.children[i]!))
      : [pairOf(a.dictionary, b.dictionary!)]
  return {
    a,
    b,
    bytesA: a.values === null ? nothing : asBytes(a.values),
    bytesB: b.values === null ? nothing : asBytes(b.values),
    width: cellBytes(a.type),
    hasNulls: a.validity !== null || b.validity !== null,
    inner,
  }
}

const nothing = new Uint8Array(0)

/** Return whether the `count` rows of column `a` from `i` on equal the `count` rows of column `b` from `j` on. */
function areEqual(pair: Pair, i: number, j: number, count: number): boolean {
  const { a, bytesA, bytesB, width } = pair
  if (!pair.hasNulls && a.type.kind !== 'dictionary' && width > 0) {
    return sameBytes(bytesA, width * i, bytesB, width * j, width * count)
  }
  for (let k = 0; k < count; k++) if (!isEqual(pair, i + k, j + k)) return false
  return true
}

function isEqual(pair: Pair, i: number, j: number): boolean {
  const { a, b, bytesA, bytesB, width, inner } = pair
  const { type } = a
  if (pair.hasNulls || type.kind === 'null') {
    const isPresent = isValid(a, i)
    if (isPresent !== isValid(b, j)) return false
    if (!isPresent) return true
  }
  switch (type.kind) {
    case 'null':
      return true
    case 'bool':
      return ((bytesA[i >>> 3]! >>> (i & 7)) & 1) === ((bytesB[j >>> 3]! >>> (j & 7)) & 1)
    case 'utf8':
    case 'binary':
    case 'list':
    case 'map': {
      const [from, begin] = [a.offsets![i]!, b.offsets![j]!]
      const length = a.offsets![i + 1]! - from
      if (length !== b.offsets![j + 1]! - begin) return false
      return inner.length === 0
        ? sameBytes(bytesA, from, bytesB, begin, length)
        : areEqual(inner[0]!, from, begin, length)
    }
    case 'fixed_size_list':
      return areEqual(inner[0]!, type.size * i, type.size * j, type.size)
    case 'struct':
      for (let c = 0; c < inner.length; c++) if (!areEqual(inner[c]!, i, j, 1)) return false
      return true
    case 'dictionary':
      return areEqual(inner[0]!, Number(a.values![i]), Number(b.values![j]), 1)
    default:
      return sameBytes(bytesA, width * i, bytesB, width * j, width)
  }
}

function sameBytes(a: Uint8Array, i: number, b: Uint8Array, j: number, count: number): boolean {
  for (let k = 0; k < count; k++) if (a[i + k] !== b[j + k]) return false
  return true
}

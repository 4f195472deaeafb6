/**
 * The truth values TRUE, FALSE and NULL of many rows, as a bitmap for TRUE and a bitmap for NULL.
 *
 * - A row never has both bits. A row without either bit is FALSE. Bits after `length` are 0.
 * - AND, OR and NOT follow Kleene's tables (SQL:2016 8.21 <search condition>), 32 rows per step.
 */
import type { Column } from '../../arrow/column.js'
import { boolType } from '../values/types.js'
import {
  bytesOfWords,
  columnOf,
  type Operand,
  type RowMask,
  tailMask,
  validWords,
  wordCount,
  wordsOf,
} from '../values/vector.js'

/**
 * The truth values of rows. The bit of a row is set in `isTrue` or in `isNull`, or in neither bitmap if it is FALSE.
 */
export interface Truth {
  readonly length: number
  readonly isTrue: Uint32Array
  /** Bitmap of the rows that are NULL. Null if no row is NULL. */
  readonly isNull: Uint32Array | null
}

/** Create a truth value that is the same for all rows. */
export function constantTruth(value: boolean | null, length: number): Truth {
  const none = new Uint32Array(wordCount(length))
  const all = value === false ? none : allRows(length)
  return value === null ? { length, isTrue: none, isNull: all } : { length, isTrue: all, isNull: null }
}

/** Return a bitmap in which the bits of all rows are set. */
export function allRows(length: number): Uint32Array {
  const words = new Uint32Array(wordCount(length)).fill(0xffffffff)
  if (words.length > 0) words[words.length - 1] = tailMask(length)
  return words
}

/** Flip the bits of all rows in place. Bits after `length` become 0. */
export function invert(words: Uint32Array, length: number): Uint32Array {
  for (let w = 0; w < words.length; w++) words[w] = ~words[w]!
  if (words.length > 0) words[words.length - 1]! &= tailMask(length)
  return words
}

/**
 * Convert the bitmap of a kernel that ignores NULLs to truth values. A row is NULL if one of the operands is NULL.
 * Modifies `bits` and uses it in the result.
 */
export function strictTruth(bits: Uint32Array, operands: readonly Operand[], length: number): Truth {
  const valid = strictValidity(operands, length)
  if (valid === null) return { length, isTrue: bits, isNull: null }
  for (let w = 0; w < bits.length; w++) bits[w]! &= valid[w]!
  return { length, isTrue: bits, isNull: invert(valid, length) }
}

/** Return a new bitmap of the rows where no operand is NULL. Return null if this holds for all rows. */
export function strictValidity(operands: readonly Operand[], length: number): Uint32Array | null {
  let valid: Uint32Array | null = null
  for (const { column, constant } of operands) {
    const words = validWords(column)
    if (words === null) continue
    if (constant) {
      if (words[0] === 1) continue
      return new Uint32Array(wordCount(length))
    }
    if (valid === null) valid = words
    else for (let w = 0; w < valid.length; w++) valid[w]! &= words[w]!
  }
  return valid
}

/** Convert a boolean column to truth values. */
export function truthOfColumn({ column, constant }: Operand, length: number): Truth {
  if (column.type.kind === 'null') return constantTruth(null, length)
  const bits = wordsOf(column.values as Uint8Array, column.length)
  const truth = strictTruth(bits, [{ column, constant: false }], column.length)
  if (!constant) return truth
  return constantTruth(truth.isNull?.[0] === 1 ? null : truth.isTrue[0] === 1, length)
}

/** Convert truth values to a boolean column. */
export function columnOfTruth({ length, isTrue, isNull }: Truth): Column {
  const valid = isNull === null ? null : invert(isNull.slice(), length)
  return columnOf(boolType, length, { values: bytesOfWords(isTrue) }, valid)
}

export function not({ length, isTrue, isNull }: Truth): Truth {
  const words = new Uint32Array(isTrue.length)
  for (let w = 0; w < words.length; w++) words[w] = isTrue[w]! | (isNull === null ? 0 : isNull[w]!)
  return { length, isTrue: invert(words, length), isNull }
}

export function and(a: Truth, b: Truth): Truth {
  const isTrue = new Uint32Array(a.isTrue.length)
  for (let w = 0; w < isTrue.length; w++) isTrue[w] = a.isTrue[w]! & b.isTrue[w]!
  if (a.isNull === null && b.isNull === null) return { length: a.length, isTrue, isNull: null }
  const isNull = new Uint32Array(isTrue.length)
  for (let w = 0; w < isNull.length; w++) {
    isNull[w] = possible(a, w) & possible(b, w) & ~isTrue[w]!
  }
  return { length: a.length, isTrue, isNull }
}

export function or(a: Truth, b: Truth): Truth {
  const isTrue = new Uint32Array(a.isTrue.length)
  for (let w = 0; w < isTrue.length; w++) isTrue[w] = a.isTrue[w]! | b.isTrue[w]!
  if (a.isNull === null && b.isNull === null) return { length: a.length, isTrue, isNull: null }
  const isNull = new Uint32Array(isTrue.length)
  for (let w = 0; w < isNull.length; w++) {
    isNull[w] = (possible(a, w) | possible(b, w)) & ~isTrue[w]!
  }
  return { length: a.length, isTrue, isNull }
}

/** Return the bits of word `w` of the rows that are TRUE or NULL. */
function possible({ isTrue, isNull }: Truth, w: number): number {
  return isTrue[w]! | (isNull === null ? 0 : isNull[w]!)
}

/**
 * Return the requested rows whose result another operand can still change. For AND these rows are not FALSE, and for OR
 * they are not TRUE.
 */
export function undecided(kind: 'and' | 'or', truth: Truth, rows: RowMask): Uint32Array {
  const { isTrue, isNull } = truth
  const words = rows === null ? allRows(truth.length) : rows.slice()
  if (kind === 'or') for (let w = 0; w < words.length; w++) words[w]! &= ~isTrue[w]!
  else if (isNull === null) for (let w = 0; w < words.length; w++) words[w]! &= isTrue[w]!
  else for (let w = 0; w < words.length; w++) words[w]! &= isTrue[w]! | isNull[w]!
  return words
}

/** Compute `IS NULL`, `IS TRUE` or `IS FALSE` of truth values. The result is never NULL. */
export function isTruth(truth: Truth, what: 'null' | 'true' | 'false'): Truth {
  const { length, isTrue, isNull } = truth
  if (what === 'true') return { length, isTrue, isNull: null }
  if (what === 'null') return { length, isTrue: isNull ?? new Uint32Array(wordCount(length)), isNull: null }
  return { length, isTrue: not(truth).isTrue, isNull: null }
}

/** Compute `IS NULL` of values of any type. */
export function isMissing({ column, constant }: Operand, length: number): Truth {
  if (constant) return constantTruth(column.nullCount > 0 || column.type.kind === 'null', length)
  const valid = validWords(column)
  const isTrue = valid === null ? new Uint32Array(wordCount(length)) : invert(valid, length)
  return { length, isTrue, isNull: null }
}

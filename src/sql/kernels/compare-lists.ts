/**
 * Compare lists element by element, then by length. Inside lists, NULL equals NULL and is greater than every other
 * value.
 */
import type { Column } from '../../arrow/column.js'
import { takeColumn } from '../../arrow/take.js'
import type { CompareOp } from '../syntax/syntax.js'
import { bitAt, listOffsetsOf, type Operand, type RowMask, validWords, wordCount } from '../values/vector.js'
import { decoded } from './dictionary.js'

/**
 * Compares row i of one column with row i of another column of equal length, for all i. Returns a bitmap. The bit of a
 * pair with a NULL is undefined.
 */
type CompareElements = (op: CompareOp, left: Column, right: Column) => Uint32Array

/** By operator: whether it is true if the left side is less than, equal to, or greater than the right side. */
const holdsFor: Readonly<Record<CompareOp, readonly [less: boolean, equal: boolean, greater: boolean]>> = {
  '=': [false, true, false],
  '<>': [true, false, true],
  '<': [true, false, false],
  '<=': [true, true, false],
  '>': [false, false, true],
  '>=': [false, true, true],
}

/**
 * Return a bitmap of the rows for which `left op right` is true. The bit of a row with NULL on one side is undefined.
 */
export function compareLists(
  op: CompareOp,
  left: Column,
  right: Operand,
  length: number,
  rows: RowMask,
  compareElements: CompareElements,
): Uint32Array {
  const out = new Uint32Array(wordCount(length))
  const holds = holdsFor[op]
  const [a, b] = [listOffsetsOf(left), listOffsetsOf(right.column)]
  const [elementsA, elementsB] = [decoded(left.children[0]!), decoded(right.column.children[0]!)]
  const rowOfB = (row: number) => (right.constant ? 0 : row)
  const decide = (row: number, order: number) => {
    if (holds[order + 1]) out[row >>> 5]! |= 1 << (row & 31)
  }
  let pending = openRows(left, right, length, rows)
  // Most lists differ in their first elements. So the first round compares one element of each list, and each further
  // round compares twice as many elements as the previous round.
  for (let from = 0, count = 1; pending.length > 0; from += count, count *= 2) {
    const pairs = new Pairs()
    const starts = new Int32Array(pending.length + 1)
    for (let k = 0; k < pending.length; k++) {
      const row = pending[k]!
      const [startA, startB] = [a[row]! + from, b[rowOfB(row)]! + from]
      const left = Math.min(a[row + 1]! - startA, b[rowOfB(row) + 1]! - startB, count)
      for (let i = 0; i < left; i++) pairs.add(startA + i, startB + i)
      starts[k + 1] = pairs.length
    }
    const isEqual = pairs.equal(elementsA, elementsB, compareElements)
    const differing = new Pairs()
    const differingRows: number[] = []
    const undecided: number[] = []
    for (let k = 0; k < pending.length; k++) {
      const row = pending[k]!
      let at = starts[k]!
      const end = starts[k + 1]!
      while (at < end && bitAt(isEqual, at)) at++
      if (at < end) {
        differing.add(pairs.left[at]!, pairs.right[at]!)
        differingRows.push(row)
      } else if (end - starts[k]! === count) {
        undecided.push(row)
      } else {
        decide(row, Math.sign(a[row + 1]! - a[row]! - (b[rowOfB(row) + 1]! - b[rowOfB(row)]!)))
      }
    }
    const isLess = differing.less(elementsA, elementsB, compareElements)
    for (let k = 0; k < differingRows.length; k++) decide(differingRows[k]!, bitAt(isLess, k) ? -1 : 1)
    pending = undecided
  }
  return out
}

/** Return the requested rows that are not NULL on either side. */
function openRows(left: Column, right: Operand, length: number, rows: RowMask): number[] {
  const [validA, validB] = [validWords(left), validWords(right.column)]
  const pending: number[] = []
  for (let i = 0; i < length; i++) {
    const isWanted = rows === null || bitAt(rows, i)
    const hasB = validB === null || bitAt(validB, right.constant ? 0 : i)
    if (isWanted && hasB && (validA === null || bitAt(validA, i))) pending.push(i)
  }
  return pending
}

/** Pairs of elements to compare: positions in two columns of elements. */
class Pairs {
  readonly left: number[] = []
  readonly right: number[] = []

  get length(): number {
    return this.left.length
  }

  add(left: number, right: number): void {
    this.left.push(left)
    this.right.push(right)
  }

  /** Return a bitmap of the pairs that are equal. Two NULLs are equal. */
  equal(a: Column, b: Column, compare: CompareElements): Uint32Array {
    const [x, y] = this.#taken(a, b)
    const bits = compare('=', x, y)
    this.#whereNull(x, y, (i, isNullX, isNullY) => {
      if (isNullX && isNullY) bits[i >>> 5]! |= 1 << (i & 31)
      else bits[i >>> 5]! &= ~(1 << (i & 31))
    })
    return bits
  }

  /**
   * Return a bitmap of the pairs whose left element is less than the right one. No pair may be equal. NULL is greatest.
   */
  less(a: Column, b: Column, compare: CompareElements): Uint32Array {
    const [x, y] = this.#taken(a, b)
    const bits = compare('<', x, y)
    this.#whereNull(x, y, (i, isNullX) => {
      if (isNullX) bits[i >>> 5]! &= ~(1 << (i & 31))
      else bits[i >>> 5]! |= 1 << (i & 31)
    })
    return bits
  }

  #taken(a: Column, b: Column): readonly [Column, Column] {
    return [takeColumn(a, Int32Array.from(this.left)), takeColumn(b, Int32Array.from(this.right))]
  }

  #whereNull(x: Column, y: Column, visit: (i: number, isNullX: boolean, isNullY: boolean) => void): void {
    const [validX, validY] = [validWords(x), validWords(y)]
    if (validX === null && validY === null) return
    for (let i = 0; i < x.length; i++) {
      const isNullX = validX !== null && !bitAt(validX, i)
      const isNullY = validY !== null && !bitAt(validY, i)
      if (isNullX || isNullY) visit(i, isNullX, isNullY)
    }
  }
}

/** Functions that read lists. A NULL element equals no value. The result for a NULL list is NULL. */
import type { Column } from '../../arrow/column.js'
import { takeColumn } from '../../arrow/take.js'
import { invalidInput } from '../../errors.js'
import { orderOfBytes } from '../../primitives/order-of-bytes.js'
import { compareOperands } from '../kernels/compare.js'
import { withoutIntervals } from '../kernels/compare-values.js'
import { decoded } from '../kernels/dictionary.js'
import { spread } from '../kernels/gather.js'
import { memberRows } from '../kernels/members.js'
import { allRows, strictTruth, strictValidity, type Truth } from '../kernels/truth.js'
import { elementType } from '../values/types.js'
import {
  bitAt,
  byteRowsOf,
  Constant,
  columnOf,
  listOffsetsOf,
  type Operand,
  operandOf,
  scalarAt,
  validWords,
  wordCount,
} from '../values/vector.js'
import type { Call } from './call.js'
import { keyOf, type ListIndex, listIndexOf, membersIn, numbered, positionFrom } from './list-index.js'
import { numberOf, strictRows } from './operands.js'

/** Compute `array_length(list)`. */
export function arrayLength({ args, type, length }: Call): Column {
  const offsets = listOffsetsOf(spread(args[0]!, length))
  const values = new BigInt64Array(length)
  for (let i = 0; i < length; i++) values[i] = BigInt(offsets[i + 1]! - offsets[i]!)
  return columnOf(type, length, { values }, strictValidity(args, length))
}

/** Compute `cardinality(list)`: the number of elements of all innermost lists together. */
export function cardinality({ args, type, length }: Call): Column {
  const counts = elementsPerRow(spread(args[0]!, length))
  return columnOf(type, length, { values: BigUint64Array.from(counts, BigInt) }, strictValidity(args, length))
}

/** Return the number of elements of all innermost lists of each row. It is 0 for a NULL list. */
function elementsPerRow(lists: Column): Float64Array {
  const offsets = listOffsetsOf(lists)
  const child = decoded(lists.children[0]!)
  const inner = elementType(child.type) === null ? null : elementsPerRow(child)
  const valid = validWords(lists)
  const counts = new Float64Array(lists.length)
  for (let i = 0; i < lists.length; i++) {
    if (valid !== null && !bitAt(valid, i)) continue
    if (inner === null) counts[i] = offsets[i + 1]! - offsets[i]!
    else for (let k = offsets[i]!; k < offsets[i + 1]!; k++) counts[i]! += inner[k]!
  }
  return counts
}

/** Compute `array_has(list, element)`. A constant list becomes a set, in which the element of each row is looked up. */
export function arrayHas({ args, length, rows }: Call): Truth {
  const [list, wanted] = args as [Operand, Operand]
  if (list.constant && !wanted.constant) {
    const isMember = memberRows(list.once(membersIn), wanted.column, length, rows)
    return strictTruth(isMember, args, length)
  }
  const lists = spread(list, length)
  const offsets = listOffsetsOf(lists)
  return strictTruth(anyPerRow(equalElements(lists, offsets, wanted), offsets, length), args, length)
}

/** Return a bitmap of the elements that equal the wanted value of their row. */
function equalElements(lists: Column, offsets: Int32Array, wanted: Operand): Uint32Array {
  const column = decoded(lists.children[0]!)
  if (!wanted.constant && hasByteRows(column) && hasByteRows(wanted.column)) {
    return equalTexts(column, offsets, wanted.column)
  }
  const perElement = wanted.constant
    ? wanted
    : operandOf(takeColumn(wanted.column, rowOfElement(offsets, column.length)), false)
  return compareOperands('=', { column, constant: false }, perElement, column.length, null).isTrue
}

function hasByteRows({ type }: Column): boolean {
  return type.kind === 'utf8' || type.kind === 'binary' || type.kind === 'fixed_size_binary'
}

/**
 * Compute `equalElements` for byte strings. The wanted strings may be long, so they are not copied for every element.
 */
function equalTexts(elements: Column, offsets: Int32Array, wanted: Column): Uint32Array {
  const out = new Uint32Array(wordCount(elements.length))
  const [valid, wantedValid] = [validWords(elements), validWords(wanted)]
  const [a, b] = [byteRowsOf(elements), byteRowsOf(wanted)]
  for (let i = 0; i < wanted.length; i++) {
    if (wantedValid !== null && !bitAt(wantedValid, i)) continue
    const [start, end] = [b.offsets[i]!, b.offsets[i + 1]!]
    for (let k = offsets[i]!; k < offsets[i + 1]!; k++) {
      if (a.offsets[k + 1]! - a.offsets[k]! !== end - start) continue
      if (valid !== null && !bitAt(valid, k)) continue
      const order = orderOfBytes(a.bytes, a.offsets[k]!, a.offsets[k + 1]!, b.bytes, start, end)
      if (order === 0) out[k >>> 5]! |= 1 << (k & 31)
    }
  }
  return out
}

/** Return the row of the list that contains each element, -1 for elements outside of all lists. */
function rowOfElement(offsets: Int32Array, count: number): Int32Array {
  const rows = new Int32Array(count).fill(-1)
  for (let i = 0; i < offsets.length - 1; i++) rows.fill(i, offsets[i]!, offsets[i + 1]!)
  return rows
}

/** Return a bitmap of the lists with at least one element whose bit is set in `bits`. */
function anyPerRow(bits: Uint32Array, offsets: Int32Array, length: number): Uint32Array {
  const out = new Uint32Array(wordCount(length))
  for (let i = 0; i < length; i++) {
    const end = offsets[i + 1]!
    let at = offsets[i]!
    while (at < end && !bitAt(bits, at)) at++
    if (at < end) out[i >>> 5]! |= 1 << (i & 31)
  }
  return out
}

/** Return a bitmap of the lists for whose elements all bits are set in `bits`. */
function allPerRow(bits: Uint32Array, offsets: Int32Array, length: number): Uint32Array {
  const out = new Uint32Array(wordCount(length))
  for (let i = 0; i < length; i++) {
    const end = offsets[i + 1]!
    let at = offsets[i]!
    while (at < end && bitAt(bits, at)) at++
    if (at === end) out[i >>> 5]! |= 1 << (i & 31)
  }
  return out
}

/** Compute `array_has_any(list, list)`: whether the lists share an element. The result is FALSE if a list is empty. */
export function arrayHasAny(call: Call): Truth {
  const [first, second] = call.args as [Operand, Operand]
  if (second.constant) return hasAnyConstant(call, first, second)
  return first.constant ? hasAnyConstant(call, second, first) : compareLists(call, hasAny)
}

function hasAnyConstant({ args, length }: Call, lists: Operand, wanted: Constant): Truth {
  const { isMember, offsets } = membersPerElement(lists, wanted, length)
  return strictTruth(anyPerRow(isMember, offsets, length), args, length)
}

/**
 * Compute `array_has_all(list, list)`: whether the first list has all elements of the second. The result is TRUE if the
 * second list is empty.
 */
export function arrayHasAll(call: Call): Truth {
  const { args, length } = call
  const [first, second] = args as [Operand, Operand]
  if (second.constant) return hasAllConstants(call, second)
  if (!first.constant) return compareLists(call, hasAll)
  const { isMember, offsets } = membersPerElement(second, first, length)
  return strictTruth(allPerRow(isMember, offsets, length), args, length)
}

/** Return a bitmap of the elements that a constant list contains. A NULL element counts as not contained. */
function membersPerElement(operand: Operand, wanted: Constant, length: number) {
  const lists = spread(operand, length)
  const elements = decoded(lists.children[0]!)
  const { isTrue } = strictTruth(
    memberRows(wanted.once(membersIn), elements, elements.length, null),
    [{ column: elements, constant: false }],
    elements.length,
  )
  return { elements, isMember: isTrue, offsets: listOffsetsOf(lists) }
}

/**
 * Maximum number of distinct elements of a constant list that are searched one after the other. For so few elements,
 * this is faster than counting the elements that are found.
 */
const maxFew = 8

function hasAllConstants({ args, length }: Call, wanted: Constant): Truth {
  const list = args[0]!
  const index = wanted.once(listIndexOf)
  // No element equals the NULL of the constant list, so no list has all its elements.
  if (index.hasNull) return strictTruth(new Uint32Array(wordCount(length)), args, length)
  const hasEach = index.numbers.size <= maxFew ? hasEachOfFew : hasEachOfMany
  return strictTruth(hasEach(index, list, wanted, length), args, length)
}

function hasEachOfFew({ positions, starts }: ListIndex, list: Operand, wanted: Constant, length: number) {
  const lists = spread(list, length)
  const offsets = listOffsetsOf(lists)
  const column = decoded(lists.children[0]!)
  const values = decoded(wanted.column.children[0]!)
  const first = listOffsetsOf(wanted.column)[0]!
  const isMatch = allRows(length)
  for (let n = 0; n + 1 < starts.length; n++) {
    const value = new Constant(takeColumn(values, Uint32Array.of(first + positions[starts[n]!]!)))
    const equal = compareOperands('=', { column, constant: false }, value, column.length, null)
    const matches = anyPerRow(equal.isTrue, offsets, length)
    for (let w = 0; w < isMatch.length; w++) isMatch[w]! &= matches[w]!
  }
  return isMatch
}

function hasEachOfMany({ numbers }: ListIndex, list: Operand, wanted: Constant, length: number) {
  const { elements, isMember, offsets } = membersPerElement(list, wanted, length)
  const isMatch = new Uint32Array(wordCount(length))
  /** By element number: the last row (counted from 1) whose list has the element. */
  const seenIn = new Int32Array(numbers.size)
  const column = withoutIntervals(elements)
  for (let i = 0; i < length; i++) {
    let missing = numbers.size
    for (let k = offsets[i]!; k < offsets[i + 1]! && missing > 0; k++) {
      if (!bitAt(isMember, k)) continue
      const number = numbers.get(keyOf(scalarAt(column, k)))!
      if (seenIn[number] !== i + 1) missing--
      seenIn[number] = i + 1
    }
    if (missing === 0) isMatch[i >>> 5]! |= 1 << (i & 31)
  }
  return isMatch
}

/** The elements of two list columns as numbers. Equal elements have equal numbers. NULL has the number -1. */
interface NumberedLists {
  readonly first: Int32Array
  readonly firstOffsets: Int32Array
  readonly second: Int32Array
  readonly secondOffsets: Int32Array
  /** By element number: the last row (counted from 1) in which the searched list has the element. */
  readonly seenIn: Int32Array
}

function compareLists(call: Call, test: (lists: NumberedLists, row: number) => boolean): Truth {
  const { args, length } = call
  const [first, second] = args.map(arg => spread(arg, length)) as [Column, Column]
  const numbers = new Map<unknown, number>()
  const lists = {
    first: numbered(first.children[0]!, numbers),
    firstOffsets: listOffsetsOf(first),
    second: numbered(second.children[0]!, numbers),
    secondOffsets: listOffsetsOf(second),
    seenIn: new Int32Array(numbers.size),
  }
  const isTrue = new Uint32Array(wordCount(length))
  const { needed } = strictRows(call)
  for (let i = 0; i < length; i++) {
    if (bitAt(needed, i) && test(lists, i)) isTrue[i >>> 5]! |= 1 << (i & 31)
  }
  return strictTruth(isTrue, args, length)
}

function hasAny({ first, firstOffsets, second, secondOffsets, seenIn }: NumberedLists, row: number): boolean {
  for (let k = secondOffsets[row]!; k < secondOffsets[row + 1]!; k++) {
    if (second[k] !== -1) seenIn[second[k]!] = row + 1
  }
  for (let k = firstOffsets[row]!; k < firstOffsets[row + 1]!; k++) {
    if (first[k] !== -1 && seenIn[first[k]!] === row + 1) return true
  }
  return false
}

function hasAll({ first, firstOffsets, second, secondOffsets, seenIn }: NumberedLists, row: number): boolean {
  for (let k = firstOffsets[row]!; k < firstOffsets[row + 1]!; k++) {
    if (first[k] !== -1) seenIn[first[k]!] = row + 1
  }
  for (let k = secondOffsets[row]!; k < secondOffsets[row + 1]!; k++) {
    if (second[k] === -1 || seenIn[second[k]!] !== row + 1) return false
  }
  return true
}

/**
 * Compute `array_position(list, element)` or `array_position(list, element, from)`: the first position of the element
 * at or after `from`. Positions count from 1. The result is NULL if there is no such position.
 */
export function arrayPosition(call: Call): Column {
  const { args, type, length, describe } = call
  const [list, wanted, from] = args as [Operand, Operand, Operand?]
  const { needed } = strictRows(call)
  const positionIn = list.constant
    ? positionsInConstant(list, wanted)
    : positionsPerRow(spread(list, length), wanted)
  const valid = new Uint32Array(wordCount(length))
  const values = new BigUint64Array(length)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const first = from === undefined ? 1 : numberOf(from, i)
    if (first < 1) {
      throw invalidInput(`positions in a list are counted from 1, not ${first}, in ${describe()}`, {
        hint: 'write 1 to search the whole list',
      })
    }
    const position = positionIn(i, first - 1)
    if (position === -1) continue
    values[i] = BigInt(position + 1)
    valid[i >>> 5]! |= 1 << (i & 31)
  }
  return columnOf(type, length, { values }, valid)
}

/**
 * Returns the first position of the wanted value of a row at or after `from`, or -1 if there is none. Positions count
 * from 0.
 */
type PositionIn = (row: number, from: number) => number

function positionsInConstant(list: Constant, wanted: Operand): PositionIn {
  const index = list.once(listIndexOf)
  const column = withoutIntervals(wanted.column)
  return (row, from) => {
    const number = index.numbers.get(keyOf(scalarAt(column, wanted.constant ? 0 : row)))
    return number === undefined ? -1 : positionFrom(index, number, from)
  }
}

function positionsPerRow(lists: Column, wanted: Operand): PositionIn {
  const offsets = listOffsetsOf(lists)
  const isEqual = equalElements(lists, offsets, wanted)
  return (row, from) => {
    const end = offsets[row + 1]!
    let at = Math.min(offsets[row]! + from, end)
    while (at < end && !bitAt(isEqual, at)) at++
    return at === end ? -1 : at - offsets[row]!
  }
}

/** Compute `empty(list)`. */
export function isEmptyList({ args, length }: Call): Truth {
  const offsets = listOffsetsOf(spread(args[0]!, length))
  const isTrue = new Uint32Array(wordCount(length))
  for (let i = 0; i < length; i++) if (offsets[i] === offsets[i + 1]) isTrue[i >>> 5]! |= 1 << (i & 31)
  return strictTruth(isTrue, args, length)
}

/** Compute `array_element(list, index)`. */
export function elementOf({ args, length }: Call): Column {
  return listElement(args[0]!, args[1]!, length)
}

/**
 * Compute `list[index]`. The index counts from 1, and a negative index counts from the end. The result is NULL for an
 * index outside of the list.
 */
export function listElement(list: Operand, index: Operand, length: number): Column {
  const offsets = listOffsetsOf(list.column)
  const valid = strictValidity([list, index], length)
  const positions = index.column.values as BigInt64Array
  const rows = new Int32Array(length).fill(-1)
  for (let i = 0; i < length; i++) {
    if (valid !== null && !bitAt(valid, i)) continue
    const [start, end] = [offsets[list.constant ? 0 : i]!, offsets[list.constant ? 1 : i + 1]!]
    const position = Number(positions[index.constant ? 0 : i]!)
    if (position >= 1 && position <= end - start) rows[i] = start + position - 1
    else if (position < 0 && -position <= end - start) rows[i] = end + position
  }
  return takeColumn(list.column.children[0]!, rows)
}

/** Functions of lists. An element that is null equals nothing; a list that is null gives NULL. */
import type { Column } from '../arrow/column.js'
import { takeColumn } from '../arrow/take.js'
import type { Scalar } from './bound.js'
import type { Call } from './call.js'
import { compareOperands } from './compare.js'
import { decoded } from './dictionary.js'
import { spread } from './gather.js'
import { memberRows, membersOf } from './members.js'
import { allRows, strictTruth, strictValidity, type Truth } from './truth.js'
import {
  bitAt,
  columnOf,
  columnOfScalars,
  listOffsetsOf,
  type Operand,
  scalarAt,
  wordCount,
} from './vector.js'

/** `array_length(list)` as int64. */
export function arrayLength({ args, type, length }: Call): Column {
  const offsets = listOffsetsOf(spread(args[0]!, length))
  const values = new BigInt64Array(length)
  for (let i = 0; i < length; i++) values[i] = BigInt(offsets[i + 1]! - offsets[i]!)
  return columnOf(type, length, { values }, strictValidity(args, length))
}

/** `array_has(list, element)`. */
export function arrayHas({ args, length }: Call): Truth {
  const [list, wanted] = args as [Operand, Operand]
  const lists = spread(list, length)
  const offsets = listOffsetsOf(lists)
  const elements = decoded(lists.children[0]!)
  const perElement = wanted.constant
    ? wanted
    : { column: takeColumn(wanted.column, rowOfElement(offsets, elements.length)), constant: false }
  const { isTrue } = compareOperands(
    '=',
    { column: elements, constant: false },
    perElement,
    elements.length,
    null,
  )
  return strictTruth(anyPerRow(isTrue, offsets, length), args, length)
}

/** The list each element belongs to; -1 for elements outside of every list. */
function rowOfElement(offsets: Int32Array, count: number): Int32Array {
  const rows = new Int32Array(count).fill(-1)
  for (let i = 0; i < offsets.length - 1; i++) rows.fill(i, offsets[i]!, offsets[i + 1]!)
  return rows
}

/** A bit per list: whether any of its elements has one. */
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

/** `array_has_any(list, constants)`: false for no constants. */
export function arrayHasAny({ args, length }: Call): Truth {
  const lists = spread(args[0]!, length)
  const elements = decoded(lists.children[0]!)
  const wanted = constantsOf(args[1]!)
  const { isTrue } = strictTruth(
    memberRows(membersOf(elements.type, wanted), elements, elements.length, null),
    [{ column: elements, constant: false }],
    elements.length,
  )
  return strictTruth(anyPerRow(isTrue, listOffsetsOf(lists), length), args, length)
}

/** `array_has_all(list, constants)`: true for no constants. */
export function arrayHasAll({ args, length }: Call): Truth {
  const lists = spread(args[0]!, length)
  const elements = { column: decoded(lists.children[0]!), constant: false }
  const { type, length: count } = elements.column
  const offsets = listOffsetsOf(lists)
  const isHit = allRows(length)
  for (const value of constantsOf(args[1]!)) {
    const wanted = { column: columnOfScalars(type, [value]), constant: true }
    const hits = anyPerRow(compareOperands('=', elements, wanted, count, null).isTrue, offsets, length)
    let left = 0
    for (let w = 0; w < isHit.length; w++) left |= isHit[w]! &= hits[w]!
    if (left === 0) break
  }
  return strictTruth(isHit, args, length)
}

/** The distinct elements of a constant list. One that is null is kept: nothing equals it. */
function constantsOf({ column }: Operand): Scalar[] {
  return [...new Set((scalarAt(column, 0) as readonly Scalar[] | null) ?? [])]
}

/** `list[index]`, counted from 1 or, negative, from the end; null outside of the list. */
export function listElement(list: Operand, index: Operand, length: number): Column {
  const lists = spread(list, length)
  const offsets = listOffsetsOf(lists)
  const valid = strictValidity([list, index], length)
  const positions = index.column.values as BigInt64Array
  const rows = new Int32Array(length).fill(-1)
  for (let i = 0; i < length; i++) {
    if (valid !== null && !bitAt(valid, i)) continue
    const size = offsets[i + 1]! - offsets[i]!
    const position = Number(positions[index.constant ? 0 : i]!)
    if (position >= 1 && position <= size) rows[i] = offsets[i]! + position - 1
    else if (position < 0 && -position <= size) rows[i] = offsets[i + 1]! + position
  }
  return takeColumn(lists.children[0]!, rows)
}

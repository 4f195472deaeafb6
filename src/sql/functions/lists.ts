/** Functions of lists. An element that is null equals nothing; a list that is null gives NULL. */
import type { Column } from '../../arrow/column.js'
import { takeColumn } from '../../arrow/take.js'
import { invalidInput } from '../../errors.js'
import type { Scalar } from '../bound.js'
import { ByteBuilder, textAt } from '../kernels/byte-builder.js'
import { castColumn } from '../kernels/cast.js'
import { compareOperands } from '../kernels/compare.js'
import { decoded } from '../kernels/dictionary.js'
import { spread } from '../kernels/gather.js'
import { memberRows, membersOf } from '../kernels/members.js'
import { allRows, strictTruth, strictValidity, type Truth } from '../kernels/truth.js'
import { utf8 } from '../values/types.js'
import {
  bitAt,
  byteRowsOf,
  columnOf,
  columnOfScalars,
  listOffsetsOf,
  type Operand,
  scalarAt,
  validWords,
  wordCount,
} from '../values/vector.js'
import type { Call } from './call.js'
import { numberOf, strictRows, textOf } from './operands.js'

/** `array_length(list)` as int64, `cardinality(list)` as uint64. */
export function arrayLength({ args, type, length }: Call): Column {
  const offsets = listOffsetsOf(spread(args[0]!, length))
  const values = type.kind === 'int' && type.signed ? new BigInt64Array(length) : new BigUint64Array(length)
  for (let i = 0; i < length; i++) values[i] = BigInt(offsets[i + 1]! - offsets[i]!)
  return columnOf(type, length, { values }, strictValidity(args, length))
}

/** `array_has(list, element)`. */
export function arrayHas({ args, length }: Call): Truth {
  const [list, wanted] = args as [Operand, Operand]
  const lists = spread(list, length)
  const offsets = listOffsetsOf(lists)
  return strictTruth(anyPerRow(equalElements(lists, offsets, wanted), offsets, length), args, length)
}

/** A bit per element: whether it equals what is wanted in its row. */
function equalElements(lists: Column, offsets: Int32Array, wanted: Operand): Uint32Array {
  const column = decoded(lists.children[0]!)
  const perElement = wanted.constant
    ? wanted
    : { column: takeColumn(wanted.column, rowOfElement(offsets, column.length)), constant: false }
  return compareOperands('=', { column, constant: false }, perElement, column.length, null).isTrue
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

/** `array_has_any(list, list)`: false where the second has no elements. */
export function arrayHasAny(call: Call): Truth {
  return call.args[1]!.constant ? hasAnyConstant(call) : compareLists(call, hasAny)
}

/** `array_has_all(list, list)`: true where the second has no elements. */
export function arrayHasAll(call: Call): Truth {
  return call.args[1]!.constant ? hasAllConstants(call) : compareLists(call, hasAll)
}

function hasAnyConstant({ args, length }: Call): Truth {
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

function hasAllConstants({ args, length }: Call): Truth {
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

/** Elements of two columns of lists as numbers: equal ones have the same, -1 is a null. */
interface NumberedLists {
  readonly first: Int32Array
  readonly firstOffsets: Int32Array
  readonly second: Int32Array
  readonly secondOffsets: Int32Array
  /** One per number: the row it was seen in last, counted from 1. */
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

/** A number for every element, the same for those that are equal. `numbers` keeps those given so far. */
function numbered(elements: Column, numbers: Map<unknown, number>): Int32Array {
  const column = decoded(elements)
  const out = new Int32Array(column.length)
  for (let k = 0; k < out.length; k++) {
    const value = scalarAt(column, k)
    const key = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value
    const known = key === null ? -1 : numbers.get(key)
    out[k] = known ?? numbers.size
    if (known === undefined) numbers.set(key, numbers.size)
  }
  return out
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

/** `array_position(list, element)`, `array_position(list, element, from)`: counted from 1; null where it does not occur. */
export function arrayPosition(call: Call): Column {
  const { args, type, length, describe } = call
  const [list, wanted, from] = args as [Operand, Operand, Operand?]
  const { needed } = strictRows(call)
  const lists = spread(list, length)
  const offsets = listOffsetsOf(lists)
  const isEqual = equalElements(lists, offsets, wanted)
  const valid = new Uint32Array(wordCount(length))
  const values = new BigUint64Array(length)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const first = from === undefined ? 1 : numberOf(from, i)
    if (first < 1) throw invalidInput(`places in a list are counted from 1, not ${first}, in ${describe()}`)
    let at = Math.min(offsets[i]! + first - 1, offsets[i + 1]!)
    while (at < offsets[i + 1]! && !bitAt(isEqual, at)) at++
    if (at === offsets[i + 1]!) continue
    values[i] = BigInt(at - offsets[i]! + 1)
    valid[i >>> 5]! |= 1 << (i & 31)
  }
  return columnOf(type, length, { values }, valid)
}

/** `array_to_string(list, separator)`: nulls are left out, or written as a third argument says. */
export function arrayToString(call: Call): Column {
  const { args, length, type, describe } = call
  const { valid, needed } = strictRows(call)
  const lists = spread(args[0]!, length)
  const offsets = listOffsetsOf(lists)
  const elements = castColumn(decoded(lists.children[0]!), utf8, false, null, describe)
  const present = validWords(elements)
  const builder = ByteBuilder.growing(length, byteRowsOf(elements).bytes.length)
  for (let i = 0; i < length; i++) {
    const parts: string[] = []
    const end = bitAt(needed, i) ? offsets[i + 1]! : 0
    for (let k = offsets[i]!; k < end; k++) {
      if (present === null || bitAt(present, k)) parts.push(textAt(elements, k))
      else if (args.length === 3) parts.push(textOf(args[2]!, i))
    }
    if (parts.length > 0) joinInto(builder, parts, textOf(args[1]!, i))
    builder.endRow()
  }
  return builder.finish(type, valid)
}

function joinInto(builder: ByteBuilder, parts: readonly string[], separator: string): void {
  for (const [i, part] of parts.entries()) {
    if (i > 0) builder.text(separator)
    builder.text(part)
  }
}

/** `empty(list)`. */
export function isEmptyList({ args, length }: Call): Truth {
  const offsets = listOffsetsOf(spread(args[0]!, length))
  const isTrue = new Uint32Array(wordCount(length))
  for (let i = 0; i < length; i++) if (offsets[i] === offsets[i + 1]) isTrue[i >>> 5]! |= 1 << (i & 31)
  return strictTruth(isTrue, args, length)
}

/** `array_element(list, index)`. */
export function elementOf({ args, length }: Call): Column {
  return listElement(args[0]!, args[1]!, length)
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

/**
 * Lists changed by which elements are equal: integers, floats and so on as `=` has them, lists element by element. A null
 * equals a null.
 */
import type { Column } from '../../arrow/column.js'
import { checkSpread } from '../kernels/gather.js'
import { bitAt, columnOf, type Operand, wordCount } from '../values/vector.js'
import type { Call, Kernel } from './call.js'
import { type ListBuilder, Lists } from './list-builder.js'
import { eachList } from './list-edit.js'
import { numbered } from './list-index.js'
import { numberOf } from './operands.js'

/** `array_positions(list, element)`: every place of the element, counted from 1. */
export function arrayPositions(call: Call): Column {
  const { type, length, rows } = call
  const { lists, isWanted } = matching(call)
  const offsets = new Int32Array(length + 1)
  const valid = new Uint32Array(wordCount(length))
  const places: bigint[] = []
  for (let i = 0; i < length; i++) {
    if ((rows === null || bitAt(rows, i)) && lists.has(i)) {
      for (let k = lists.start(i); k < lists.end(i); k++) {
        if (isWanted(i, k)) places.push(BigInt(k - lists.start(i) + 1))
      }
      valid[i >>> 5]! |= 1 << (i & 31)
    }
    offsets[i + 1] = places.length
  }
  const element = (type as typeof type & { kind: 'list' }).child.type
  const child = columnOf(element, places.length, { values: BigUint64Array.from(places) }, null)
  return columnOf(type, length, { offsets, children: [child] }, valid)
}

/** The lists of the first argument, and whether element `k` of them is what the second asks for in a row. */
function matching({ args, length }: Call) {
  const [list, wanted] = args as [Operand, Operand]
  const lists = new Lists(list, length)
  const numbers = new Map<unknown, number>()
  const elements = numbered(lists.elements, numbers)
  const asked = numbered(wanted.column, numbers)
  const isWanted = (row: number, k: number) => elements[k] === asked[wanted.constant ? 0 : row]
  return { lists, isWanted }
}

/**
 * `array_remove(list, element)`, `array_remove_all` and `array_remove_n(list, element, most)`: without the first `most`
 * elements that equal it.
 */
export function arrayRemove(most: number | null): Kernel {
  return call => {
    const { lists, isWanted } = matching(call)
    const limit = limitOf(most, call.args[2])
    return eachList(call, [lists.elements], (builder, row) => {
      let left = limit(row)
      for (let k = lists.start(row); k < lists.end(row); k++) {
        if (left > 0 && isWanted(row, k)) left--
        else builder.add(0, k)
      }
    })
  }
}

/**
 * `array_replace(list, element, other)`, `array_replace_all` and `array_replace_n(list, element, other, most)`: `other` in
 * place of the first `most` elements that equal it. NULL only where the list or `most` is.
 */
export function arrayReplace(most: number | null): Kernel {
  return call => {
    const [list, , other, count] = call.args as [Operand, Operand, Operand, Operand?]
    checkSpread(other, call.length)
    const { lists, isWanted } = matching(call)
    const limit = limitOf(most, count)
    const strict = { ...call, args: count === undefined ? [list] : [list, count] }
    return eachList(strict, [lists.elements, other.column], (builder, row) => {
      let left = limit(row)
      for (let k = lists.start(row); k < lists.end(row); k++) {
        if (left > 0 && isWanted(row, k)) {
          builder.addRepeated(1, other.constant ? 0 : row)
          left--
        } else builder.add(0, k)
      }
    })
  }
}

/** How many elements are changed in each row: `most`, or what an argument says. */
function limitOf(most: number | null, count: Operand | undefined): (row: number) => number {
  return most === null ? row => numberOf(count!, row) : () => most
}

/** `array_distinct(list)`: each value where it stands first. */
export function arrayDistinct(call: Call): Column {
  const { parts, seen } = numberedParts(call)
  return eachList(call, [parts[0]!.lists.elements], (builder, row) => {
    addNew(builder, parts, 0, row, seen, () => true)
  })
}

/** `array_union(list, list)`: each value of either, in the order they come first. */
export function arrayUnion(call: Call): Column {
  const { parts, seen } = numberedParts(call)
  const sources = parts.map(({ lists }) => lists.elements)
  return eachList(call, sources, (builder, row) => {
    addNew(builder, parts, 0, row, seen, () => true)
    addNew(builder, parts, 1, row, seen, () => true)
  })
}

/** `array_intersect(list, list)` and `array_except`: each value of the first that the second has, or has not. */
export function arrayWhere(isInSecond: boolean): Kernel {
  return call => {
    const { parts, seen } = numberedParts(call)
    const inSecond = new Int32Array(seen.length)
    return eachList(call, [parts[0]!.lists.elements], (builder, row) => {
      const { lists, numbers } = parts[1]!
      for (let k = lists.start(row); k < lists.end(row); k++) inSecond[numbers[k]! + 1] = row + 1
      addNew(builder, parts, 0, row, seen, number => (inSecond[number + 1] === row + 1) === isInSecond)
    })
  }
}

/** Lists and a number for each of their elements: equal ones of all lists have the same, -1 is a null. */
interface NumberedPart {
  readonly lists: Lists
  readonly numbers: Int32Array
}

/** All arguments, and one place per number for the row it was seen in last, counted from 1. */
function numberedParts({ args, length }: Call) {
  const numbers = new Map<unknown, number>()
  const parts = args.map((arg): NumberedPart => {
    const lists = new Lists(arg, length)
    return { lists, numbers: numbered(lists.elements, numbers) }
  })
  return { parts, seen: new Int32Array(numbers.size + 1) }
}

/** Adds the elements of one part that are wanted and were not seen in the row before. */
function addNew(
  builder: ListBuilder,
  parts: readonly NumberedPart[],
  part: number,
  row: number,
  seen: Int32Array,
  isWanted: (number: number) => boolean,
): void {
  const { lists, numbers } = parts[part]!
  for (let k = lists.start(row); k < lists.end(row); k++) {
    const number = numbers[k]!
    if (seen[number + 1] === row + 1 || !isWanted(number)) continue
    seen[number + 1] = row + 1
    builder.add(part, k)
  }
}

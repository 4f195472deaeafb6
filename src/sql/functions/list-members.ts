/**
 * Functions that compare list elements for equality. Elements are compared as by `=`, but NULL equals NULL.
 */
import type { Column } from '../../arrow/column.js'
import { checkSpread } from '../kernels/gather.js'
import { bitAt, columnOf, type Operand, wordCount } from '../values/vector.js'
import type { Call, Kernel } from './call.js'
import { type ListBuilder, Lists } from './list-builder.js'
import { eachList } from './list-edit.js'
import { numbered } from './list-index.js'
import { numberOf } from './operands.js'

/** Compute `array_positions(list, element)`: a list of all positions of the element, counted from 1. */
export function arrayPositions(call: Call): Column {
  const { type, length, rows } = call
  const { lists, isWanted } = matching(call)
  const offsets = new Int32Array(length + 1)
  const valid = new Uint32Array(wordCount(length))
  const positions: bigint[] = []
  for (let i = 0; i < length; i++) {
    if ((rows === null || bitAt(rows, i)) && lists.has(i)) {
      for (let k = lists.start(i); k < lists.end(i); k++) {
        if (isWanted(i, k)) positions.push(BigInt(k - lists.start(i) + 1))
      }
      valid[i >>> 5]! |= 1 << (i & 31)
    }
    offsets[i + 1] = positions.length
  }
  const element = (type as typeof type & { kind: 'list' }).child.type
  const child = columnOf(element, positions.length, { values: BigUint64Array.from(positions) }, null)
  return columnOf(type, length, { offsets, children: [child] }, valid)
}

/**
 * Return the lists of the first argument, and a function that returns whether element `k` equals the second argument in
 * a row.
 */
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
 * Return the kernel of `array_remove(list, element)`, `array_remove_all` or `array_remove_n(list, element, count)`.
 * `most`: the maximum number of equal elements that are removed, from the start of the list. Null: this number is an
 * argument.
 */
export function arrayRemove(most: number | null): Kernel {
  return call => {
    const { lists, isWanted } = matching(call)
    const limit = limitOf(most, call.args[2])
    return eachList(call, [lists.elements], (builder, row) => {
      let remaining = limit(row)
      for (let k = lists.start(row); k < lists.end(row); k++) {
        if (remaining > 0 && isWanted(row, k)) remaining--
        else builder.add(0, k)
      }
    })
  }
}

/**
 * Return the kernel of `array_replace(list, element, other)`, `array_replace_all` or
 * `array_replace_n(list, element, other, count)`. `most`: the maximum number of equal elements that are replaced by
 * `other`, from the start of the list. Null: this number is an argument. The result is NULL only if the list or the
 * count is NULL.
 */
export function arrayReplace(most: number | null): Kernel {
  return call => {
    const [list, , other, count] = call.args as [Operand, Operand, Operand, Operand?]
    checkSpread(other, call.length)
    const { lists, isWanted } = matching(call)
    const limit = limitOf(most, count)
    const strict = { ...call, args: count === undefined ? [list] : [list, count] }
    return eachList(strict, [lists.elements, other.column], (builder, row) => {
      let remaining = limit(row)
      for (let k = lists.start(row); k < lists.end(row); k++) {
        if (remaining > 0 && isWanted(row, k)) {
          builder.addRepeated(1, other.constant ? 0 : row)
          remaining--
        } else builder.add(0, k)
      }
    })
  }
}

/**
 * Return a function that returns the maximum number of changed elements in a row: `most`, or the value of an argument.
 */
function limitOf(most: number | null, count: Operand | undefined): (row: number) => number {
  return most === null ? row => numberOf(count!, row) : () => most
}

/** Compute `array_distinct(list)`: the distinct elements, in the order of their first positions. */
export function arrayDistinct(call: Call): Column {
  const { parts, seen } = numberedParts(call)
  return eachList(call, [parts[0]!.lists.elements], (builder, row) => {
    addNew(builder, parts, 0, row, seen, () => true)
  })
}

/** Compute `array_union(list, list)`: the distinct elements of both lists, in the order of their first positions. */
export function arrayUnion(call: Call): Column {
  const { parts, seen } = numberedParts(call)
  const sources = parts.map(({ lists }) => lists.elements)
  return eachList(call, sources, (builder, row) => {
    addNew(builder, parts, 0, row, seen, () => true)
    addNew(builder, parts, 1, row, seen, () => true)
  })
}

/**
 * Return the kernel of `array_intersect(list, list)` or `array_except(list, list)`: the distinct elements of the first
 * list that are in the second list (`isInSecond`), or that are not in it.
 */
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

/** A list argument with a number for each element. Equal elements of all arguments have equal numbers. NULL has -1. */
interface NumberedPart {
  readonly lists: Lists
  readonly numbers: Int32Array
}

/**
 * Return all arguments with numbered elements. `seen[n + 1]`: the last row (counted from 1) in which element number n
 * was added to the result.
 */
function numberedParts({ args, length }: Call) {
  const numbers = new Map<unknown, number>()
  const parts = args.map((arg): NumberedPart => {
    const lists = new Lists(arg, length)
    return { lists, numbers: numbered(lists.elements, numbers) }
  })
  return { parts, seen: new Int32Array(numbers.size + 1) }
}

/** Add the elements of one argument that are wanted and were not added to this row before. */
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

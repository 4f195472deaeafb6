/** The elements of lists as sets and numbers; those of a list that is the same in every row are looked up, not laid out for each. */
import { type Column, isValid } from '../../arrow/column.js'
import { withoutIntervals } from '../kernels/compare-values.js'
import { decoded } from '../kernels/dictionary.js'
import { type Members, membersOf } from '../kernels/members.js'
import type { Scalar } from '../values/scalar.js'
import { listOffsetsOf, scalarAt } from '../values/vector.js'

/** What was made of constant lists, for as long as they live: every batch has the same. */
const memberSets = new WeakMap<Column, Members>()
const listIndexes = new WeakMap<Column, ListIndex>()

/** The elements of a constant list as a set. */
export function membersIn(list: Column): Members {
  let members = memberSets.get(list)
  if (members === undefined) {
    const values = (scalarAt(list, 0) as readonly Scalar[] | null) ?? []
    members = membersOf(decoded(list.children[0]!).type, [...new Set(values)])
    memberSets.set(list, members)
  }
  return members
}

/** Where the elements of a constant list stand. */
export interface ListIndex {
  /** A number for every distinct element, counted from 0, by its key. */
  readonly numbers: ReadonlyMap<unknown, number>
  /** The places of element number n, ascending from 0, are `places[starts[n] .. starts[n + 1]]`. */
  readonly places: Int32Array
  readonly starts: Int32Array
  readonly hasNull: boolean
}

export function listIndexOf(list: Column): ListIndex {
  let index = listIndexes.get(list)
  if (index === undefined) {
    index = indexList(list)
    listIndexes.set(list, index)
  }
  return index
}

function indexList(list: Column): ListIndex {
  const numbers = new Map<unknown, number>()
  const [start, end] = listOffsetsOf(list) as unknown as [number, number]
  const elements = numbered(list.children[0]!, numbers, start, isValid(list, 0) ? end : start)
  const starts = new Int32Array(numbers.size + 1)
  for (const number of elements) if (number !== -1) starts[number + 1]!++
  for (let n = 0; n < numbers.size; n++) starts[n + 1]! += starts[n]!
  const places = new Int32Array(starts[numbers.size]!)
  const next = starts.slice()
  for (let k = 0; k < elements.length; k++) if (elements[k] !== -1) places[next[elements[k]!]!++] = k
  return { numbers, places, starts, hasNull: elements.includes(-1) }
}

/** The first place of element number `number` that is `from` or later; -1 for none. */
export function placeFrom({ places, starts }: ListIndex, number: number, from: number): number {
  let low = starts[number]!
  let high = starts[number + 1]!
  const end = high
  while (low < high) {
    const middle = (low + high) >>> 1
    if (places[middle]! < from) low = middle + 1
    else high = middle
  }
  return low === end ? -1 : places[low]!
}

/** What is the same for equal values of one type, floats and intervals as `=` has them; inside of lists a null equals a null. */
export function keyOf(value: Scalar): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (Array.isArray(value)) return `[${(value as readonly Scalar[]).map(textOfKey).join()}]`
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value
}

function textOfKey(value: Scalar): string {
  const key = keyOf(value)
  return typeof value === 'string' || value instanceof Uint8Array ? JSON.stringify(key) : String(key)
}

/**
 * A number for every element from `start` up to `end`, the same for those that are equal; -1 for a null. `numbers` keeps
 * those given so far.
 */
export function numbered(
  elements: Column,
  numbers: Map<unknown, number>,
  start = 0,
  end = elements.length,
): Int32Array {
  const column = withoutIntervals(decoded(elements))
  const out = new Int32Array(end - start)
  for (let k = start; k < end; k++) {
    const key = keyOf(scalarAt(column, k))
    const known = key === null ? -1 : numbers.get(key)
    out[k - start] = known ?? numbers.size
    if (known === undefined) numbers.set(key, numbers.size)
  }
  return out
}

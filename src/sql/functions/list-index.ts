/** Index the elements of lists, to search them for values. A constant list is indexed once for all rows. */
import { type Column, isValid } from '../../arrow/column.js'
import { withoutIntervals } from '../kernels/compare-values.js'
import { decoded } from '../kernels/dictionary.js'
import { type Members, membersOf } from '../kernels/members.js'
import type { Scalar } from '../values/scalar.js'
import { listOffsetsOf, scalarAt } from '../values/vector.js'

/** Return the elements of a constant list as a set. `Constant.once` caches the result. */
export function membersIn(list: Column): Members {
  const values = (scalarAt(list, 0) as readonly Scalar[] | null) ?? []
  return membersOf(decoded(list.children[0]!).type, [...new Set(values)])
}

/** The distinct elements of a constant list, with the positions of each. */
export interface ListIndex {
  /** By key (`keyOf`): the number of a distinct element, counted from 0. */
  readonly numbers: ReadonlyMap<unknown, number>
  /**
   * The positions of all elements, counted from 0 and grouped by element. The positions of element number n are at the
   * indexes from `starts[n]` up to `starts[n + 1]`, ascending.
   */
  readonly positions: Int32Array
  readonly starts: Int32Array
  readonly hasNull: boolean
}

/** Create the index of a constant list. `Constant.once` caches the result. */
export function listIndexOf(list: Column): ListIndex {
  const numbers = new Map<unknown, number>()
  const [start, end] = listOffsetsOf(list) as unknown as [number, number]
  const elements = numbered(list.children[0]!, numbers, start, isValid(list, 0) ? end : start)
  const starts = new Int32Array(numbers.size + 1)
  for (const number of elements) if (number !== -1) starts[number + 1]!++
  for (let n = 0; n < numbers.size; n++) starts[n + 1]! += starts[n]!
  const positions = new Int32Array(starts[numbers.size]!)
  const next = starts.slice()
  for (let k = 0; k < elements.length; k++) if (elements[k] !== -1) positions[next[elements[k]!]!++] = k
  return { numbers, positions, starts, hasNull: elements.includes(-1) }
}

/**
 * Return the first position of element number `number` that is not before `from`, or -1 if there is no such position.
 */
export function positionFrom({ positions, starts }: ListIndex, number: number, from: number): number {
  let low = starts[number]!
  let high = starts[number + 1]!
  const end = high
  while (low < high) {
    const middle = (low + high) >>> 1
    if (positions[middle]! < from) low = middle + 1
    else high = middle
  }
  return low === end ? -1 : positions[low]!
}

/**
 * Return a key for a Map. Two values of one type have equal keys exactly if they are equal. In inner lists, NULL equals
 * NULL. Intervals must be converted by `withoutIntervals` before.
 */
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
 * Return a number for each element from `start` up to `end`, so that equal elements have equal numbers. NULL has the
 * number -1. `numbers`: the numbers that are already assigned, by key. New numbers are added to it.
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

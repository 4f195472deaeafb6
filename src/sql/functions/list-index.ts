/** Elements of lists as sets and numbers. A constant list is indexed once instead of being repeated for each row. */
import { type Column, isValid } from '../../arrow/column.js'
import { withoutIntervals } from '../kernels/compare-values.js'
import { decoded } from '../kernels/dictionary.js'
import { type Members, membersOf } from '../kernels/members.js'
import type { Scalar } from '../values/scalar.js'
import { listOffsetsOf, scalarAt } from '../values/vector.js'

/** Return the elements of a constant list as a set; see `Constant.once`. */
export function membersIn(list: Column): Members {
  const values = (scalarAt(list, 0) as readonly Scalar[] | null) ?? []
  return membersOf(decoded(list.children[0]!).type, [...new Set(values)])
}

/** The positions of the elements of a constant list. */
export interface ListIndex {
  /** Number of every distinct element, counted from 0, by its key. */
  readonly numbers: ReadonlyMap<unknown, number>
  /** Positions of element number n, ascending and counted from 0: `positions[starts[n] .. starts[n + 1]]`. */
  readonly positions: Int32Array
  readonly starts: Int32Array
  readonly hasNull: boolean
}

/** Return the index of a constant list; see `Constant.once`. */
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

/** Return the first position of element number `number` at or after `from`, or -1. */
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
 * Return a key that is equal for equal values of one type. Floats and intervals are equal as under `=`. Inside lists,
 * NULL equals NULL.
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
 * Return a number for every element from `start` up to `end`. Equal elements have the same number; -1 is NULL.
 * `numbers` holds the numbers assigned so far.
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

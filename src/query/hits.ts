/**
 * Row selections: the rows that a scan or search returned, in the order of the answer. Also merges sorted lists of
 * rows.
 */
import { joinNumbers } from '../primitives/join-numbers.js'
import type { Pacer } from '../primitives/pacer.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import type { Task, TaskStream } from '../primitives/task.js'
import type { Part } from '../table/table-reader.js'

/** An ordered list of rows. Row `i` is row `offsets[i]` of part `parts[partOf[i]]`. */
export interface RowHits {
  readonly parts: readonly Part[]
  /** For each row: the index of its part. Null: all rows belong to the first part, and `offsets` is ascending. */
  readonly partOf: Uint32Array | null
  readonly offsets: Uint32Array
  /** Columns that a search computed for the rows. Empty if the rows come from a scan. */
  readonly computed: readonly ComputedValues[]
}

/** Names of the columns that searches compute. */
export const searchColumns = {
  distance: '_distance',
  score: '_score',
  relevance: '_relevance_score',
} as const

/** Values of a computed column, one for each row. NaN means that the row has no value. */
interface ComputedValues {
  readonly name: (typeof searchColumns)[keyof typeof searchColumns]
  readonly values: Float32Array
}

/** The computed columns of rows that a scan returned: none. */
export const noComputedColumns: readonly ComputedValues[] = []

/** Return some rows of the list. `rows`: their indexes in the list, in the order of the result. */
export function pickHits(hits: RowHits, rows: Uint32Array): RowHits {
  const { parts, partOf, offsets, computed } = hits
  return {
    parts,
    partOf: partOf === null ? new Uint32Array(rows.length) : picked(partOf, rows, Uint32Array),
    offsets: picked(offsets, rows, Uint32Array),
    computed: computed.map(({ name, values }) => ({ name, values: picked(values, rows, Float32Array) })),
  }
}

function picked<T extends Uint32Array | Float32Array>(
  values: T,
  rows: Uint32Array,
  Numbers: new (length: number) => T,
): T {
  const some = new Numbers(rows.length)
  for (let i = 0; i < rows.length; i++) some[i] = values[rows[i]!]!
  return some
}

/**
 * Regroup rows into groups of exactly `sizeOf(hits)` rows, except the last group of a part. So the groups do not depend
 * on the sizes in which a scan returned the rows.
 */
export function* regrouped(
  groups: TaskStream<RowHits>,
  sizeOf: (hits: RowHits) => number,
): TaskStream<RowHits> {
  let waiting: RowHits[] = []
  let count = 0
  for (const hits of groups) {
    if (hits instanceof Promise) {
      yield hits
      continue
    }
    const first = waiting[0]
    const isOfPart = hits.partOf === null && hits.computed.length === 0 && first?.parts[0] === hits.parts[0]
    if (first !== undefined && !isOfPart) {
      yield joined(waiting, count)
      waiting = []
      count = 0
    }
    let rest = hits
    const size = sizeOf(hits)
    while (count + rest.offsets.length >= size) {
      waiting.push(sliceHits(rest, 0, size - count))
      rest = sliceHits(rest, size - count, rest.offsets.length)
      yield joined(waiting, size)
      waiting = []
      count = 0
    }
    if (rest.offsets.length === 0) continue
    waiting.push(rest)
    count += rest.offsets.length
  }
  if (count > 0) yield joined(waiting, count)
}

/** Join groups of rows of the same part. `count`: total number of rows. */
function joined(groups: readonly RowHits[], count: number): RowHits {
  if (groups.length === 1) return groups[0]!
  const offsets = new Uint32Array(count)
  let at = 0
  for (const group of groups) {
    offsets.set(group.offsets, at)
    at += group.offsets.length
  }
  return { ...groups[0]!, offsets }
}

/** Concatenate groups of rows that have the same list of parts. */
export function joinHits(groups: readonly RowHits[]): RowHits {
  if (groups.length === 1) return groups[0]!
  const join = (of: (hits: RowHits) => Uint32Array) => joinNumbers(Uint32Array, groups.map(of))
  return { ...groups[0]!, partOf: join(hits => hits.partOf!), offsets: join(hits => hits.offsets) }
}

/**
 * Sort rows by their position in the table. Each row must occur only once. `placeOf`: returns a number for each part;
 * the numbers ascend in row order.
 */
export function* inRowOrder(hits: RowHits, placeOf: (part: Part) => number, pacer: Pacer): Task<RowHits> {
  const { parts, partOf, offsets } = hits
  if (partOf === null) return hits
  // The list may contain the same part several times.
  const positions = parts.map(placeOf)
  const ranks = new Map(
    [...new Set(positions)].sort((a, b) => a - b).map((position, rank) => [position, rank]),
  )
  const rankOf = Uint32Array.from(positions, position => ranks.get(position)!)
  const starts = new Uint32Array(ranks.size + 1)
  for (let i = 0; i < partOf.length; i++) starts[rankOf[partOf[i]!]! + 1]! += 1
  for (let rank = 0; rank < ranks.size; rank++) starts[rank + 1]! += starts[rank]!
  const next = starts.slice()
  const order = new Uint32Array(partOf.length)
  for (let i = 0; i < partOf.length; i++) order[next[rankOf[partOf[i]!]!]!++] = i
  for (let rank = 0; rank < ranks.size; rank++) {
    const own = order.slice(starts[rank], starts[rank + 1])
    const keys = new Float64Array(own.length)
    for (let i = 0; i < own.length; i++) keys[i] = offsets[own[i]!]! * own.length + i
    keys.sort()
    for (let i = 0; i < own.length; i++) order[starts[rank]! + i] = own[keys[i]! % own.length]!
    if (pacer.due()) yield pacer.pause()
  }
  return pickHits(hits, order)
}

/** Return the rows from index `from` to `to - 1`. */
export function sliceHits(hits: RowHits, from: number, to: number): RowHits {
  const { parts, partOf, offsets, computed } = hits
  if (from === 0 && to >= offsets.length) return hits
  return {
    parts,
    partOf: partOf?.subarray(from, to) ?? null,
    offsets: offsets.subarray(from, to),
    computed: computed.map(({ name, values }) => ({ name, values: values.subarray(from, to) })),
  }
}

/** Rows sorted by (distance, row id), ascending. `partOf` has part numbers of `Parts`. */
export interface RankedHits {
  readonly partOf: Uint32Array
  readonly offsets: Uint32Array
  readonly distances: Float32Array
}

/** A numbered list of parts, each with the row ids of its fragment. */
export class Parts {
  readonly all: Part[] = []
  readonly #ids: RunSequence[] = []

  /** Add a part; return its number. */
  add(part: Part, ids: RunSequence): number {
    this.#ids.push(ids)
    return this.all.push(part) - 1
  }

  rowId(part: number, offset: number): number {
    return this.#ids[part]!.at(this.all[part]!.first + offset)
  }
}

/**
 * Sort the first `count` rows by (distance, row id) and keep the `limit` nearest. No distance may be NaN.
 *
 * Sorts float64 keys, because typed arrays are sorted without calls of a comparison function. A key is the distance,
 * with the index of the row in the low bits. A float64 that was converted from a float32 has zeros in these bits.
 */
export function ranked(
  { partOf, offsets, distances }: RankedHits,
  limit: number,
  parts: Parts,
  count = offsets.length,
): RankedHits {
  const keys = count <= fewKeys.length ? fewKeys : new Float64Array(count)
  const words = keys === fewKeys ? fewWords : new Uint32Array(keys.buffer)
  for (let i = 0; i < count; i++) {
    // Replace infinities, because with an index in their low bits they would be NaN. `+ 0` turns -0 into 0, which sorts
    // after -0.
    keys[i] = Math.max(-farthest, Math.min(farthest, distances[i]! + 0))
    words[2 * i]! |= i
  }
  sortFirst(keys, count)
  const numberAt = (rank: number) => words[2 * rank]! & indexBits
  for (let from = 0, to: number; from < Math.min(count, limit); from = to) {
    const distance = distances[numberAt(from)]
    for (to = from + 1; to < count && distances[numberAt(to)] === distance; ) to++
    if (to === from + 1) continue
    const equal = Array.from({ length: to - from }, (_, i) => numberAt(from + i))
    const idOf = (i: number) => parts.rowId(partOf[i]!, offsets[i]!)
    equal.sort((a, b) => idOf(a) - idOf(b))
    for (let i = from; i < to; i++) words[2 * i] = equal[i - from]!
  }
  const kept = Math.min(count, limit)
  const sorted = {
    partOf: new Uint32Array(kept),
    offsets: new Uint32Array(kept),
    distances: new Float32Array(kept),
  }
  for (let i = 0; i < kept; i++) {
    const from = numberAt(i)
    sorted.partOf[i] = partOf[from]!
    sorted.offsets[i] = offsets[from]!
    sorted.distances[i] = distances[from]!
  }
  return sorted
}

/** Maximum number of rows for which `rankInPlace` is faster than `ranked`. */
export const fewHits = 32

/** Sort a few rows by (distance, row id) in place. Allocates no memory. */
export function rankInPlace({ partOf, offsets, distances }: RankedHits, parts: Parts): void {
  for (let i = 1; i < offsets.length; i++) {
    const [part, offset, distance] = [partOf[i]!, offsets[i]!, distances[i]!]
    let hole = i
    for (; hole > 0; hole--) {
      const before = distances[hole - 1]!
      if (before < distance) break
      if (
        before === distance &&
        parts.rowId(partOf[hole - 1]!, offsets[hole - 1]!) < parts.rowId(part, offset)
      )
        break
      partOf[hole] = partOf[hole - 1]!
      offsets[hole] = offsets[hole - 1]!
      distances[hole] = before
    }
    partOf[hole] = part
    offsets[hole] = offset
    distances[hole] = distance
  }
}

/** Scratch buffer for short lists. Calls can share it, because `ranked` is synchronous. */
const fewKeys = new Float64Array(1024)
const fewWords = new Uint32Array(fewKeys.buffer)
/** Maximum number of keys for which insertion sort is faster than `sort()`. */
const insertedKeys = 32
/** Sort key for an infinite distance. It is greater than every float32. */
const farthest = 2 ** 1000
/** Mask of the low bits that are zero in a float64 that was converted from a float32. */
const indexBits = 2 ** 29 - 1

function sortFirst(keys: Float64Array, count: number): void {
  if (count > insertedKeys) {
    ;(count === keys.length ? keys : keys.subarray(0, count)).sort()
    return
  }
  for (let i = 1; i < count; i++) {
    const key = keys[i]!
    let hole = i
    for (; hole > 0 && keys[hole - 1]! > key; hole--) keys[hole] = keys[hole - 1]!
    keys[hole] = key
  }
}

/**
 * Merge sorted lists, and return the `limit` nearest rows, sorted by (distance, row id). Uses a heap of one cursor per
 * list.
 */
export function* mergeHits(
  parts: Parts,
  lists: readonly RankedHits[],
  limit: number,
  pacer: Pacer,
): Task<RankedHits> {
  const heap = lists.filter(list => list.offsets.length > 0).map((list): Cursor => ({ list, at: 0 }))
  if (heap.length === 1) return firstOf(heap[0]!.list, limit)
  const total = Math.min(
    limit,
    heap.reduce((sum, { list }) => sum + list.offsets.length, 0),
  )
  const merged = {
    partOf: new Uint32Array(total),
    offsets: new Uint32Array(total),
    distances: new Float32Array(total),
  }
  for (let i = heap.length >>> 1; i-- > 0; ) sink(heap, i, parts)
  for (let n = 0; n < total; n++) {
    const { list, at } = heap[0]!
    merged.partOf[n] = list.partOf[at]!
    merged.offsets[n] = list.offsets[at]!
    merged.distances[n] = list.distances[at]!
    if (++heap[0]!.at === list.offsets.length) {
      const last = heap.pop()!
      if (heap.length > 0) heap[0] = last
    }
    sink(heap, 0, parts)
    if ((n & 4095) === 4095 && pacer.due()) yield pacer.pause()
  }
  return merged
}

/** Return the first `limit` rows. */
export function firstOf(hits: RankedHits, limit: number): RankedHits {
  const { partOf, offsets, distances } = hits
  if (offsets.length <= limit) return hits
  return {
    partOf: partOf.subarray(0, limit),
    offsets: offsets.subarray(0, limit),
    distances: distances.subarray(0, limit),
  }
}

interface Cursor {
  readonly list: RankedHits
  at: number
}

function precedes(a: Cursor, b: Cursor, parts: Parts): boolean {
  const near = a.list.distances[a.at]!
  const far = b.list.distances[b.at]!
  if (near !== far) return near < far
  return rowId(a, parts) < rowId(b, parts)
}

function rowId({ list: { partOf, offsets }, at }: Cursor, parts: Parts): number {
  return parts.rowId(partOf[at]!, offsets[at]!)
}

function sink(heap: Cursor[], from: number, parts: Parts): void {
  for (let parent = from; ; ) {
    let least = parent
    for (let child = 2 * parent + 1; child <= 2 * parent + 2 && child < heap.length; child++) {
      if (precedes(heap[child]!, heap[least]!, parts)) least = child
    }
    if (least === parent) return
    const moved = heap[parent]!
    heap[parent] = heap[least]!
    heap[least] = moved
    parent = least
  }
}

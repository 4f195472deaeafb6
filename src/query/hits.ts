/** Rows an operator found, in the order of the answer, and the merge that keeps that order over many parts. */
import { joinNumbers } from '../primitives/join-numbers.js'
import type { Pacer } from '../primitives/pacer.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import type { Flow } from '../primitives/soon.js'
import type { Part } from '../table/table-reader.js'

/** Row `i` is row `offsets[i]` of part `parts[partOf[i]]`. */
export interface RowHits {
  readonly parts: readonly Part[]
  /** Null: all rows are of the first part, ascending. */
  readonly partOf: Uint32Array | null
  readonly offsets: Uint32Array
  /** Null where nothing was measured. */
  readonly distances: Float32Array | null
}

/** Some of the hits, by their number, in that order. */
export function pickHits(hits: RowHits, rows: Uint32Array): RowHits {
  const { parts, partOf, offsets, distances } = hits
  return {
    parts,
    partOf: partOf === null ? new Uint32Array(rows.length) : rows.map(row => partOf[row]!),
    offsets: rows.map(row => offsets[row]!),
    distances: distances === null ? null : Float32Array.from(rows, row => distances[row]!),
  }
}

/**
 * The same hits in groups of exactly `size` rows, but for the last one of a part: whoever sees the groups sees nothing of
 * how they were found.
 */
export function* regrouped(groups: Flow<RowHits>, size: number): Flow<RowHits> {
  let waiting: RowHits[] = []
  let count = 0
  for (const hits of groups) {
    if (hits instanceof Promise) {
      yield hits
      continue
    }
    const first = waiting[0]
    const isOfPart = hits.partOf === null && hits.distances === null && first?.parts[0] === hits.parts[0]
    if (first !== undefined && !isOfPart) {
      yield joined(waiting, count)
      waiting = []
      count = 0
    }
    let rest = hits
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

/** Hits of one part, or one group of hits. */
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

/** Hits of the same list of parts, one group after the other. */
export function joinHits(groups: readonly RowHits[]): RowHits {
  if (groups.length === 1) return groups[0]!
  const join = (of: (hits: RowHits) => Uint32Array) => joinNumbers(Uint32Array, groups.map(of))
  return { ...groups[0]!, partOf: join(hits => hits.partOf!), offsets: join(hits => hits.offsets) }
}

/** Hits `from .. to`. */
export function sliceHits(hits: RowHits, from: number, to: number): RowHits {
  const { parts, partOf, offsets, distances } = hits
  return {
    parts,
    partOf: partOf?.subarray(from, to) ?? null,
    offsets: offsets.subarray(from, to),
    distances: distances?.subarray(from, to) ?? null,
  }
}

/** What part number `part` contributes: ascending by (distance, row id). */
export interface PartHits {
  readonly part: number
  /** Row ids of the part's fragment, of which the part's first row is number `first`. */
  readonly ids: RunSequence
  readonly first: number
  readonly offsets: Uint32Array
  readonly distances: Float32Array
}

/** The `limit` nearest of all parts, ties by row id: a merge of sorted lists with a heap of their heads. */
export async function mergeHits(
  parts: readonly Part[],
  lists: readonly PartHits[],
  limit: number,
  pacer: Pacer,
): Promise<RowHits> {
  const total = Math.min(
    limit,
    lists.reduce((sum, list) => sum + list.offsets.length, 0),
  )
  const merged = {
    parts,
    partOf: new Uint32Array(total),
    offsets: new Uint32Array(total),
    distances: new Float32Array(total),
  }
  const heap = lists.filter(list => list.offsets.length > 0).map((list): Cursor => ({ list, at: 0 }))
  for (let i = heap.length >>> 1; i-- > 0; ) sink(heap, i)
  for (let n = 0; n < total; n++) {
    const { list, at } = heap[0]!
    merged.partOf[n] = list.part
    merged.offsets[n] = list.offsets[at]!
    merged.distances[n] = list.distances[at]!
    if (++heap[0]!.at === list.offsets.length) {
      const last = heap.pop()!
      if (heap.length > 0) heap[0] = last
    }
    sink(heap, 0)
    if ((n & 4095) === 4095) await pacer.turn()
  }
  return merged
}

interface Cursor {
  readonly list: PartHits
  at: number
}

function precedes(a: Cursor, b: Cursor): boolean {
  const near = a.list.distances[a.at]!
  const far = b.list.distances[b.at]!
  if (near !== far) return near < far
  return rowId(a) < rowId(b)
}

function rowId({ list: { ids, first, offsets }, at }: Cursor): number {
  return ids.at(first + offsets[at]!)
}

function sink(heap: Cursor[], from: number): void {
  for (let parent = from; ; ) {
    let least = parent
    for (let child = 2 * parent + 1; child <= 2 * parent + 2 && child < heap.length; child++) {
      if (precedes(heap[child]!, heap[least]!)) least = child
    }
    if (least === parent) return
    const moved = heap[parent]!
    heap[parent] = heap[least]!
    heap[least] = moved
    parent = least
  }
}

/** Rows an operator found, in the order of the answer, and the merge that keeps that order over many parts. */
import type { Pacer } from '../primitives/pacer.js'

/** Row `i` is row `offsets[i]` of part `parts[i]`. */
export interface RowHits {
  readonly parts: Uint32Array
  readonly offsets: Uint32Array
  /** Null where nothing was measured. */
  readonly distances: Float32Array | null
}

/** What one part contributes: ascending by (distance, offset). */
export interface PartHits {
  readonly part: number
  readonly firstRowId: number
  readonly offsets: Uint32Array
  readonly distances: Float32Array
}

/** The `limit` nearest of all parts, ties by row id: a merge of sorted lists with a heap of their heads. */
export async function mergeHits(lists: readonly PartHits[], limit: number, pacer: Pacer): Promise<RowHits> {
  const total = Math.min(
    limit,
    lists.reduce((sum, list) => sum + list.offsets.length, 0),
  )
  const merged = {
    parts: new Uint32Array(total),
    offsets: new Uint32Array(total),
    distances: new Float32Array(total),
  }
  const heap = lists.filter(list => list.offsets.length > 0).map((list): Cursor => ({ list, at: 0 }))
  for (let i = heap.length >>> 1; i-- > 0; ) sink(heap, i)
  for (let n = 0; n < total; n++) {
    const { list, at } = heap[0]!
    merged.parts[n] = list.part
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
  return a.list.firstRowId + a.list.offsets[a.at]! < b.list.firstRowId + b.list.offsets[b.at]!
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

/**
 * Streams rows of several fragments in the order of their ids, in chunks of a few thousand rows. This is needed because
 * the rows of a rewritten fragment must have ascending ids.
 *
 * The id ranges of fragments rarely overlap. If fragments overlap and have few rows, their rows are sorted together.
 * Otherwise an overlapping fragment begins a new stream, whose rows are written to a separate fragment.
 */

import type { Fragment } from '../manifest/layout.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { sortedByNumbers } from '../primitives/radix.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import { noComputedColumns, type RowHits } from '../query/hits.js'
import type { RowSource } from '../query/source.js'
import type { Part } from '../table/table-reader.js'
import type { RowSet } from './matched-rows.js'

/** Maximum number of rows of a chunk. */
const chunkRows = 8 * 1024
/** Maximum number of rows of overlapping fragments that are sorted together. */
const togetherMax = 128 * 1024
/**
 * Upper bound for the difference of the greatest and the least id for a fast sort. Below it, an id and a row index fit
 * into one double, and sorting the doubles sorts the rows by id.
 */
const spanMax = 2 ** 36

/** Rows in ascending order of their ids, with the ids. */
export interface Chunk {
  readonly hits: RowHits
  readonly ids: Float64Array
}

/** Rows of one fragment, with their ids and the range of the ids. */
interface Piece {
  readonly fragment: Fragment
  readonly offsets: Uint32Array
  readonly ids: Float64Array
  readonly least: number
  readonly greatest: number
  readonly isAscending: boolean
}

/**
 * Return functions that open streams of chunks. All streams together have the rows `rows`. Ids ascend within each
 * stream.
 */
export async function streamsById(
  source: RowSource,
  rows: RowSet,
  pacer: Pacer,
): Promise<readonly (() => AsyncGenerator<Chunk>)[]> {
  const { signal } = pacer
  const pieces: Piece[] = []
  for (const [fragment, offsets] of rows) {
    const ids = picked(await source.reader.rowIds(fragment, signal), offsets)
    pieces.push({ fragment, offsets, ids, ...rangeOf(ids) })
    await pacer.turn()
  }
  pieces.sort((a, b) => a.least - b.least)
  const streams: Piece[][][] = []
  let cluster: Piece[] = []
  let clusterRows = 0
  let greatest = Number.NEGATIVE_INFINITY
  for (const piece of pieces) {
    const overlaps = piece.least < greatest
    if (overlaps && clusterRows + piece.ids.length <= togetherMax) {
      cluster.push(piece)
      clusterRows += piece.ids.length
    } else {
      cluster = [piece]
      clusterRows = piece.ids.length
      if (overlaps || streams.length === 0) streams.push([cluster])
      else streams.at(-1)!.push(cluster)
      if (overlaps) greatest = Number.NEGATIVE_INFINITY
    }
    greatest = Math.max(greatest, piece.greatest)
  }
  return streams.map(clusters => () => chunksOf(source, clusters, pacer))
}

/** Return the numbers at the positions `ranks` of a sequence. */
function picked(runs: RunSequence, ranks: Uint32Array): Float64Array {
  if (16 * ranks.length < runs.count) return Float64Array.from(ranks, rank => runs.at(rank))
  const all = new Float64Array(runs.count)
  runs.copy(0, runs.count, all)
  return Float64Array.from(ranks, rank => all[rank]!)
}

function rangeOf(ids: Float64Array): Pick<Piece, 'least' | 'greatest' | 'isAscending'> {
  let [least, greatest, isAscending] = [ids[0]!, ids[0]!, true]
  for (const id of ids) {
    isAscending &&= id >= greatest
    least = Math.min(least, id)
    greatest = Math.max(greatest, id)
  }
  return { least, greatest, isAscending }
}

async function* chunksOf(
  source: RowSource,
  clusters: readonly (readonly Piece[])[],
  pacer: Pacer,
): AsyncGenerator<Chunk> {
  for (const cluster of clusters) {
    const [first] = cluster
    if (cluster.length === 1 && first!.isAscending) yield* chunksOfOne(source, first!, pacer.signal)
    else yield* chunksOfMany(source, cluster, pacer)
  }
}

async function* chunksOfOne(
  { reader }: RowSource,
  { fragment, offsets, ids }: Piece,
  signal: AbortSignal | undefined,
): AsyncGenerator<Chunk> {
  for (const part of await reader.partsOf(fragment, signal)) {
    const end = endOf(part, offsets)
    for (let from = startOf(part, offsets); from < end; from += chunkRows) {
      const to = Math.min(from + chunkRows, end)
      const inPart = offsets.subarray(from, to).map(offset => offset - part.first)
      yield {
        hits: { parts: [part], partOf: null, offsets: inPart, computed: noComputedColumns },
        ids: ids.subarray(from, to),
      }
    }
  }
}

async function* chunksOfMany(
  { reader }: RowSource,
  cluster: readonly Piece[],
  pacer: Pacer,
): AsyncGenerator<Chunk> {
  const count = cluster.reduce((sum, { ids }) => sum + ids.length, 0)
  const parts: Part[] = []
  const partOf = new Uint32Array(count)
  const offsets = new Uint32Array(count)
  const ids = new Float64Array(count)
  let at = 0
  for (const piece of cluster) {
    for (const part of await reader.partsOf(piece.fragment, pacer.signal)) {
      const number = parts.push(part) - 1
      const end = endOf(part, piece.offsets)
      for (let i = startOf(part, piece.offsets); i < end; i++, at++) {
        partOf[at] = number
        offsets[at] = piece.offsets[i]! - part.first
        ids[at] = piece.ids[i]!
      }
    }
  }
  const order = await orderOf(ids, cluster, pacer)
  for (let from = 0; from < count; from += chunkRows) {
    const some = order.subarray(from, from + chunkRows)
    const hits = {
      parts,
      partOf: some.map(i => partOf[i]!),
      offsets: some.map(i => offsets[i]!),
      computed: noComputedColumns,
    }
    yield { hits, ids: Float64Array.from(some, i => ids[i]!) }
  }
}

/** Return the indexes of all rows of a cluster, sorted by id. */
async function orderOf(ids: Float64Array, cluster: readonly Piece[], pacer: Pacer): Promise<Uint32Array> {
  const least = Math.min(...cluster.map(piece => piece.least))
  const greatest = Math.max(...cluster.map(piece => piece.greatest))
  if (ids.length > togetherMax || greatest - least >= spanMax) return sortedByNumbers(ids, pacer)
  const keys = Float64Array.from(ids, (id, i) => (id - least) * togetherMax + i).sort()
  return Uint32Array.from(keys, key => key % togetherMax)
}

/**
 * Return the index of the first offset that is in a part or after it. `offsets`: offsets in the fragment, ascending.
 */
function startOf({ first }: Part, offsets: Uint32Array): number {
  return partitionPoint(offsets.length, i => offsets[i]! < first)
}

function endOf({ first, rows }: Part, offsets: Uint32Array): number {
  return partitionPoint(offsets.length, i => offsets[i]! < first + rows)
}

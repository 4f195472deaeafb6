/** Converts an index of LanceDB with codes of product quantization (IVF_PQ) to a segment of lists in memory. */
import { type Arena, openArena } from '../../kernels/arena.js'
import type { IvfPq, IvfPqPlan } from '../../lance/ivf-pq.js'
import type { Pacer } from '../../primitives/pacer.js'
import { ArenaLists } from './arena-lists.js'
import { Codebooks } from './codecs/codebooks.js'
import { ProductCodec } from './codecs/product.js'
import { type ListPlaces, listPlaces, mapPartitions } from './list-places.js'
import { type ListEffort, ListSegment } from './list-segment.js'
import type { VectorIndexSegment } from './segment.js'
import { spaceOf } from './space.js'

/** A segment of an index of LanceDB in memory. Its ordinals number the rows of its fragments, in their order. */
export interface LanceSegment {
  readonly segment: VectorIndexSegment
  readonly plan: IvfPqPlan
  /** The ordinals of live rows with a vector that the segment does not have, ascending. */
  readonly missing: Uint32Array
}

/** In place of the ordinal of a row that is left out. */
export const leftOut = 0xffff_ffff

/**
 * The default effort. LanceDB stores no effort, and its codes are short by default (16 elements per byte). So more
 * candidates are measured than with codes of Sheaf. On 1,000,000 vectors, this effort gave recall@10 0.98 or more.
 */
const effort: ListEffort = { candidates: 100, factor: 3, blur: { factor: 3, more: 30 } }
/** Estimated number of partitions that a search with the default effort scans, for the cost model. */
const usualPartitions = 14
/** Maximum bytes of codes that one read joins. */
const readBytes = 8 * 1024 * 1024
/** Number of rows that are sorted into lists between two checks of the clock. */
const rowsAtOnce = 64 * 1024

/** The rows of a segment. */
interface LanceRows {
  /** The number of rows. */
  readonly rows: number
  /** By row of the file: its ordinal, or `leftOut`. No ordinal occurs twice. */
  readonly ordinals: Uint32Array
}

/** Return the bytes of memory that `lanceLists` takes, if no row is left out. `rows`: the number of rows. */
export function lanceListBytes(plan: IvfPqPlan, rows: number): number {
  return listPlaces(codecOf(plan), plan.counts, rows).end
}

/** Read all codes of an index into a segment. Throws InvalidInput if the file is damaged. */
export async function lanceLists(
  index: IvfPq,
  { rows, ordinals }: LanceRows,
  pacer: Pacer,
): Promise<ListSegment> {
  const { metric, dim, centroids, counts: all, parts } = index.plan
  const codec = codecOf(index.plan)
  const sorted = await sortIntoLists(all, { rows, ordinals }, pacer)
  const { counts, placed } = sorted
  const places = listPlaces(codec, counts, rows)
  const arena = openArena(places.end)
  new Uint32Array(arena.buffer, places.ordinals, placed).set(sorted.ordinals)
  await copyCodes(index, arena, places, sorted, pacer)
  await mapPartitions(arena.buffer, places, counts, rows, pacer)
  const share = Math.min(1, usualPartitions / counts.length)
  return new ListSegment({
    rows,
    space: spaceOf(metric, dim, 0),
    codec,
    lists: new ArenaLists(arena, places, counts, rows, null),
    partitions: { centroids, counts },
    apart: new Uint32Array(0),
    facts: {
      vectors: placed,
      partitions: counts.length,
      recall: null,
      measured: Math.round(placed * share),
      rowBytes: parts,
    },
    effort,
    beside: null,
  })
}

/** Return the codec of an index. Codes of 4 bits are stored as bytes, so it has parts with 16 of 256 centroids. */
function codecOf({ dim, parts, bits, codebook }: IvfPqPlan): ProductCodec {
  const head = new Uint32Array(3 + parts).fill(2 ** bits)
  head.set([dim, parts, 8])
  const parameters = new Uint8Array(head.byteLength + codebook.byteLength)
  parameters.set(new Uint8Array(head.buffer))
  parameters.set(new Uint8Array(codebook.buffer, codebook.byteOffset, codebook.byteLength), head.byteLength)
  return new ProductCodec(new Codebooks(dim, parameters))
}

/** The rows in the order of the lists. */
interface SortedRows {
  /** Number of rows of each list, without those that are left out. */
  readonly counts: Uint32Array
  /** Number of rows of all lists. */
  readonly placed: number
  /** The ordinals, list by list, ascending in each list. */
  readonly ordinals: Uint32Array
  /** For each of these rows, its number in its partition of the file. */
  readonly rows: Uint32Array
}

/** Sort the rows of each partition by their ordinals, as searches need them. */
async function sortIntoLists(
  all: Uint32Array,
  { rows, ordinals }: LanceRows,
  pacer: Pacer,
): Promise<SortedRows> {
  const rowOf = new Uint32Array(rows).fill(leftOut)
  const partitionOf = new Uint32Array(rows)
  const counts = new Uint32Array(all.length)
  for (let p = 0, row = 0; p < all.length; p++) {
    for (let i = 0; i < all[p]!; i++, row++) {
      const ordinal = ordinals[row]!
      if (ordinal === leftOut) continue
      rowOf[ordinal] = i
      partitionOf[ordinal] = p
      counts[p]!++
    }
    await pacer.turn()
  }
  const next = new Uint32Array(counts.length)
  let placed = 0
  for (let p = 0; p < counts.length; p++) {
    next[p] = placed
    placed += counts[p]!
  }
  const sorted = { counts, placed, ordinals: new Uint32Array(placed), rows: new Uint32Array(placed) }
  for (let ordinal = 0; ordinal < rows; ordinal++) {
    if (ordinal % rowsAtOnce === 0) await pacer.turn()
    if (rowOf[ordinal] === leftOut) continue
    const at = next[partitionOf[ordinal]!]!++
    sorted.ordinals[at] = ordinal
    sorted.rows[at] = rowOf[ordinal]!
  }
  return sorted
}

/** Copy the codes of all lists into the arena. */
async function copyCodes(
  index: IvfPq,
  { buffer }: Arena,
  { lists, listAt, rowAt }: ListPlaces,
  { counts, rows }: SortedRows,
  pacer: Pacer,
): Promise<void> {
  const { counts: all, parts } = index.plan
  for (let p = 0, from = 0, end: number; p < all.length; p = end) {
    let to = from
    for (end = p; end < all.length && (end === p || (to + all[end]! - from) * parts <= readBytes); end++)
      to += all[end]!
    const codes = from === to ? new Uint8Array(0) : await index.readCodes(from, to)
    const width = codes.length / Math.max(1, to - from)
    for (let at = 0; p < end; p++) {
      const own = codes.subarray(at, at + all[p]! * width)
      const target = new Uint8Array(buffer, lists + listAt[p]!, counts[p]! * parts)
      index.copyCodes(own, rows.subarray(rowAt[p]!, rowAt[p]! + counts[p]!), target)
      at += own.length
      await pacer.turn()
    }
    from = to
  }
}

/** Computes the addresses in the arena of a segment of lists. */
import { Places } from '../../kernels/arena.js'
import { nearestBytes } from '../../kernels/nearest-lists.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { Codec } from './codec.js'

/** The offsets of consecutive lists, in a file or in an arena. */
interface ListLayout {
  /** Bytes of all lists, including the padding of each list. */
  readonly listsBytes: number
  /** Offset of each list. */
  readonly listAt: Float64Array
  /** Number of rows before each list. */
  readonly rowAt: Uint32Array
  /** Number of rows in all lists. */
  readonly placed: number
}

/** The addresses of the scratch memory of one thread. */
export interface Scratch {
  readonly allowed: number
  readonly heap: number
  readonly query: number
  readonly scratch: number
}

/** The addresses in an arena that contains all lists, in the order of the file. */
export interface ListPlaces extends ListLayout, Scratch {
  /** The lists. Each list begins at a multiple of 64. */
  readonly lists: number
  /** u32s: the ordinals of the rows, list by list. */
  readonly ordinals: number
  /** u32s: the partition of each row, by ordinal. Not in the file. */
  readonly partitionOf: number
  /** i32s, by partition: 1 after the list of the partition was read. Not in the file. */
  readonly isThere: number
  readonly end: number
}

/** The addresses in an arena that contains one list at a time. */
export interface FramePlaces extends Scratch {
  readonly codes: number
  readonly ordinals: number
  readonly end: number
}

/** Maximum number of candidates that a scan keeps. If a query needs more candidates, measuring every row is as fast. */
export const candidatesMax = 16 * 1024
/**
 * Number of rows mapped between two checks of the clock. It is small, because each row may access another memory page.
 */
const mappedRows = 4 * 1024

/** Return the number of bytes of a list of `count` rows. Lists are padded with zeros to a multiple of 64 bytes. */
export function storedBytes(codec: Codec, count: number): number {
  return Math.ceil(codec.listBytes(count) / 64) * 64
}

/** Return the offsets of consecutive lists. `counts`: number of rows of each list. */
function listLayout(codec: Codec, counts: Uint32Array): ListLayout {
  const listAt = new Float64Array(counts.length)
  const rowAt = new Uint32Array(counts.length)
  let listsBytes = 0
  let placed = 0
  for (let p = 0; p < counts.length; p++) {
    listAt[p] = listsBytes
    rowAt[p] = placed
    listsBytes += storedBytes(codec, counts[p]!)
    placed += counts[p]!
  }
  return { listsBytes, listAt, rowAt, placed }
}

/**
 * Return the addresses in an arena that contains all lists. `workerCount`: number of threads that search in the arena,
 * default 1. `workerIndex`: the worker index of this thread, from 0 (default).
 */
export function listPlaces(
  codec: Codec,
  counts: Uint32Array,
  rows: number,
  workerCount = 1,
  workerIndex = 0,
): ListPlaces {
  const places = new Places()
  const layout = listLayout(codec, counts)
  const lists = places.take(layout.listsBytes)
  const ordinals = places.take(layout.placed * 4)
  const partitionOf = places.take(rows * 4)
  const isThere = places.take(counts.length * 4)
  const scratches = Array.from({ length: workerCount }, () => takeScratch(places, codec, layout.placed, rows))
  return { ...layout, lists, ordinals, partitionOf, isThere, ...scratches[workerIndex]!, end: places.end }
}

/** Return the addresses in an arena that contains one list at a time. */
export function framePlaces(codec: Codec, counts: Uint32Array, rows: number): FramePlaces {
  const places = new Places()
  const most = counts.reduce((max, count) => Math.max(max, count), 0)
  const placed = counts.reduce((sum, count) => sum + count, 0)
  const codes = places.take(storedBytes(codec, most))
  const ordinals = places.take(most * 4)
  return { codes, ordinals, ...takeScratch(places, codec, placed, rows), end: places.end }
}

function takeScratch(places: Places, codec: Codec, placed: number, rows: number): Scratch {
  return {
    allowed: places.take(Math.ceil(rows / 32) * 4),
    heap: places.take(nearestBytes(Math.min(candidatesMax, Math.max(1, placed)))),
    query: places.take(codec.queryBytes),
    scratch: places.take(codec.scratchBytes),
  }
}

/** Write the map from rows to partitions (`partitionOf`) into an arena that contains all lists. */
export async function mapPartitions(
  buffer: ArrayBufferLike,
  places: ListPlaces,
  counts: Uint32Array,
  rows: number,
  pacer: Pacer,
): Promise<void> {
  const partitionOf = new Uint32Array(buffer, places.partitionOf, rows)
  for (let p = 0; p < counts.length; p++) {
    const ordinals = new Uint32Array(buffer, places.ordinals + 4 * places.rowAt[p]!, counts[p]!)
    await mapPartition(partitionOf, p, ordinals, pacer)
  }
}

/** Write the rows of one partition into the map from rows to partitions. */
export async function mapPartition(
  partitionOf: Uint32Array,
  partition: number,
  ordinals: Uint32Array,
  pacer: Pacer,
): Promise<void> {
  for (let from = 0; from < ordinals.length; from += mappedRows) {
    const to = Math.min(ordinals.length, from + mappedRows)
    for (let i = from; i < to; i++) partitionOf[ordinals[i]!] = partition
    await pacer.turn()
  }
}

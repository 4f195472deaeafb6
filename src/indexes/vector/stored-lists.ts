/** Writes and reads files of vector index segments that consist of lists (IVF). */

import { corrupted } from '../../errors.js'
import { type Arena, openArena } from '../../kernels/arena.js'
import type { Centroids } from '../../kernels/clusters.js'
import type { Pacer } from '../../primitives/pacer.js'
import {
  type Json,
  numbersOf,
  type Section,
  type SectionFile,
  type SectionPart,
  type SegmentBytes,
  sectionFile,
  sectionOf,
} from '../sections/section-file.js'
import { ArenaLists } from './arena-lists.js'
import { apartIn, type BesideHead, type BesideRows, BesideVectors, besideSections } from './beside-vectors.js'
import type { Codec, CodecName } from './codec.js'
import { openCodec } from './codecs/all.js'
import { FramedLists } from './framed-lists.js'
import { framePlaces, type ListPlaces, listPlaces, storedBytes } from './list-places.js'
import { ListReader, ordinalBytes, sumsOf } from './list-reader.js'
import { type ListEffort, ListSegment } from './list-segment.js'
import type { Lists } from './lists.js'
import type { SegmentFacts } from './segment.js'
import { partsOfLists, type SegmentHead } from './segment-head.js'
import type { SegmentMemory } from './segment-memory.js'
import type { Space } from './space.js'
import type { StoredList } from './stored-list.js'

/** The parameters of a segment of lists. They determine the partition and the code of each row. */
export interface ListPlan {
  readonly space: Space
  readonly codecName: CodecName
  readonly codec: Codec
  readonly centroids: Centroids
}

/** The whole content of a segment of lists, read from its file so that the segment can be extended. */
export interface StoredLists {
  readonly plan: ListPlan
  readonly counts: Uint32Array
  /** Returns the list of a partition. */
  readonly listOf: (partition: number) => StoredList
  readonly apart: Uint32Array
  readonly facts: SegmentFacts
  readonly effort: ListEffort
  /** The vectors of the rows. Null: the file does not have them. */
  readonly beside: BesideVectors | null
}

interface ListsHead extends SegmentHead {
  readonly shape: 'lists'
  readonly codec: CodecName
  readonly effort: ListEffort
  /** Absent: the file does not have the vectors of its rows. */
  readonly beside?: BesideHead
}

/** Newly built lists, in the memory of an arena. */
export interface BuiltLists {
  readonly plan: ListPlan
  readonly rows: number
  readonly arena: Arena
  readonly places: ListPlaces
  /** Number of rows of each list. */
  readonly counts: Uint32Array
  readonly apart: Uint32Array
}

/** Zeros that fill a list up to a multiple of 64 bytes. */
const padding = new Uint8Array(64)

/**
 * Return the bytes of the file of built lists. `base`: the vectors of the segment that was extended. Null: the segment is
 * new, or does not have them.
 */
export function listsFile(
  { plan, rows, arena: { buffer }, places, counts, apart }: BuiltLists,
  facts: SegmentFacts,
  effort: ListEffort,
  { input, base }: Pick<BesideRows, 'input' | 'base'>,
  pacer: Pacer,
): SegmentBytes {
  const { space, codecName, codec, centroids } = plan
  const more = partsOfLists(input.ends)
  const codesOf = (p: number) =>
    new Uint8Array(buffer, places.lists + places.listAt[p]!, storedBytes(codec, counts[p]!))
  const ordinalsOf = (p: number) =>
    new Uint32Array(buffer, places.ordinals + 4 * places.rowAt[p]!, counts[p]!)
  const bytesOfList = (p: number) => {
    const ordinals = ordinalsOf(p)
    return [
      codesOf(p),
      bytesOf(ordinals),
      padding.subarray(0, ordinalBytes(counts[p]!) - ordinals.byteLength),
    ]
  }
  const ordinalsIn = (p: number) => (p === apartIn(counts.length) ? apart : ordinalsOf(p))
  const { chunkBytes } = input
  const isBeside = chunkBytes !== undefined && codecName !== 'flat' && codecName !== 'bits' && !input.ends
  const isOfBase = input.first === 0 || base?.kind === input.kind
  const beside =
    isBeside && isOfBase
      ? besideSections(
          { input, chunkBytes, partitions: counts.length + 1, ordinalsOf: ordinalsIn, base },
          pacer,
        )
      : null
  const head: ListsHead = {
    shape: 'lists',
    codec: codecName,
    rows,
    ...more.head,
    space,
    facts,
    effort,
    ...(beside !== null && { beside: beside.head }),
  }
  const sections = [
    { name: 'codec', bytes: codec.parameters },
    { name: 'centroids', bytes: bytesOf(centroids.values) },
    { name: 'counts', bytes: bytesOf(counts) },
    { name: 'apart', bytes: bytesOf(apart) },
    { name: 'lists', bytes: Array.from(counts.keys(), bytesOfList).flat() },
    { name: 'listSums', bytes: () => sumsOf(counts.length, bytesOfList, pacer) },
    ...(beside?.sections ?? []),
    ...more.sections,
  ]
  return sectionFile(head as unknown as Json, sections, pacer)
}

/** Read a whole segment. Throws Internal if the file is damaged. */
export async function readLists(file: SectionFile): Promise<StoredLists> {
  const { plan, reader, apart, facts, effort, beside } = await readPlan(file)
  return { plan, counts: reader.counts, listOf: await reader.readAll(), apart, facts, effort, beside }
}

/** Open a segment for searches, without reading its lists. Throws Internal if the file is damaged. */
export async function openLists(file: SectionFile, memory: SegmentMemory): Promise<ListSegment> {
  const { plan, reader, apart, facts, effort, beside, rows } = await readPlan(file)
  const { space, codec, centroids } = plan
  const { counts } = reader
  const lists = await listsIn(memory, codec, reader, rows)
  const partitions = { centroids: centroids.values, counts }
  return new ListSegment({ rows, space, codec, lists, partitions, apart, facts, effort, beside })
}

/** Return an object that reads the lists of a file when a search needs them. */
async function listsIn(
  memory: SegmentMemory,
  codec: Codec,
  reader: ListReader,
  rows: number,
): Promise<Lists> {
  const { counts } = reader
  const places = listPlaces(codec, counts, rows, memory.workerCount, memory.workerIndex)
  const keep = memory.keeperFor(places.end)
  if (keep === null) {
    const arena = await memory.open(places.end, async () => {})
    return new ArenaLists(arena, places, counts, rows, reader)
  }
  const frame = framePlaces(codec, counts, rows)
  return new FramedLists(openArena(frame.end), frame, reader, keep)
}

/** Return, by section, the byte ranges that have their own checksums. Throws Internal if the file is damaged. */
export async function checkedParts(file: SectionFile): Promise<ReadonlyMap<Section, readonly SectionPart[]>> {
  const { shape } = file.footer.head as unknown as Partial<ListsHead>
  return shape === 'lists' ? (await readPlan(file)).reader.parts() : new Map()
}

type Plan = Pick<StoredLists, 'plan' | 'apart' | 'facts' | 'effort' | 'beside'> & {
  readonly rows: number
  readonly reader: ListReader
}

/** Read everything except the lists. Throws Internal if the file is damaged. */
async function readPlan(file: SectionFile): Promise<Plan> {
  const { codec: codecName, rows, facts, effort, space, ...head } = file.footer.head as unknown as ListsHead
  const { partitions } = facts
  const { innerDim } = space
  const hasOrdinals = file.footer.sections.some(({ name }) => name === 'ordinals')
  const [counts, apart, lists, ordinals, parameters, values, beside] = await Promise.all([
    numbersOf(file, 'counts', partitions),
    numbersOf(file, 'apart'),
    numbersOf(file, 'listSums', partitions),
    hasOrdinals ? numbersOf(file, 'ordinalSums', partitions) : null,
    bytesIn(file, sectionOf(file, 'codec')),
    bytesIn(file, sectionOf(file, 'centroids', 4 * partitions * innerDim)),
    head.beside === undefined ? null : BesideVectors.open(file, head.beside, space.dim, partitions),
  ])
  if (placedRows(counts) + apart.length !== facts.vectors) {
    throw corrupted(
      `${file.name} has ${placedRows(counts) + apart.length} vectors, but its footer says ${facts.vectors}`,
    )
  }
  const codec = openCodec(codecName, innerDim, parameters)
  const centroids = { count: partitions, dim: innerDim, values: new Float32Array(values.buffer) }
  const reader = new ListReader(file, codec, counts, { lists, ordinals })
  return { plan: { space, codecName, codec, centroids }, reader, apart, facts, effort, beside, rows }
}

async function bytesIn(file: SectionFile, section: Section): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(section.bytes)
  await file.readInto(section, bytes)
  return bytes
}

function placedRows(counts: Uint32Array): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

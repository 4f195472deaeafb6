/** The sections of a segment of lists. */

import { corrupted } from '../../errors.js'
import type { Arena } from '../../kernels/arena.js'
import type { Centroids } from '../../kernels/clusters.js'
import { Pacer } from '../../primitives/pacer.js'
import {
  type Json,
  numbersOf,
  type SectionFile,
  type SegmentBytes,
  sectionFile,
  sectionOf,
} from '../section-file.js'
import type { Codec, CodecName } from './codec.js'
import { openCodec } from './codecs/all.js'
import {
  type ListEffort,
  type ListPlaces,
  ListSegment,
  listPlaces,
  mapPartitions,
  type Partitions,
} from './list-segment.js'
import type { SegmentFacts } from './segment.js'
import { partsOfLists, type SegmentHead } from './segment-head.js'
import type { SegmentMemory } from './segment-memory.js'
import type { Space } from './space.js'

/** What decides where a row goes, and how it is kept. */
export interface ListPlan {
  readonly space: Space
  readonly codecName: CodecName
  readonly codec: Codec
  readonly centroids: Centroids
}

/** A segment of lists as it is in its file, to be extended. */
export interface StoredLists {
  readonly plan: ListPlan
  readonly counts: Uint32Array
  readonly ordinals: Uint32Array
  readonly lists: Uint8Array
  readonly places: ListPlaces
  readonly apart: Uint32Array
  readonly facts: SegmentFacts
  readonly effort: ListEffort
}

interface ListsHead extends SegmentHead {
  readonly shape: 'lists'
  readonly codec: CodecName
  readonly effort: ListEffort
}

/** The file of a segment that lies in an arena, over `rows` rows. */
export function listsFile(
  { space, codecName, codec, centroids }: ListPlan,
  rows: number,
  { buffer }: Arena,
  places: ListPlaces,
  counts: Uint32Array,
  apart: Uint32Array,
  facts: SegmentFacts,
  effort: ListEffort,
  ends: Uint32Array | undefined,
  pacer: Pacer,
): SegmentBytes {
  const more = partsOfLists(ends)
  const head: ListsHead = { shape: 'lists', codec: codecName, rows, ...more.head, space, facts, effort }
  const sections = [
    { name: 'codec', bytes: codec.parameters },
    { name: 'centroids', bytes: bytesOf(centroids.values) },
    { name: 'counts', bytes: bytesOf(counts) },
    { name: 'apart', bytes: bytesOf(apart) },
    { name: 'ordinals', bytes: new Uint8Array(buffer, places.ordinals, 4 * placedRows(counts)) },
    { name: 'lists', bytes: new Uint8Array(buffer, places.lists, places.listsBytes) },
    ...more.sections,
  ]
  return sectionFile(head as unknown as Json, sections, pacer)
}

/** @throws corrupted (code 18). */
export async function readLists(file: SectionFile): Promise<StoredLists> {
  const { plan, counts, apart, facts, effort, rows } = await readPlan(file)
  const places = listPlaces(plan.codec, counts, rows)
  const lists = new Uint8Array(places.listsBytes)
  await file.readInto(sectionOf(file, 'lists', lists.length), lists)
  const ordinals = await numbersOf(file, 'ordinals', placedRows(counts))
  return { plan, counts, ordinals, lists, places, apart, facts, effort }
}

/** @throws corrupted (code 18). */
export async function openLists(file: SectionFile, memory: SegmentMemory): Promise<ListSegment> {
  const { plan, counts, apart, facts, effort, rows } = await readPlan(file)
  const places = listPlaces(plan.codec, counts, rows, memory.seats, memory.seat)
  const arena = await memory.open(places.end, async buffer => {
    const lists = new Uint8Array(buffer, places.lists, places.listsBytes)
    await file.readInto(sectionOf(file, 'lists', lists.length), lists)
    const ordinals = new Uint8Array(buffer, places.ordinals, 4 * placedRows(counts))
    await file.readInto(sectionOf(file, 'ordinals', ordinals.length), ordinals)
    await mapPartitions(buffer, places, counts, rows, new Pacer())
  })
  const partitions: Partitions = { centroids: plan.centroids.values, counts }
  return new ListSegment(rows, plan.space, plan.codec, arena, places, partitions, apart, facts, effort)
}

async function readPlan(
  file: SectionFile,
): Promise<Pick<StoredLists, 'plan' | 'counts' | 'apart' | 'facts' | 'effort'> & { readonly rows: number }> {
  const { codec: codecName, rows, facts, effort, space } = file.footer.head as unknown as ListsHead
  const { innerDim } = space
  const counts = await numbersOf(file, 'counts', facts.partitions)
  const apart = await numbersOf(file, 'apart')
  if (placedRows(counts) + apart.length !== facts.vectors) {
    throw corrupted(`${file.name} has ${placedRows(counts)} rows in lists, its footer says ${facts.vectors}`)
  }
  const parameters = sectionOf(file, 'codec')
  const codecBytes = new Uint8Array(parameters.bytes)
  await file.readInto(parameters, codecBytes)
  const values = new Float32Array(facts.partitions * innerDim)
  const bytes = new Uint8Array(values.buffer)
  await file.readInto(sectionOf(file, 'centroids', bytes.length), bytes)
  const plan = {
    space,
    codecName,
    codec: openCodec(codecName, innerDim, codecBytes),
    centroids: { count: facts.partitions, dim: innerDim, values },
  }
  return { plan, counts, apart, facts, effort, rows }
}

function placedRows(counts: Uint32Array): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

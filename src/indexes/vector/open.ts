/** Opens vector segments of every kind. */
import { corrupted } from '../../errors.js'
import { numbersOf, type SectionFile } from '../sections/section-file.js'
import { ListedSegment } from './listed-segment.js'
import type { VectorIndexSegment } from './segment.js'
import { checkedHead, endsSection } from './segment-head.js'
import { ownMemory, type SegmentMemory } from './segment-memory.js'
import { openGraph } from './stored-graph.js'
import { openLists } from './stored-lists.js'

/**
 * Open a segment. Throws Internal if the file is not a segment over `rows` rows with vectors of `dim` elements.
 * `memory`: opens the memory for the segment, which other threads may share; default: memory of this thread only.
 */
export async function openSegment(
  file: SectionFile,
  rows: number,
  dim: number,
  memory: SegmentMemory = ownMemory,
): Promise<VectorIndexSegment> {
  const { shape, lists, rows: vectors } = checkedHead(file, rows, dim)
  const segment = await (shape === 'graph' ? openGraph(file, memory) : openLists(file, memory))
  if (lists === undefined) return segment
  const ends = await numbersOf(file, endsSection, lists)
  const isOrdered = ends.every((end, row) => end >= (ends[row - 1] ?? 0))
  if (isOrdered && (ends.at(-1) ?? 0) === vectors) return new ListedSegment(segment, ends)
  throw corrupted(`${file.name} has ${vectors} vectors, but the ends of its rows do not match`)
}

/** A segment to be asked, whatever its shape. */
import type { SectionFile } from '../section-file.js'
import type { VectorIndexSegment } from './segment.js'
import { checkedHead } from './segment-head.js'
import { ownMemory, type SegmentMemory } from './segment-memory.js'
import { openGraph } from './stored-graph.js'
import { openLists } from './stored-lists.js'

/**
 * Reads the whole segment into memory of its own, or sees it in `memory`.
 * @throws corrupted (code 18) when it is not one over `rows` rows of `dim` elements.
 */
export function openSegment(
  file: SectionFile,
  rows: number,
  dim: number,
  memory: SegmentMemory = ownMemory,
): Promise<VectorIndexSegment> {
  return checkedHead(file, rows, dim).shape === 'graph' ? openGraph(file, memory) : openLists(file, memory)
}

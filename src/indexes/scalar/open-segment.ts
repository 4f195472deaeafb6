/** Opens scalar segments of every kind. */

import { PostingSegment } from './posting-segment.js'
import type { ScalarKind } from './probe.js'
import type { ScalarSegment, SegmentFile } from './segment.js'
import { SortedSegment } from './sorted-segment.js'

/**
 * Open a segment over `rows` rows, without reading its batches. Throws Internal if a segment of this kind over `rows`
 * rows cannot have the batch sizes of the file.
 */
export function openSegment(kind: ScalarKind, rows: number, file: SegmentFile): ScalarSegment {
  return kind === 'BTREE' ? new SortedSegment(rows, file) : new PostingSegment(rows, file)
}

/** A segment to be asked, whatever its kind. */

import { PostingSegment } from './posting-segment.js'
import type { ScalarKind } from './probe.js'
import type { ScalarSegment, SegmentFile } from './segment.js'
import { SortedSegment } from './sorted-segment.js'

/**
 * Reads nothing yet.
 * @throws corrupted (code 18) when the batches of the file are not those of a segment over `rows` rows.
 */
export function openSegment(kind: ScalarKind, rows: number, file: SegmentFile): ScalarSegment {
  return kind === 'BTREE' ? new SortedSegment(rows, file) : new PostingSegment(rows, file)
}

/** What the footer of every segment says. */
import { corrupted } from '../../errors.js'
import type { SectionFile } from '../section-file.js'
import type { SegmentFacts } from './segment.js'
import type { Space } from './space.js'

export interface SegmentHead {
  readonly shape: 'lists' | 'graph'
  readonly rows: number
  readonly space: Space
  readonly facts: SegmentFacts
}

/** Throws corrupted (code 18) where a file is not one of a segment over `rows` rows of `dim` elements. */
export function checkedHead({ name, footer }: SectionFile, rows: number, dim: number): SegmentHead {
  const head = footer.head as unknown as SegmentHead
  if (head.rows === rows && head.space.dim === dim) return head
  throw corrupted(`${name} numbers ${head.rows} rows of ${head.space.dim} elements, not ${rows} of ${dim}`)
}

/** The metadata in the footer of every vector segment. */
import { corrupted } from '../../errors.js'
import type { SectionFile } from '../sections/section-file.js'
import type { SegmentFacts } from './segment.js'
import type { Space } from './space.js'

/** Metadata of a segment, in its footer. */
export interface SegmentHead {
  readonly shape: 'lists' | 'graph'
  /** Number of vectors. If rows hold lists of vectors, each vector counts. */
  readonly rows: number
  /** Number of table rows, if they hold lists of vectors. */
  readonly lists?: number
  readonly space: Space
  readonly facts: SegmentFacts
}

/** Return the head of a segment. Throws Internal if the file is not a segment over `rows` rows of `dim` elements. */
export function checkedHead({ name, footer }: SectionFile, rows: number, dim: number): SegmentHead {
  const head = footer.head as unknown as SegmentHead
  const { rows: vectors, lists = vectors, space } = head
  if (lists === rows && space.dim === dim) return head
  throw corrupted(`${name} is a segment over ${lists} rows of ${space.dim} elements, not ${rows} of ${dim}`)
}

/** Name of the section with the end of the vectors of each row, if rows hold lists of vectors. */
export const endsSection = 'ends'

/**
 * Return the additional head members and sections for rows with lists of vectors. `ends` undefined: rows hold one
 * vector each.
 */
export function partsOfLists(ends: Uint32Array | undefined): {
  readonly head: Pick<SegmentHead, 'lists'>
  readonly sections: readonly { readonly name: string; readonly bytes: Uint8Array }[]
} {
  if (ends === undefined) return { head: {}, sections: [] }
  const bytes = new Uint8Array(ends.buffer, ends.byteOffset, ends.byteLength)
  return { head: { lists: ends.length }, sections: [{ name: endsSection, bytes }] }
}

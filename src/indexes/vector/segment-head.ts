/** Defines the metadata in the footer of every vector segment. */
import { corrupted } from '../../errors.js'
import type { SectionFile } from '../sections/section-file.js'
import type { SegmentFacts } from './segment.js'
import type { Space } from './space.js'

/** The metadata of a segment. */
export interface SegmentHead {
  readonly shape: 'lists' | 'graph'
  /** Number of rows of the segment. If table rows hold lists of vectors, each vector is one row of the segment. */
  readonly rows: number
  /** Number of table rows, if they hold lists of vectors. Otherwise absent. */
  readonly lists?: number
  readonly space: Space
  readonly facts: SegmentFacts
}

/**
 * Return the metadata of a segment. Throws Internal if the file is not a segment over `rows` table rows with `dim`
 * elements.
 */
export function checkedHead({ name, footer }: SectionFile, rows: number, dim: number): SegmentHead {
  const head = footer.head as unknown as SegmentHead
  const { rows: vectors, lists = vectors, space } = head
  if (lists === rows && space.dim === dim) return head
  throw corrupted(`${name} is a segment over ${lists} rows of ${space.dim} elements, not ${rows} of ${dim}`)
}

/** The name of the section that has, for each table row with a list of vectors, the ordinal after its last vector. */
export const endsSection = 'ends'

/**
 * Return the additional metadata and sections for table rows that hold lists of vectors. `ends`: for each table row,
 * the ordinal after its last vector. `ends` undefined: each table row holds one vector, so there are no additions.
 */
export function partsOfLists(ends: Uint32Array | undefined): {
  readonly head: Pick<SegmentHead, 'lists'>
  readonly sections: readonly { readonly name: string; readonly bytes: Uint8Array }[]
} {
  if (ends === undefined) return { head: {}, sections: [] }
  const bytes = new Uint8Array(ends.buffer, ends.byteOffset, ends.byteLength)
  return { head: { lists: ends.length }, sections: [{ name: endsSection, bytes }] }
}

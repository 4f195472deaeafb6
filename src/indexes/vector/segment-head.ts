/** What the footer of every segment says. */
import { corrupted } from '../../errors.js'
import type { SectionFile } from '../sections/section-file.js'
import type { SegmentFacts } from './segment.js'
import type { Space } from './space.js'

export interface SegmentHead {
  readonly shape: 'lists' | 'graph'
  /** Vectors, be they of one row each or of lists. */
  readonly rows: number
  /** Of vectors of lists: how many rows hold those. */
  readonly lists?: number
  readonly space: Space
  readonly facts: SegmentFacts
}

/** Throws corrupted (code 18) where a file is not one of a segment over `rows` rows of `dim` elements. */
export function checkedHead({ name, footer }: SectionFile, rows: number, dim: number): SegmentHead {
  const head = footer.head as unknown as SegmentHead
  const { rows: vectors, lists = vectors, space } = head
  if (lists === rows && space.dim === dim) return head
  throw corrupted(`${name} numbers ${lists} rows of ${space.dim} elements, not ${rows} of ${dim}`)
}

/** The section in which a segment says, for each row that holds a list of vectors, where those end. */
export const endsSection = 'ends'

/** Members of the head and sections that only a segment of lists of vectors has. `ends` undefined: rows hold one vector each. */
export function partsOfLists(ends: Uint32Array | undefined): {
  readonly head: Pick<SegmentHead, 'lists'>
  readonly sections: readonly { readonly name: string; readonly bytes: Uint8Array }[]
} {
  if (ends === undefined) return { head: {}, sections: [] }
  const bytes = new Uint8Array(ends.buffer, ends.byteOffset, ends.byteLength)
  return { head: { lists: ends.length }, sections: [{ name: endsSection, bytes }] }
}

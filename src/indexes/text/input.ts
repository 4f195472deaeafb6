/** The interface through which a caller passes texts to a segment build. */
import type { Column } from '../../arrow/column.js'

/** Consecutive rows. */
export interface TextPiece {
  /** Number of the first row. */
  readonly first: number
  /**
   * utf8 or large_utf8, or lists of these; the caller decodes dictionaries. The elements of a list form one text. The positions of an
   * element begin `elementGap` after the last position of the previous element, also if an element has no terms.
   * A null row or element has no terms.
   */
  readonly column: Column
}

/** The texts of a segment. */
export interface TextInput {
  readonly rows: number
  /** Iterate over all rows in order, in pieces of at most a few thousand rows. Each call reads the column again. */
  pieces(): AsyncIterable<TextPiece>
}

/** Positions between two elements of a list, so that no phrase spans two elements. */
export const elementGap = 100

const lastPosition = 2 ** 32 - 1

/** Return the stored position of a token at `position` of a text that begins at position `start`. Capped at the largest u32. */
export function storedPosition(start: number, position: number): number {
  return Math.min(start + position, lastPosition)
}

/** Defines the interface through which a caller passes texts to a segment build. */
import type { Column } from '../../arrow/column.js'

/** The texts of consecutive rows. */
export interface TextPiece {
  /** Number of the first row of the piece. */
  readonly first: number
  /**
   * A column of utf8 or large_utf8, or of lists of these types, without dictionaries. The elements of a list form one
   * text. Between two elements, positions increase by `elementGap`, also if an element has no terms. A null row or
   * element has no terms.
   */
  readonly column: Column
}

/** The texts of a segment. */
export interface TextInput {
  readonly rows: number
  /** Iterate over all rows in order, in pieces of at most a few thousand rows. Each call reads the column again. */
  pieces(): AsyncIterable<TextPiece>
}

/** Number of positions that are skipped between two elements of a list, so that no phrase spans two elements. */
export const elementGap = 100

const lastPosition = 2 ** 32 - 1

/** Return the position to store for a token at `position` of a text that begins at `start`. It is at most 2^32 - 1. */
export function storedPosition(start: number, position: number): number {
  return Math.min(start + position, lastPosition)
}

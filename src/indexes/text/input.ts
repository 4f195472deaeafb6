/** What a segment of a text index is built of. */
import type { Column } from '../../arrow/column.js'

/** Rows that follow each other. */
export interface TextPiece {
  /** Number of the first. */
  readonly first: number
  /**
   * utf8 (large or not), or lists of it: dictionaries come resolved. The elements of a list are one text, in which the positions of
   * each begin `elementGap` behind the last place of those before it, and one that has no terms leaves as much out. A row or an element that is null has no terms.
   */
  readonly column: Column
}

export interface TextInput {
  readonly rows: number
  /** All rows, in their order; at most a few thousand in each piece. Each pass over them reads the column again. */
  pieces(): AsyncIterable<TextPiece>
}

/** Positions between two elements of a list, so that no phrase goes from one into the next. */
export const elementGap = 100

const lastPosition = 2 ** 32 - 1

/** Where a token is kept to stand that is at `position` of a text whose positions begin at `start`: none is further on than the last u32. */
export function placeOf(start: number, position: number): number {
  return Math.min(start + position, lastPosition)
}

/** A column in memory, with the kernel memory of its vectors, if any. */
import type { Column } from '../arrow/column.js'
import { columnBytes } from '../arrow/layout.js'
import type { VectorSegment } from '../kernels/vector-segment.js'

export interface LoadedColumn {
  readonly column: Column
  /** The same rows in kernel memory; null if the column is not a vector column. */
  readonly segment: VectorSegment | null
  /** The memory that the column takes, bytes. */
  readonly bytes: number
}

/** Bytes that a column takes in addition to its buffers, about: measured. */
const objectBytes = 400

/** Wrap a column with the memory that it takes. */
export function loadedColumn(column: Column, segment: VectorSegment | null = null): LoadedColumn {
  // `columnBytes` already counts the vectors in kernel memory.
  const outside = segment === null ? 0 : segment.byteLength - segment.bytes.length
  return { column, segment, bytes: columnBytes(column) + objectBytes * columnsIn(column) + outside }
}

function columnsIn({ children, dictionary }: Column): number {
  const below = children.reduce((count, child) => count + columnsIn(child), 1)
  return dictionary === null ? below : below + columnsIn(dictionary)
}

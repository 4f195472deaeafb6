/** Defines a column in memory, together with the memory of the kernels that contains its vectors. */
import type { Column } from '../arrow/column.js'
import { columnBytes } from '../arrow/layout.js'
import type { VectorSegment } from '../kernels/vector-segment.js'

export interface LoadedColumn {
  readonly column: Column
  /** The vectors of the column, if they were read into memory that the kernels can read. Otherwise null. */
  readonly segment: VectorSegment | null
  /** Bytes of memory that the column takes. */
  readonly bytes: number
}

/** Approximate bytes that the objects of a column take in addition to its buffers (measured). */
const objectBytes = 400

/** Return a loaded column, with the number of bytes that it takes. */
export function loadedColumn(column: Column, segment: VectorSegment | null = null): LoadedColumn {
  // `columnBytes` already counts the vectors in kernel memory.
  const outside = segment === null ? 0 : segment.byteLength - segment.bytes.length
  return { column, segment, bytes: columnBytes(column) + objectBytes * columnsIn(column) + outside }
}

function columnsIn({ children, dictionary }: Column): number {
  const below = children.reduce((count, child) => count + columnsIn(child), 1)
  return dictionary === null ? below : below + columnsIn(dictionary)
}

/** A column in memory, with the kernel memory its vectors lie in, if any. */
import type { Column } from '../arrow/column.js'
import { columnBytes } from '../arrow/layout.js'
import type { VectorSegment } from '../kernels/vector-segment.js'

export interface LoadedColumn {
  readonly column: Column
  /** The same rows as the kernels want them; null for a column that is no vector column. */
  readonly segment: VectorSegment | null
  /** What it costs to keep. */
  readonly bytes: number
}

/** About what a column takes beside its buffers: measured. */
const objectBytes = 400

export function loadedColumn(column: Column, segment: VectorSegment | null = null): LoadedColumn {
  // Vectors in kernel memory are part of that.
  const outside = segment === null ? 0 : segment.byteLength - segment.bytes.length
  return { column, segment, bytes: columnBytes(column) + objectBytes * columnsIn(column) + outside }
}

function columnsIn({ children, dictionary }: Column): number {
  const below = children.reduce((count, child) => count + columnsIn(child), 1)
  return dictionary === null ? below : below + columnsIn(dictionary)
}

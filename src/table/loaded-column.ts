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

export function loadedColumn(column: Column, segment: VectorSegment | null = null): LoadedColumn {
  const outside = segment === null ? 0 : segment.byteLength
  return { column, segment, bytes: outside === 0 ? columnBytes(column) : outside }
}

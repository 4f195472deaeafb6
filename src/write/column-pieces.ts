/** Reads the values of one field in consecutive rows. The field may be inside structs. */
import type { Column } from '../arrow/column.js'
import { sliceColumn } from '../arrow/slice.js'
import type { FieldNode } from '../manifest/field-node.js'
import { columnFile, type Fragment } from '../manifest/layout.js'
import type { Pacer } from '../primitives/pacer.js'
import { RowSource } from '../query/source.js'
import { columnAt } from '../sql/batch-columns.js'
import type { Part, TableReader } from '../table/table-reader.js'
import type { Stretch } from './stretch.js'

/** The values of a field in consecutive rows of a fragment. */
export interface ColumnPiece {
  readonly fragment: Fragment
  /** Name of the data file with the values. */
  readonly file: string
  /** Offset of the first row in the fragment. */
  readonly at: number
  readonly values: Column
  /** The part (record batch) with the rows. */
  readonly part: Part
}

/**
 * Yield one piece for each part that contains rows of the stretch. The pieces include deleted rows. `chain`: the fields
 * from the column down to the field.
 */
export async function* columnPieces(
  reader: TableReader,
  chain: readonly FieldNode[],
  { fragment, from, to }: Stretch,
  pacer: Pacer,
): AsyncGenerator<ColumnPiece> {
  const source = new RowSource(reader, pacer)
  const path = chain.map(({ name }) => name)
  const file = columnFile(fragment, chain[0]!.id)
  for (const part of await reader.partsOf(fragment, pacer.signal)) {
    const start = Math.max(from - part.first, 0)
    const end = Math.min(to - part.first, part.rows)
    if (start >= end) continue
    const values = columnAt(await source.partBatch(part, [path[0]!]), path)
    yield { fragment, file, at: part.first + start, values: sliceColumn(values, start, end - start), part }
    await pacer.turn()
  }
}

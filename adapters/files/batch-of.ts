/** Converts pieces of rows to batches. */
import type { Batch } from '../../src/arrow/column.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { equalSchemas } from '../../src/arrow/same-type.js'
import type { Schema } from '../../src/arrow/types.js'
import type { Row } from '../../src/client/table-data.js'
import { quote, SheafError, schemaMismatch } from '../../src/errors.js'
import type { RowPiece } from './pieces.js'

/**
 * Convert a piece of rows to a batch. `schema`: the schema of the rows; undefined to infer it. `first`: the number of the
 * first row, for errors.
 * @throws SchemaValidation if the rows do not fit the schema, or if two columns have the same name.
 */
export function batchOf(piece: RowPiece, schema: Schema | undefined, first: number): Batch {
  if ('rows' in piece) return objectsBatch(piece.rows, schema, first)
  if (first === 0) checkNames(piece.batch.schema)
  if (schema === undefined || equalSchemas(piece.batch.schema, schema)) return piece.batch
  throw schemaMismatch('the schema of the record batches differs from the option schema', {
    hint: 'leave out the option schema: record batches have their own schema',
  })
}

/** Check that no reader of the file must choose between two columns with one name. */
function checkNames({ fields }: Schema): void {
  const names = new Set<string>()
  for (const { name } of fields) {
    if (names.has(name))
      throw schemaMismatch(`the rows have two columns with the name ${quote(name)}`, {
        hint: 'select one of the columns under another name',
      })
    names.add(name)
  }
}

function objectsBatch(rows: readonly Row[], schema: Schema | undefined, first: number): Batch {
  try {
    return rowsToBatch(rows, schema)
  } catch (error) {
    if (first === 0 || !(error instanceof SheafError)) throw error
    const { code, message, hint } = error
    throw new SheafError(code, `in the rows from row ${first} on: ${message}`, { hint, cause: error })
  }
}

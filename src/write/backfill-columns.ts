/** Fills columns in existing rows with the values of their definition (a computed expression or a function). */
import type { Batch } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { takeBatch, takeColumn } from '../arrow/take.js'
import type { TableField } from '../manifest/table-schema.js'
import type { Pacer } from '../primitives/pacer.js'
import { mayPassByRecord } from '../query/filter.js'
import { splitByNames } from '../query/named-rows.js'
import { RowSource } from '../query/source.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { selectRows } from '../sql/evaluate.js'
import type { TableReader } from '../table/table-reader.js'
import { conformBatch } from './conform.js'
import { definitionOf } from './definitions.js'
import { type DeriveOptions, type Deriver, deriving } from './derive.js'
import type { ColumnsWork } from './stage-columns.js'

/** Options of `backfilledValues`. */
interface BackfillOptions {
  /** Condition for the rows to fill. The other rows keep their values. Null: all rows are filled. */
  readonly filter: BoundExpression | null
  /** Maximum number of parallel calls of a function. */
  readonly concurrency: number | undefined
  /** Called with the number of rows that were processed. */
  readonly progress: (rows: number) => void
  /** Called with the number of rows that were filled. */
  readonly filled: (rows: number) => void
}

/** Return the work of filling the columns `fields`, which have the same definition. */
export function backfilledValues(
  reader: TableReader,
  fields: readonly TableField[],
  deriver: Deriver,
  pacer: Pacer,
  { filter, concurrency, progress, filled }: BackfillOptions,
): ColumnsWork {
  const derivation = deriving(definitionOf(fields[0]!)!, fields, reader.schema, deriver, concurrency)
  const schema = { fields }
  const own = fields.map(({ name }) => name)
  const names = [...derivation.inputs, ...(filter === null ? [] : [...filter.columns, ...own])]
  const source = new RowSource(reader, pacer)
  const split = splitByNames(filter)
  return {
    schema,
    names: [...new Set(names)],
    expressions: [derivation.expression, filter].filter(expression => expression !== null),
    concerns: fragment => mayPassByRecord(source, split, fragment),
    progress,
    async values(rows, options: DeriveOptions) {
      const chosen = filter === null ? null : selectRows(filter, rows).toIndices()
      const made = await derivation.values(chosen === null ? rows : takeBatch(rows, chosen), options)
      filled(made.length)
      return chosen === null ? made : patched(rows, own, chosen, conformBatch(made, schema, options.firstRow))
    },
  }
}

/** Return the columns `names` of `rows`, with the values of `made` in the rows `chosen`. */
function patched(rows: Batch, names: readonly string[], chosen: Uint32Array, made: Batch): Batch {
  const positions = Uint32Array.from({ length: rows.length }, (_, row) => row)
  for (const [i, row] of chosen.entries()) positions[row] = rows.length + i
  const columns = names.map((name, c) => {
    const before = rows.columns[rows.schema.fields.findIndex(field => field.name === name)]!
    return takeColumn(concatColumns([before, made.columns[c]!]), positions)
  })
  return { schema: made.schema, length: rows.length, columns }
}

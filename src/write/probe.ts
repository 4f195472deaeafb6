/**
 * Checks whether rows that another commit appended affect a prepared change (STORAGE S3). If they do not, the change
 * stays the same on the newer version, and is not prepared again. The check is synchronous and reads no files. So rows
 * in files affect the change, unless their min/max statistics exclude this.
 */
import type { Batch } from '../arrow/column.js'
import { decodeBatch } from '../arrow/inline-batch.js'
import type { AddedFragment } from '../manifest/change.js'
import type { RecentChange } from '../manifest/recent-changes.js'
import { arrowSchema, type TableField, type TableSchema } from '../manifest/table-schema.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import type { ColumnNode } from '../sql/column-node.js'
import { selectRows } from '../sql/evaluate.js'
import { possibleTruth } from '../sql/zones/prune.js'
import { readZone } from '../sql/zones/zone.js'

/** A function that returns whether any of the given rows affects the change. The rows have all columns. */
export type Concerns = (rows: Batch) => boolean

/**
 * Return whether the commit `change` does not affect the prepared change. This is true if `change` only appends rows,
 * and if neither `filter` nor `concerns` selects any of them. `schema`: schema of the table, which must be the same
 * before and after. `filter`: null: not used.
 */
export function isUnrelated(
  { change, slot }: RecentChange,
  schema: TableSchema,
  filter: BoundExpression | null,
  concerns: Concerns,
): boolean {
  const { kind, add, dead, drop, columns = [] } = change
  if (kind !== 'append' || change.schema !== null) return false
  if (dead.length + drop.length + columns.length > 0) return false
  return add.every(fragment => {
    if (filter !== null && !mayPass(fragment, schema, filter)) return true
    const [file] = fragment.files
    if (file === undefined || !('blob' in file) || fragment.files.length > 1) return false
    const fields = file.fields.map(id => schema.fields.find(field => field.id === id))
    if (fields.includes(undefined)) return false
    const written = { id: schema.id, fields: fields as TableField[] }
    return !concerns(decodeBatch(slot.blob(file.blob), arrowSchema(written)))
  })
}

/** Return a `Concerns` function for a change that affects the rows that match `filter`. */
export function matchedBy(filter: BoundExpression): Concerns {
  return rows => {
    const names = new Set(rows.schema.fields.map(({ name }) => name))
    // The appended rows do not have the columns `_rowid` and `_rowoffset`. If the filter reads them, any row may match.
    if (!filter.columns.every(name => names.has(name))) return true
    return selectRows(filter, rows).count() > 0
  }
}

function mayPass({ rows, zones }: AddedFragment, schema: TableSchema, filter: BoundExpression): boolean {
  const known = ({ path }: ColumnNode) => {
    const field = path.length === 1 ? schema.fields.find(({ name }) => name === path[0]) : undefined
    const record = field && zones?.[field.id]
    return record === undefined ? null : { zone: readZone(record, field!.type), rows }
  }
  return possibleTruth(filter.expr, known).isTrue
}

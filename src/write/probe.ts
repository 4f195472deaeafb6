/**
 * Checks whether rows that were appended since a change was prepared affect the change (STORAGE S3). If not, the change
 * is the same on the newer version and need not be prepared again. Synchronous: rows that would have to be read count
 * as affecting it.
 */
import type { Batch } from '../arrow/column.js'
import { decodeBatch } from '../arrow/inline-batch.js'
import type { AddedFragment } from '../manifest/change.js'
import type { RecentChange } from '../manifest/recent-changes.js'
import { arrowSchema, type TableField, type TableSchema } from '../manifest/table-schema.js'
import type { BoundExpression, ColumnNode } from '../sql/bound.js'
import { selectRows } from '../sql/evaluate.js'
import { possibleTruth } from '../sql/zones/prune.js'
import { readZone } from '../sql/zones/zone.js'

/** Return whether any of some rows, given with all columns, affects the change. */
export type Concerns = (rows: Batch) => boolean

/**
 * Return whether a change only appends rows that neither `filter` (if given) nor `concerns` selects. `schema`: that of
 * the table, before and after.
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

/** For a change of the rows that match a predicate. */
export function matchedBy(filter: BoundExpression): Concerns {
  return rows => {
    const names = new Set(rows.schema.fields.map(({ name }) => name))
    // `_rowid` and `_rowoffset` are not known before the commit.
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

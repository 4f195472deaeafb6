/**
 * Whether rows that were appended since a change was worked out have anything to do with it (STORAGE S3). Where they do not,
 * the change is the same on the newer version, and need not be worked out again. Synchronous: what would have to be read
 * first counts as having to do with it.
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

/** Says of some rows, all columns of them, whether any has to do with the change. */
export type Concerns = (rows: Batch) => boolean

/**
 * Whether a change is an append of rows that neither `filter`, where there is one, nor `concerns` has a say about.
 * `schema`: that of the table, before and after.
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

/** For a change of the rows that a predicate is true for. */
export function matchedBy(filter: BoundExpression): Concerns {
  return rows => {
    const names = new Set(rows.schema.fields.map(({ name }) => name))
    // What is not in the row itself is not known yet.
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

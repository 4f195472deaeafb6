/** Rewrites columns after a schema change: casts values to new types, and removes dropped nested fields. */
import type { Batch, Column } from '../arrow/column.js'
import { Place } from '../arrow/place.js'
import { retyped } from '../arrow/retype.js'
import { equalTypes } from '../arrow/same-type.js'
import { typeName } from '../arrow/type-name.js'
import { childFields, type DataType } from '../arrow/types.js'
import { quote, schemaMismatch } from '../errors.js'
import { type FieldNode, nodeOf, typeOf } from '../manifest/field-node.js'
import { arrowSchema, type TableField, type TableSchema } from '../manifest/table-schema.js'
import { fieldOf } from '../sql/batch-columns.js'
import { castable, castColumn } from '../sql/kernels/cast.js'
import { decoded } from '../sql/kernels/dictionary.js'
import { castColumn as castLossless } from './lossless-cast.js'
import type { ColumnsWork } from './stage-columns.js'

interface Reshaped {
  readonly old: FieldNode
  readonly now: FieldNode
}

/**
 * Return the work of rewriting the columns whose stored values differ between the schemas `before` and `after`, with
 * the ids of their fields. Returns null if no stored value changes.
 */
export function reshapedValues(
  before: TableSchema,
  after: TableSchema,
): { readonly work: ColumnsWork; readonly fields: readonly number[] } | null {
  const changed = after.fields.flatMap((field): Reshaped[] => {
    const known = before.fields.find(({ id }) => id === field.id)
    if (known === undefined) return []
    const [old, now] = [nodeOf(known), nodeOf(field)]
    return isStoredAlike(old, now) ? [] : [{ old, now }]
  })
  if (changed.length === 0) return null
  const fields = changed.map(({ now }) => now.id)
  const written: readonly TableField[] = after.fields.filter(({ id }) => fields.includes(id))
  const { fields: columns } = arrowSchema({ id: 0, fields: written })
  const work: ColumnsWork = {
    schema: { fields: columns },
    names: changed.map(({ old }) => old.name),
    expressions: [],
    values(rows): Batch {
      const values = changed.map(({ old, now }, i) => reshaped(rows.columns[i]!, old, now, old.name))
      return { schema: { fields: columns }, length: rows.length, columns: values }
    },
    // In a fragment without a file for the column, the column is null with any type, so nothing is rewritten.
    concerns: ({ files }) => files.some(file => file.fields.some(id => fields.includes(id))),
  }
  return { work, fields }
}

/**
 * Return whether the values of two fields have the same stored bytes. Names, nullability and metadata may differ,
 * because they are not stored with the values.
 */
function isStoredAlike(old: FieldNode, now: FieldNode): boolean {
  return equalTypes(storedType(old), storedType(now))
}

function storedType(node: FieldNode): DataType {
  const anonymous = (of: FieldNode): FieldNode => {
    return { ...of, name: String(of.id), nullable: true, children: of.children.map(anonymous) }
  }
  return typeOf(anonymous(node))
}

/**
 * Check that a cast exists. Throws `SchemaValidation` if there is no cast, and `InvalidInput` for an unknown timezone.
 */
export function checkCastable(from: DataType, to: DataType, path: string): void {
  if (equalTypes(from, to)) return
  if (!castable(from, to)) {
    throw schemaMismatch(
      `column ${quote(path)} is ${typeName(from)}, which cannot be cast to ${typeName(to)}`,
      {
        hint: 'add a column with an expression that converts the values',
      },
    )
  }
  const tighter = childFields(to).find(
    (child, i) => !child.nullable && childFields(from)[i]?.nullable !== false,
  )
  if (tighter !== undefined) {
    throw schemaMismatch(
      `column ${quote(path)} cannot be cast to ${typeName(to)}, because its elements are nullable, but those of the new type are not`,
    )
  }
}

function reshaped(column: Column, old: FieldNode, now: FieldNode, path: string): Column {
  const type = typeOf(now)
  if (isStoredAlike(old, now)) return retyped(column, type)
  if (old.type.kind === 'struct' && now.type.kind === 'struct') {
    const children = now.children.map(child => {
      const index = old.children.findIndex(({ id }) => id === child.id)
      const before = old.children[index]!
      return reshaped(fieldOf(column, index), before, child, `${path}.${before.name}`)
    })
    return { ...column, type, children }
  }
  const cast = castColumn(decoded(column), type, false, null, () => `column ${quote(path)}`, 'refuse')
  return castLossless(cast, { name: path, type, nullable: true }, Place.column(path))
}

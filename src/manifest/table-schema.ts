/**
 * The schema of a table: Arrow fields, each with an id. Renaming a field does not change its id.
 *
 * A field id is used only once per table. A data file lists the ids of the fields that it contains. The descendants of
 * a nested field have ids too, in depth-first order, so that a nested field can be renamed or indexed.
 */
import { equalTypes } from '../arrow/same-type.js'
import { childFields, type DataType, type Field, type Schema } from '../arrow/types.js'

/** A column, with ids for itself and its descendants. */
export interface TableField extends Field {
  readonly id: number
  /** The ids of the field's descendants, in depth-first order. Absent if the field has no descendants. */
  readonly nested?: readonly number[]
}

/** A schema of a table. See the head of this file. */
export interface TableSchema {
  /**
   * The number of the schema in the table. Every change of a field or of the metadata creates a schema with a new
   * number.
   */
  readonly id: number
  readonly fields: readonly TableField[]
  readonly metadata?: Readonly<Record<string, string>>
}

/** A schema, and the next free field id. */
export interface NumberedSchema {
  readonly schema: TableSchema
  readonly nextField: number
}

/** Give the fields of `schema` ids from `firstField` on. `id`: the number of the new schema. */
export function numberFields(schema: Schema, id: number, firstField: number): NumberedSchema {
  let next = firstField
  const fields = schema.fields.map((field): TableField => {
    const own = next++
    const nested = Array.from({ length: descendants(field.type) }, () => next++)
    return nested.length === 0 ? { ...field, id: own } : { ...field, id: own, nested }
  })
  const numbered = schema.metadata === undefined ? { id, fields } : { id, fields, metadata: schema.metadata }
  return { schema: numbered, nextField: next }
}

/** Return the column that has the field id, or that contains the field with this id. */
export function columnOfField({ fields }: TableSchema, id: number): TableField | undefined {
  return fields.find(field => field.id === id || field.nested?.includes(id))
}

/** Return the schema without ids, as an Arrow schema. */
export function arrowSchema(schema: TableSchema): Schema {
  const fields = schema.fields.map(({ name, type, nullable, metadata }): Field => {
    return metadata === undefined ? { name, type, nullable } : { name, type, nullable, metadata }
  })
  return schema.metadata === undefined ? { fields } : { fields, metadata: schema.metadata }
}

/**
 * Return whether rows that were written for schema `before` are valid for schema `now` without a change. This requires:
 *
 * - Each field of `before` still exists and has the same type.
 * - No field of `before` has become non-nullable.
 * - Each field that only `now` has is nullable.
 */
export function takesRowsOf(now: TableSchema, before: TableSchema): boolean {
  const brought = new Set(before.fields.map(field => field.id))
  return (
    before.fields.every(field => {
      const kept = now.fields.find(({ id }) => id === field.id)
      return kept !== undefined && equalTypes(kept.type, field.type) && (kept.nullable || !field.nullable)
    }) && now.fields.every(({ id, nullable }) => nullable || brought.has(id))
  )
}

/** Return the number of descendants of a field with this type. */
export function descendants(type: DataType): number {
  return childFields(type).reduce((sum, child) => sum + 1 + descendants(child.type), 0)
}

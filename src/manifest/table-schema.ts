/**
 * The schema of a table: Arrow's fields, each with an id that survives renames.
 *
 * A table gives out each field id once. A data file lists the ids it contains. Descendants of a nested field have ids
 * too (depth first), so that a nested column can be renamed or indexed by id.
 */
import { equalTypes } from '../arrow/same-type.js'
import { childFields, type DataType, type Field, type Schema } from '../arrow/types.js'

/** A column, with ids for itself and its descendants. */
export interface TableField extends Field {
  readonly id: number
  /** Ids of the field's descendants, depth first; absent if it has none. */
  readonly nested?: readonly number[]
}

/** A schema of a table. See the head of this file. */
export interface TableSchema {
  /** Number of the schema in the table: every change of a field or of the metadata makes a new schema. */
  readonly id: number
  readonly fields: readonly TableField[]
  readonly metadata?: Readonly<Record<string, string>>
}

/** A schema, and the field counter after it. */
export interface NumberedSchema {
  readonly schema: TableSchema
  readonly nextField: number
}

/** Number the fields of `schema` from `firstField` on. */
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

/** Return the column that is or contains the field with an id. */
export function columnOfField({ fields }: TableSchema, id: number): TableField | undefined {
  return fields.find(field => field.id === id || field.nested?.includes(id))
}

/** Return the Arrow schema, without ids. */
export function arrowSchema(schema: TableSchema): Schema {
  const fields = schema.fields.map(({ name, type, nullable, metadata }): Field => {
    return metadata === undefined ? { name, type, nullable } : { name, type, nullable, metadata }
  })
  return schema.metadata === undefined ? { fields } : { fields, metadata: schema.metadata }
}

/**
 * Return whether rows written for schema `before` are valid for schema `now` unchanged. All their fields must still
 * exist with the same types, none may have become non-nullable, and fields they lack must be nullable.
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

/** Return the number of fields below a type. */
export function descendants(type: DataType): number {
  return childFields(type).reduce((sum, child) => sum + 1 + descendants(child.type), 0)
}

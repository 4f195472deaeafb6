/**
 * A table's schema: Arrow's fields, each with an identity that survives renames.
 *
 * Field ids are given out once per table and never again; a data file says which ids it holds. Descendants of a
 * nested field have ids too (depth first), so that a nested column can be renamed or indexed by identity.
 */
import { equalTypes } from '../arrow/same-type.js'
import { childFields, type DataType, type Field, type Schema } from '../arrow/types.js'

export interface TableField extends Field {
  readonly id: number
  /** Ids of the field's descendants, depth first; absent when it has none. */
  readonly nested?: readonly number[]
}

export interface TableSchema {
  /** Counts the schemas of the table: a change of any field or of the metadata makes a new one. */
  readonly id: number
  readonly fields: readonly TableField[]
  readonly metadata?: Readonly<Record<string, string>>
}

/** A schema with the field counter after it. */
export interface NumberedSchema {
  readonly schema: TableSchema
  readonly nextField: number
}

/** Gives every field of `schema` a fresh id from `firstField` on. */
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

/** The column that is, or holds, the field with an id. */
export function columnOfField({ fields }: TableSchema, id: number): TableField | undefined {
  return fields.find(field => field.id === id || field.nested?.includes(id))
}

/** The schema as Arrow knows it, without ids. */
export function arrowSchema(schema: TableSchema): Schema {
  const fields = schema.fields.map(({ name, type, nullable, metadata }): Field => {
    return metadata === undefined ? { name, type, nullable } : { name, type, nullable, metadata }
  })
  return schema.metadata === undefined ? { fields } : { fields, metadata: schema.metadata }
}

/**
 * Whether rows written for `before` are rows of `now` as they are: all their fields are still there, with the same types
 * and no null refused that was allowed, and what they lack may be null.
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

/** How many fields there are below a type. */
export function descendants(type: DataType): number {
  return childFields(type).reduce((sum, child) => sum + 1 + descendants(child.type), 0)
}

/**
 * Definitions of columns that an expression or a function fills. The metadata of a column contains its definition:
 *
 *     sheaf:computed         SQL expression that gives the value of the column in every row
 *     sheaf:virtual_column   definition of a column that a function fills, as JSON, as the caller gave it
 *     sheaf:struct_field     field of the function's result to store, if the function fills several columns
 */
import type { Field, Schema } from '../arrow/types.js'
import { corrupted, invalidInput, quote } from '../errors.js'
import type { NewVirtualColumn } from '../protocol/schema-shapes.js'

const computedKey = 'sheaf:computed'
const virtualKey = 'sheaf:virtual_column'
const structFieldKey = 'sheaf:struct_field'
const ownPrefix = 'sheaf:'

type Metadata = Readonly<Record<string, string>>

/** The parsed definition of a column. */
export type Definition =
  | { readonly kind: 'computed'; readonly expression: string }
  | {
      readonly kind: 'virtual'
      readonly column: NewVirtualColumn
      readonly structField: string | null
    }

/**
 * Return the definition of a column. Returns null for a column without a definition. Throws `Internal` for damaged
 * JSON.
 */
export function definitionOf({ name, metadata }: Pick<Field, 'name' | 'metadata'>): Definition | null {
  const expression = metadata?.[computedKey]
  if (expression !== undefined) return { kind: 'computed', expression }
  const text = metadata?.[virtualKey]
  if (text === undefined) return null
  try {
    return { kind: 'virtual', column: JSON.parse(text), structField: metadata?.[structFieldKey] ?? null }
  } catch (cause) {
    throw corrupted(`the definition of column ${quote(name)} is not JSON`, { cause })
  }
}

/** Return whether Sheaf computes all values of the column, also for new rows. Callers cannot set such a column. */
export function isMaintained(field: Pick<Field, 'name' | 'metadata'>): boolean {
  const definition = definitionOf(field)
  return definition?.kind === 'computed' || definition?.column.auto_backfill === true
}

/** Return `schema`, in which the maintained columns (`isMaintained`) are nullable. */
export function withNulls(schema: Schema): Schema {
  if (!schema.fields.some(isMaintained)) return schema
  const fields = schema.fields.map(field => (isMaintained(field) ? { ...field, nullable: true } : field))
  return { ...schema, fields }
}

/** Return the stored text of a definition. Columns that one call of a function fills have equal texts. */
export function definitionText({ metadata }: Pick<Field, 'metadata'>): string | undefined {
  return metadata?.[computedKey] ?? metadata?.[virtualKey]
}

/** Return the metadata of a computed column. */
export function computedMetadata(expression: string): Metadata {
  return { [computedKey]: expression }
}

/**
 * Return the metadata of a virtual column. `structField`: the field of the function's result; null: the whole result.
 * Throws `InvalidInput` for a reserved key in `field_metadata`.
 */
export function virtualMetadata(column: NewVirtualColumn, structField: string | null): Metadata {
  return {
    ...fieldMetadata(column),
    [virtualKey]: JSON.stringify(column),
    ...(structField !== null && { [structFieldKey]: structField }),
  }
}

/** Return `metadata` with the definition `now` instead of `before`. Other keys, which callers set, do not change. */
export function redefined(metadata: Metadata, before: NewVirtualColumn, now: NewVirtualColumn): Metadata {
  const known = Object.keys(fieldMetadata(before))
  const others = Object.entries(metadata).filter(([key]) => !known.includes(key))
  return { ...Object.fromEntries(others), ...virtualMetadata(now, metadata[structFieldKey] ?? null) }
}

/** Return the field metadata of a definition. Values that are not strings are converted to JSON. */
function fieldMetadata({ field_metadata = {} }: NewVirtualColumn): Metadata {
  checkFree(Object.keys(field_metadata))
  return Object.fromEntries(
    Object.entries(field_metadata).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
}

/** Throw `InvalidInput` if a key of metadata is reserved for definitions. */
export function checkFree(keys: readonly string[]): void {
  const own = keys.find(key => key.startsWith(ownPrefix))
  if (own === undefined) return
  throw invalidInput(
    `the metadata key ${quote(own)} is reserved, because it begins with ${quote(ownPrefix)}`,
    {
      hint: 'to change the definition of a column, add or alter the column',
    },
  )
}

/**
 * Return a part of the metadata of a column. `defining` true: the entries of the definition; false: all other entries.
 */
export function definingPart(metadata: Metadata, defining: boolean): Metadata {
  return Object.fromEntries(
    Object.entries(metadata).filter(([key]) => key.startsWith(ownPrefix) === defining),
  )
}

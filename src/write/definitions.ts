/**
 * Definitions of columns that an expression or a function fills, in the metadata of the column.
 *
 *     sheaf:computed         SQL expression that holds for all rows, now and later
 *     sheaf:virtual_column   the definition of a function's column as JSON, as given by the caller
 *     sheaf:struct_field     the field of the function's result, for functions with several results
 */
import type { Field, Schema } from '../arrow/types.js'
import { corrupted, invalidInput, quote } from '../errors.js'
import type { NewVirtualColumn } from '../protocol/schema-shapes.js'

const computedKey = 'sheaf:computed'
const virtualKey = 'sheaf:virtual_column'
const structFieldKey = 'sheaf:struct_field'
const ownPrefix = 'sheaf:'

type Metadata = Readonly<Record<string, string>>

/** A definition, parsed. */
export type Definition =
  | { readonly kind: 'computed'; readonly expression: string }
  | {
      readonly kind: 'virtual'
      readonly column: NewVirtualColumn
      readonly structField: string | null
    }

/** Return the definition of a column; null for a plain column. */
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

/**
 * Return whether every value of the column comes from its definition, now and later, so that no caller can write it.
 */
export function isMaintained(field: Pick<Field, 'name' | 'metadata'>): boolean {
  const definition = definitionOf(field)
  return definition?.kind === 'computed' || definition?.column.auto_backfill === true
}

/** Return `schema` with nullable columns where definitions fill them. */
export function withNulls(schema: Schema): Schema {
  if (!schema.fields.some(isMaintained)) return schema
  const fields = schema.fields.map(field => (isMaintained(field) ? { ...field, nullable: true } : field))
  return { ...schema, fields }
}

/** Return a text that is equal for columns that the same call of the same function fills. */
export function definitionText({ metadata }: Pick<Field, 'metadata'>): string | undefined {
  return metadata?.[computedKey] ?? metadata?.[virtualKey]
}

/** Return the metadata of a computed column. */
export function computedMetadata(expression: string): Metadata {
  return { [computedKey]: expression }
}

/** Return the metadata of a virtual column. Throws `InvalidInput` for reserved keys in `field_metadata`. */
export function virtualMetadata(column: NewVirtualColumn, structField: string | null): Metadata {
  return {
    ...fieldMetadata(column),
    [virtualKey]: JSON.stringify(column),
    ...(structField !== null && { [structFieldKey]: structField }),
  }
}

/** Return `metadata` with the new definition `now`. Keeps metadata that callers set. */
export function redefined(metadata: Metadata, before: NewVirtualColumn, now: NewVirtualColumn): Metadata {
  const known = Object.keys(fieldMetadata(before))
  const others = Object.entries(metadata).filter(([key]) => !known.includes(key))
  return { ...Object.fromEntries(others), ...virtualMetadata(now, metadata[structFieldKey] ?? null) }
}

/** Texts as they are, other values as JSON. */
function fieldMetadata({ field_metadata = {} }: NewVirtualColumn): Metadata {
  checkFree(Object.keys(field_metadata))
  return Object.fromEntries(
    Object.entries(field_metadata).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
}

/** Refuse metadata keys that are reserved for definitions (`InvalidInput`). */
export function checkFree(keys: readonly string[]): void {
  const own = keys.find(key => key.startsWith(ownPrefix))
  if (own === undefined) return
  throw invalidInput(`metadata ${quote(own)} cannot be set by callers`, {
    hint: `keys that begin with ${quote(ownPrefix)} define columns; add or alter the column instead`,
  })
}

/** Return the metadata entries that define a column, or all others. */
export function definingPart(metadata: Metadata, defining: boolean): Metadata {
  return Object.fromEntries(
    Object.entries(metadata).filter(([key]) => key.startsWith(ownPrefix) === defining),
  )
}

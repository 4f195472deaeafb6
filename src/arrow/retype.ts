/** Changes the names in the type of a column. */
import type { Column } from './column.js'
import { childFields, type DataType } from './types.js'

/**
 * Return the same values with type `type`, which may differ only in names, nullability and metadata of nested fields.
 */
export function retyped(column: Column, type: DataType): Column {
  if (column.type === type || column.children.length === 0) return { ...column, type }
  const fields = childFields(type)
  return { ...column, type, children: column.children.map((child, i) => retyped(child, fields[i]!.type)) }
}

/** Changes the names, nullability and metadata in the type of a column. */
import type { Column } from './column.js'
import { childFields, type DataType } from './types.js'

/**
 * Return the column with the type `type`. It may differ from the column's type only in the names, nullability and
 * metadata of nested fields.
 */
export function retyped(column: Column, type: DataType): Column {
  if (column.type === type || column.children.length === 0) return { ...column, type }
  const fields = childFields(type)
  return { ...column, type, children: column.children.map((child, i) => retyped(child, fields[i]!.type)) }
}

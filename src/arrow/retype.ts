/** Columns under other names. */
import type { Column } from './column.js'
import { childFields, type DataType } from './types.js'

/** The same values as ones of `type`, which differs in names, nullability and metadata of nested fields at most. */
export function retyped(column: Column, type: DataType): Column {
  if (column.type === type || column.children.length === 0) return { ...column, type }
  const fields = childFields(type)
  return { ...column, type, children: column.children.map((child, i) => retyped(child, fields[i]!.type)) }
}

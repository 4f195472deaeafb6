/** Replaces dictionaries by their values, for files that get values. */
import type { Column } from '../../src/arrow/column.js'
import type { DataType, Field, Schema } from '../../src/arrow/types.js'
import { decoded } from '../../src/sql/kernels/dictionary.js'

/** Return the schema without dictionaries. */
export function plainSchema(schema: Schema): Schema {
  return { ...schema, fields: schema.fields.map(plainField) }
}

function plainField(field: Field): Field {
  return { ...field, type: plainType(field.type) }
}

function plainType(type: DataType): DataType {
  switch (type.kind) {
    case 'dictionary':
      return plainType(type.value)
    case 'list':
    case 'fixed_size_list':
    case 'map':
      return { ...type, child: plainField(type.child) }
    case 'struct':
      return { ...type, children: type.children.map(plainField) }
    default:
      return type
  }
}

/** Return the column without dictionaries. */
export function plainColumn(column: Column): Column {
  if (column.dictionary !== null) return plainColumn(decoded(column))
  if (column.children.length === 0) return column
  return { ...column, type: plainType(column.type), children: column.children.map(plainColumn) }
}

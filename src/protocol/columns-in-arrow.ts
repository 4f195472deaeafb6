/** Reads new columns from an Arrow schema. LanceDB's clients send such a schema to add columns of nulls. */
import { decodeIpc } from '../arrow/decode-ipc.js'
import { equalTypes } from '../arrow/same-type.js'
import { typeFromJson } from '../arrow/schema-from-json.js'
import { typeToJson } from '../arrow/schema-json.js'
import { typeName } from '../arrow/type-name.js'
import { invalidInput, quote, schemaMismatch, unsupported } from '../errors.js'

/**
 * Return the JSON body that is equivalent to an Arrow IPC body without rows. It adds the columns of the schema with
 * null in all rows. Throws:
 *
 * - InvalidInput for bytes that are not Arrow data, and for a body with rows.
 * - SchemaValidation for columns that are not nullable.
 * - Unsupported for columns with metadata, and for types that have no name in JSON requests.
 */
export function columnsInArrow(bytes: Uint8Array): { readonly new_columns: readonly unknown[] } {
  const { schema, batches } = decodeIpc(bytes)
  if (batches.some(({ length }) => length > 0)) {
    throw invalidInput('the Arrow body has rows, but new columns are null in all rows', {
      hint: 'send a schema without rows',
    })
  }
  const columns = schema.fields.map(({ name, type, nullable, metadata }) => {
    if (!nullable) {
      throw schemaMismatch(`column ${quote(name)} is not nullable, but a new column is null in all rows`, {
        hint: 'make the column nullable',
      })
    }
    if (metadata !== undefined && Object.keys(metadata).length > 0) {
      throw unsupported(`column ${quote(name)} has metadata, which cannot be set with a new column`, {
        hint: 'add the column without metadata, then set the metadata with updateFieldMetadata',
      })
    }
    const data_type = typeToJson(type, 'lance')
    if (!equalTypes(typeFromJson(data_type), type)) {
      throw unsupported(
        `column ${quote(name)} has the type ${typeName(type)}, which cannot be added by a schema`,
      )
    }
    return { name, all_null: true, data_type }
  })
  return { new_columns: columns }
}

/** New columns that come as an Arrow schema: what LanceDB's clients send where the columns of a table are to be added as nulls. */
import { decodeIpc } from '../arrow/decode-ipc.js'
import { equalTypes } from '../arrow/same-type.js'
import { typeFromJson, typeToJson } from '../arrow/schema-json.js'
import { typeName } from '../arrow/type-name.js'
import { invalidInput, quote, schemaMismatch, unsupported } from '../errors.js'

/**
 * The JSON body that says the same as an Arrow IPC body without rows: columns of nulls. Throws code 13 for bytes that are no
 * Arrow data, and for rows; 20 for columns that allow no null; 0 for metadata of a column and for types that have no name.
 */
export function columnsInArrow(bytes: Uint8Array): { readonly new_columns: readonly unknown[] } {
  const { schema, batches } = decodeIpc(bytes)
  if (batches.some(({ length }) => length > 0)) {
    throw invalidInput('the body brings rows', { hint: 'send a schema without rows: new columns are null' })
  }
  const columns = schema.fields.map(({ name, type, nullable, metadata }) => {
    if (!nullable) {
      throw schemaMismatch(`column ${quote(name)} may not be null, and a new column is`, {
        hint: 'make it nullable',
      })
    }
    if (metadata !== undefined && Object.keys(metadata).length > 0) {
      throw unsupported(`column ${quote(name)} has metadata, which is not set with a new column`, {
        hint: 'add the column without metadata, then set it by update_field_metadata',
      })
    }
    const data_type = typeToJson(type, 'lance')
    if (!equalTypes(typeFromJson(data_type), type)) {
      throw unsupported(`column ${quote(name)} is ${typeName(type)}, which is not added by a schema`)
    }
    return { name, all_null: true, data_type }
  })
  return { new_columns: columns }
}

/** Checks the schemas that callers pass to the API. */
import { checkSchemaShape } from './check-schema.js'
import { fromForeignSchema } from './foreign.js'
import type { Schema } from './types.js'

/**
 * Return the schema of a caller as plain data. `schema`: plain data, or a Schema of any version of apache-arrow. Throws
 * `SchemaValidation` for any other value, and `Unsupported` for a type that Sheaf does not support.
 */
export function givenSchema(schema: unknown): Schema {
  const plain = fromForeignSchema(schema) ?? (schema as Schema)
  checkSchemaShape(plain)
  return plain
}

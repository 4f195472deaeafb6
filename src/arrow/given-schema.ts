/** Checks schemas from callers. */
import { checkSchemaShape } from './check-schema.js'
import { fromForeignSchema } from './foreign.js'
import type { Schema } from './types.js'

/**
 * Return a schema from a caller as plain data: it is plain data, or a Schema of any version of apache-arrow. Throws
 * `SchemaValidation` for other values, and `Unsupported` for types that Sheaf does not support.
 */
export function givenSchema(schema: unknown): Schema {
  const plain = fromForeignSchema(schema) ?? (schema as Schema)
  checkSchemaShape(plain)
  return plain
}

/** What calls work out of a table's schema. */
import type { TableSchema } from '../manifest/table-schema.js'

/** What is bound to a schema, once for each schema it meets in turn. */
export function perSchema<T>(bind: (schema: TableSchema) => T): (schema: TableSchema) => T {
  let last: { readonly id: number; readonly bound: T } | null = null
  return schema => {
    if (last?.id !== schema.id) last = { id: schema.id, bound: bind(schema) }
    return last.bound
  }
}

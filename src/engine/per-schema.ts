/** Caches what a call derives from a table's schema. */
import type { TableSchema } from '../manifest/table-schema.js'

/** Return a function that binds once per schema, as long as the schema stays the same. */
export function perSchema<T>(bind: (schema: TableSchema) => T): (schema: TableSchema) => T {
  let last: { readonly id: number; readonly bound: T } | null = null
  return schema => {
    if (last?.id !== schema.id) last = { id: schema.id, bound: bind(schema) }
    return last.bound
  }
}

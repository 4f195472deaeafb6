/** Caches values that a call derives from the schema of a table. */
import type { TableSchema } from '../manifest/table-schema.js'

/**
 * Return a function that calls `bind` for a schema and caches the last result. `bind` runs again only when the id of
 * the schema differs.
 */
export function perSchema<T>(bind: (schema: TableSchema) => T): (schema: TableSchema) => T {
  let last: { readonly id: number; readonly bound: T } | null = null
  return schema => {
    if (last?.id !== schema.id) last = { id: schema.id, bound: bind(schema) }
    return last.bound
  }
}

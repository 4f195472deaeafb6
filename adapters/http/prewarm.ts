/** Loads tables into the cache of a server, before its first requests need them. */
import { quote } from '../../src/errors.js'
import type { Operations } from '../../src/protocol/calls.js'
import type { Served } from './handling.js'
import type { ServeOptions } from './options.js'

type Tables = NonNullable<ServeOptions['prewarm']>

/**
 * Load the indexes of tables, and the columns that have an index. Of a table without indexes, load all columns. Ends early
 * when half of the cache is in use, or when `isOver` returns true. Never rejects: if a table cannot be loaded, emits a
 * warning of the process and continues with the next table.
 */
export async function prewarmTables(served: Served, tables: Tables, isOver: () => boolean): Promise<void> {
  const { operations } = served
  const names = await (tables === 'all' ? allTables(operations) : Promise.resolve(tables)).catch(error => {
    warn('the tables cannot be listed', error)
    return []
  })
  for (const name of names) {
    if (isOver() || isHalfFull(served)) return
    try {
      await prewarmTable(served, name.split('$'))
    } catch (error) {
      warn(`table ${quote(name)} cannot be loaded`, error)
    }
  }
}

async function prewarmTable(served: Served, id: readonly string[]): Promise<void> {
  const { operations } = served
  const indexes: { readonly index_name: string; readonly columns: readonly string[] }[] = []
  for (let page_token: string | undefined; ; ) {
    const page = await operations.listTableIndices({ id, ...(page_token && { page_token }) })
    indexes.push(...page.indexes)
    page_token = page.page_token ?? undefined
    if (page_token === undefined) break
  }
  for (const { index_name } of indexes) {
    if (isHalfFull(served)) return
    await operations.prewarmTableIndex({ id, index_name })
  }
  if (indexes.length === 0) return operations.prewarmTable({ id })
  for (const column of new Set(indexes.flatMap(({ columns }) => columns))) {
    if (isHalfFull(served)) return
    await operations.prewarmTable({ id, columns: [column] })
  }
}

async function allTables(operations: Operations): Promise<readonly string[]> {
  const names: string[] = []
  for (let page_token: string | undefined; ; ) {
    const page = await operations.listAllTables({ ...(page_token && { page_token }) })
    names.push(...page.tables)
    page_token = page.page_token ?? undefined
    if (page_token === undefined) return names
  }
}

/** Return whether half of the cache is in use. False if the engine runs in another thread. */
function isHalfFull(served: Served): boolean {
  try {
    const { memory } = served.stats?.() ?? {}
    return memory !== undefined && 2 * memory.bytes > memory.budgetBytes
  } catch {
    return false
  }
}

function warn(what: string, error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error)
  process.emitWarning(`sheaf: prewarm: ${what}: ${reason}`)
}

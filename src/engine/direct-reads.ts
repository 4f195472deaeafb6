/**
 * Reads rows by key or by a text without a request, for clients in this process. The filter of a query is parsed once. Its
 * column, the index and the parts of the rows are found once per version. Each read checks that the version is the newest.
 */
import { lazyImport } from '../lazy-import.js'
import type { DirectQuery, DirectRead, DirectReads } from '../protocol/direct-reads.js'
import type { Engine } from '../root/engine.js'
import { TextRead } from './direct-texts.js'

const importKeyRead = lazyImport(() => import('./key-read.js'))

/** Maximum number of query forms that are kept. */
const formsMax = 256
/** The fields of queries that direct reads take into account. */
const common = ['id', 'version', 'columns', 'k', 'offset']
const fieldsByKey: ReadonlySet<string> = new Set([...common, 'filter', 'parameters'])
const fieldsByText: ReadonlySet<string> = new Set([
  ...common,
  'full_text_query',
  'fast_search',
  'require_index',
])

/** The direct reads of a root. */
export class EngineReads implements DirectReads {
  readonly #engine: Engine
  /** The searches for texts by form (`formOf`), and the reads of filters with parameters by form and filter. */
  readonly #reads = new Map<string, DirectRead>()
  /** The search for texts that was prepared last. Computing a form takes a part of the time of a small search. */
  #lastText: TextRead | null = null

  constructor(engine: Engine) {
    this.#engine = engine
  }

  prepare(query: DirectQuery, table?: string): DirectRead | null {
    const { filter, columns, full_text_query } = query
    const isByText = full_text_query !== undefined
    const known = isByText ? fieldsByText : fieldsByKey
    for (const name in query) if (!known.has(name)) return null
    if (columns !== undefined && !('column_names' in columns)) return null
    if (isByText) return this.#textRead(query, table)
    if (filter === undefined) return null
    const key = `${formOf(query, table)}/${filter}`
    const kept = this.#reads.get(key)
    if (kept !== undefined) return kept
    const read = keyReads()?.keyRead(this.#engine, query, table) ?? null
    if (read?.hasParameters) this.#keep(key, read)
    return read
  }

  #textRead(query: DirectQuery, table: string | undefined): TextRead {
    const last = this.#lastText
    if (last !== null && table !== undefined && last.takes(query, table)) return last
    const form = formOf(query, table)
    let read = this.#reads.get(form) as TextRead | undefined
    if (read === undefined) {
      read = new TextRead(this.#engine, query, table)
      this.#keep(form, read)
    }
    this.#lastText = read
    return read
  }

  #keep(key: string, read: DirectRead): void {
    if (this.#reads.size === formsMax) this.#reads.delete(this.#reads.keys().next().value!)
    this.#reads.set(key, read)
  }
}

/** Return a text that is equal for queries of the same table, version and columns. */
function formOf({ id, version, columns }: DirectQuery, table: string | undefined): string {
  return `${table ?? JSON.stringify(id)}/${version}/${JSON.stringify(columns)}`
}

/** Return the code of reads by key, or null and begin to load it. A request waits for its code, and reports an error. */
function keyReads() {
  const code = importKeyRead()
  if (!(code instanceof Promise)) return code
  code.catch(() => {})
  return null
}

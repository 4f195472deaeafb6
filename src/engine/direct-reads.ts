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
  /** The reads of filters with parameters, by form and table. */
  readonly #reads = new Map<string, DirectRead>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  prepare(query: DirectQuery, table?: string): DirectRead | null {
    const { filter, columns, full_text_query } = query
    const isByText = full_text_query !== undefined
    const known = isByText ? fieldsByText : fieldsByKey
    for (const name in query) if (!known.has(name)) return null
    if (columns !== undefined && !('column_names' in columns)) return null
    const form = `${table ?? JSON.stringify(query.id)}/${query.version}/${JSON.stringify(columns)}`
    if (isByText) return this.#textRead(form, query, table)
    if (filter === undefined) return null
    const key = `${form}/${filter}`
    const kept = this.#reads.get(key)
    if (kept !== undefined) return kept
    const read = keyReads()?.keyRead(this.#engine, query, table) ?? null
    if (read?.hasParameters) this.#keep(key, read)
    return read
  }

  #textRead(form: string, query: DirectQuery, table: string | undefined): DirectRead {
    let read = this.#reads.get(form)
    if (read === undefined) {
      read = new TextRead(this.#engine, query, table)
      this.#keep(form, read)
    }
    return read
  }

  #keep(key: string, read: DirectRead): void {
    if (this.#reads.size === formsMax) this.#reads.delete(this.#reads.keys().next().value!)
    this.#reads.set(key, read)
  }
}

/** Return the code of reads by key, or null and begin to load it. A request waits for its code, and reports an error. */
function keyReads() {
  const code = importKeyRead()
  if (!(code instanceof Promise)) return code
  code.catch(() => {})
  return null
}

/**
 * Reads rows by key or by a text without a request, for clients in this process. The filter of a query is parsed once. Its
 * column, the index and the parts of the rows are found once per version. Each read checks that the version is the newest.
 */
import type { DirectQuery, DirectRead, DirectReads } from '../protocol/direct-reads.js'
import { type KeyCondition, keysFor } from '../query/key-condition.js'
import { KeyRows } from '../query/key-rows.js'
import type { Engine } from '../root/engine.js'
import type { TableReader } from '../table/table-reader.js'
import { TextRead } from './direct-texts.js'
import { keyConditionIn } from './key-conditions.js'
import { VersionInMemory } from './version-in-memory.js'

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
    const condition = keyConditionIn(filter)
    if (condition === null) return null
    const read = new KeyRead(this.#engine, query, table, condition)
    if (condition.parameter !== null) this.#keep(key, read)
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

/** Reads rows by one condition on a key. */
class KeyRead implements DirectRead {
  readonly #version: VersionInMemory
  readonly #condition: KeyCondition
  readonly #names: readonly string[] | null
  #reader: TableReader | null = null
  /** The rows of the version of `#reader`. Null: they cannot be read directly, or not yet. */
  #rows: KeyRows | null = null

  constructor(engine: Engine, query: DirectQuery, table: string | undefined, condition: KeyCondition) {
    this.#version = new VersionInMemory(engine, query, table)
    this.#condition = condition
    this.#names = query.columns?.column_names ?? null
  }

  rows(...[values, query, options, most = Number.POSITIVE_INFINITY]: Parameters<DirectRead['rows']>) {
    if (options.signal !== undefined) return null
    const { offset = 0, k = most } = query
    return this.#read(values, (rows, keys) => rows.rows(keys, offset, Math.min(k, most), options))
  }

  count(values: unknown, { signal }: Parameters<DirectRead['count']>[1]): number | null {
    return signal === undefined ? this.#read(values, (rows, keys) => rows.count(keys)) : null
  }

  #read<T>(
    values: unknown,
    read: (rows: KeyRows, keys: ReturnType<typeof keysFor> & {}) => T | null,
  ): T | null {
    try {
      const rows = this.#newest()
      const keys = rows && keysFor(this.#condition, values, rows.type)
      return keys && read(rows!, keys)
    } catch {
      // The request reports the error.
      return null
    }
  }

  /** Return the rows of the version to read. Null: the version or its rows are not in memory. */
  #newest(): KeyRows | null {
    const open = this.#version.find()
    if (open === null) return null
    if (open.reader !== this.#reader) {
      this.#reader = open.reader
      this.#rows = null
    }
    this.#rows ??= KeyRows.of(open.reader, this.#condition.column, this.#names)
    return this.#rows
  }
}

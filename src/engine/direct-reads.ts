/**
 * Reads rows by key without a request, for clients in this process. The filter of a query is parsed once. Its column, the
 * index and the parts of the rows are found once per version. Each read checks that the version is the newest.
 */
import { checkRows, findTable, versionOf } from '../catalog/lookup.js'
import type { CatalogState } from '../catalog/state.js'
import type { DirectQuery, DirectRead, DirectReads } from '../protocol/direct-reads.js'
import { type KeyCondition, keysFor } from '../query/key-condition.js'
import { KeyRows } from '../query/key-rows.js'
import type { Engine } from '../root/engine.js'
import { knownReader } from '../root/open-table.js'
import type { TableReader } from '../table/table-reader.js'
import { keyConditionIn } from './key-conditions.js'

/** Maximum number of query forms that are kept. */
const formsMax = 256
/** The fields of queries that direct reads take into account. */
const known: ReadonlySet<string> = new Set([
  'id',
  'version',
  'filter',
  'parameters',
  'columns',
  'k',
  'offset',
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
    const { filter, columns } = query
    for (const name in query) if (!known.has(name)) return null
    if (filter === undefined || (columns !== undefined && !('column_names' in columns))) return null
    const key = `${table ?? JSON.stringify(query.id)}/${query.version}/${JSON.stringify(columns)}/${filter}`
    const kept = this.#reads.get(key)
    if (kept !== undefined) return kept
    const condition = keyConditionIn(filter)
    if (condition === null) return null
    const read = new KeyRead(this.#engine, query, table, condition)
    if (condition.parameter === null) return read
    if (this.#reads.size === formsMax) this.#reads.delete(this.#reads.keys().next().value!)
    this.#reads.set(key, read)
    return read
  }
}

/** Reads rows by one condition on a key. */
class KeyRead implements DirectRead {
  readonly #engine: Engine
  readonly #id: readonly string[]
  readonly #version: number | undefined
  readonly #table: string | undefined
  readonly #condition: KeyCondition
  readonly #names: readonly string[] | null
  /** The state in which the version was found. */
  #state: CatalogState | null = null
  #reader: TableReader | null = null
  /** The rows of the version of `#reader`. Null: they cannot be read directly, or not yet. */
  #rows: KeyRows | null = null

  constructor(engine: Engine, query: DirectQuery, table: string | undefined, condition: KeyCondition) {
    this.#engine = engine
    this.#id = query.id
    this.#version = query.version
    this.#table = table
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
    const state = this.#engine.root.current?.() ?? null
    if (state === null) return null
    if (state !== this.#state) {
      const head = findTable(state, this.#id, this.#table)
      checkRows(head)
      const reader = knownReader(this.#engine, head, versionOf(head, this.#version))
      if (reader === null) return null
      if (reader !== this.#reader) this.#rows = null
      this.#reader = reader
      this.#state = state
    }
    this.#rows ??= KeyRows.of(this.#reader!, this.#condition.column, this.#names)
    return this.#rows
  }
}

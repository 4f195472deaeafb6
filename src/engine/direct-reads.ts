/**
 * Reads rows by key without a request, for clients in this process. The filter of a query is parsed once. Its column, the
 * index and the parts of the rows are found once per version. Each read checks that the version is the newest.
 */
import { checkRows, findTable, versionOf } from '../catalog/lookup.js'
import type { CatalogState } from '../catalog/state.js'
import type { DirectForm, DirectRead, DirectReads, DirectWindow } from '../protocol/direct-reads.js'
import { binding } from '../query/binding.js'
import { type KeyCondition, keyConditionOf, keysFor } from '../query/key-condition.js'
import { KeyRows } from '../query/key-rows.js'
import type { Engine } from '../root/engine.js'
import { knownReader } from '../root/open-table.js'
import type { TableReader } from '../table/table-reader.js'

/** Maximum number of query forms that are kept. */
const formsMax = 256
/** Filters without parameters are mostly used once. Only those that begin like a condition on a key are parsed. */
const keyFilter = /^\s*[\w`"]+\s*(=|in\b)/i

/** The direct reads of a root. */
export class EngineReads implements DirectReads {
  readonly #engine: Engine
  /** The reads of filters with parameters, by form and table. Null: a filter that cannot be read directly. */
  readonly #reads = new Map<string, DirectRead | null>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  prepare(form: DirectForm, table?: string): DirectRead | null {
    const { filter, columns } = form
    if (filter === undefined || (columns !== undefined && !('column_names' in columns))) return null
    if (!/[?$:]/.test(filter)) return keyFilter.test(filter) ? this.#read(form, table) : null
    const key = `${table ?? JSON.stringify(form.id)}/${form.version}/${JSON.stringify(columns)}/${filter}`
    const known = this.#reads.get(key)
    if (known !== undefined) return known
    // Without the binder, the first query loads it.
    if (binding() instanceof Promise) return null
    const read = this.#read(form, table)
    if (this.#reads.size === formsMax) this.#reads.delete(this.#reads.keys().next().value!)
    this.#reads.set(key, read)
    return read
  }

  #read(form: DirectForm, table: string | undefined): DirectRead | null {
    const bind = binding()
    if (bind instanceof Promise) return null
    try {
      const condition = keyConditionOf(bind.parseFilter(form.filter!))
      return condition === null ? null : new KeyRead(this.#engine, form, table, condition)
    } catch {
      // The request reports the error in the filter.
      return null
    }
  }
}

/** Reads rows by one condition on a key. */
class KeyRead implements DirectRead {
  readonly #engine: Engine
  readonly #form: DirectForm
  readonly #table: string | undefined
  readonly #condition: KeyCondition
  readonly #names: readonly string[] | null
  /** The state in which the version was found. */
  #state: CatalogState | null = null
  #reader: TableReader | null = null
  /** The rows of the version of `#reader`. Null: they cannot be read directly, or not yet. */
  #rows: KeyRows | null = null

  constructor(engine: Engine, form: DirectForm, table: string | undefined, condition: KeyCondition) {
    this.#engine = engine
    this.#form = form
    this.#table = table
    this.#condition = condition
    this.#names = form.columns?.column_names ?? null
  }

  rows(values: unknown, { offset, limit, int64, vectors }: DirectWindow): Record<string, unknown>[] | null {
    return this.#read(values, (rows, keys) => rows.rows(keys, offset, limit, { int64, vectors }))
  }

  count(values: unknown): number | null {
    return this.#read(values, (rows, keys) => rows.count(keys))
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
      const head = findTable(state, this.#form.id, this.#table)
      checkRows(head)
      const reader = knownReader(this.#engine, head, versionOf(head, this.#form.version))
      if (reader === null) return null
      if (reader !== this.#reader) this.#rows = null
      this.#reader = reader
      this.#state = state
    }
    this.#rows ??= KeyRows.of(this.#reader!, this.#condition.column, this.#names)
    return this.#rows
  }
}

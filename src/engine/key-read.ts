/** Reads rows by one condition on a key, for `direct-reads.ts`. */
import type { DirectQuery, DirectRead } from '../protocol/direct-reads.js'
import { type KeyCondition, keysFor } from '../query/key-condition.js'
import { KeyRows } from '../query/key-rows.js'
import type { Engine } from '../root/engine.js'
import type { TableReader } from '../table/table-reader.js'
import { keyConditionIn } from './key-conditions.js'
import { VersionInMemory } from './version-in-memory.js'

/** Return the direct read of a query with a filter. Null if the filter is not a condition on a key, or not parsed yet. */
export function keyRead(engine: Engine, query: DirectQuery, table: string | undefined): KeyRead | null {
  const condition = keyConditionIn(query.filter!)
  return condition === null ? null : new KeyRead(engine, query, table, condition)
}

class KeyRead implements DirectRead {
  /** Whether the filter has parameters. Filters without parameters are mostly used once. */
  readonly hasParameters: boolean
  readonly #engine: Engine
  readonly #version: VersionInMemory
  readonly #condition: KeyCondition
  readonly #names: readonly string[] | null
  #reader: TableReader | null = null
  /** The rows of the version of `#reader`. Null: they cannot be read directly, or not yet. */
  #rows: KeyRows | null = null

  constructor(engine: Engine, query: DirectQuery, table: string | undefined, condition: KeyCondition) {
    this.hasParameters = condition.parameter !== null
    this.#engine = engine
    this.#version = new VersionInMemory(engine, query, table)
    this.#condition = condition
    this.#names = query.columns?.column_names ?? null
  }

  rows(...[values, query, options, most = Number.POSITIVE_INFINITY]: Parameters<DirectRead['rows']>) {
    if (options.signal !== undefined) return null
    const { offset = 0, k = most } = query
    const found = this.#read(values, (rows, keys) => rows.rows(keys, offset, Math.min(k, most), options))
    return found instanceof Promise ? this.#engine.running.calls.run(() => found) : found
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

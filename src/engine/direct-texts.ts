/**
 * Answers full-text searches without a request, for clients in this process. Indexes and columns are found once per
 * version. Each search checks that the version is the newest.
 */
import { latestOf } from '../catalog/state.js'
import { lazyImport } from '../lazy-import.js'
import { type DirectQuery, type DirectRead, searchLimit } from '../protocol/direct-reads.js'
import type { TextIndex } from '../query/plan-text-search.js'
import type { TextAnswers } from '../query/text-answers.js'
import type { Engine } from '../root/engine.js'
import { textIndexesInBuild } from './query.js'
import { type KnownTable, VersionInMemory } from './version-in-memory.js'

const importAnswers = lazyImport(() => import('../query/text-answers.js'))

/** Maximum number of rows, with those that the query skips. Longer answers are read in batches, with a request. */
const rowsMax = 1024

/** Searches for texts that differ only in the text and in their window. */
export class TextRead implements DirectRead {
  readonly #engine: Engine
  readonly #version: VersionInMemory
  readonly #query: DirectQuery
  readonly #table: string | undefined
  readonly #names: readonly string[] | null
  #open: KnownTable | null = null
  #answers: TextAnswers | null = null
  #texts: readonly TextIndex[] = []

  constructor(engine: Engine, query: DirectQuery, table: string | undefined) {
    this.#engine = engine
    this.#version = new VersionInMemory(engine, query, table)
    this.#query = query
    this.#table = table
    this.#names = query.columns?.column_names ?? null
  }

  /** Return whether a query of the table differs only as the description of this class says. */
  takes({ version, columns }: DirectQuery, table: string): boolean {
    if (table !== this.#table || version !== this.#query.version) return false
    const names = columns?.column_names ?? null
    const own = this.#names
    if (names === null || own === null) return names === own
    return names.length === own.length && names.every((name, i) => name === own[i])
  }

  rows(...[values, query, options, most = Number.POSITIVE_INFINITY]: Parameters<DirectRead['rows']>) {
    const { offset = 0, k = searchLimit } = query
    const limit = Math.min(k, most)
    if (options.signal !== undefined || offset + limit > rowsMax) return null
    if (values !== undefined && !(Array.isArray(values) && values.length === 0)) return null
    try {
      const answers = this.#newest()
      const rows = answers?.rows(query, this.#texts, offset, limit, options) ?? null
      return rows instanceof Promise ? this.#engine.running.calls.run(() => rows) : rows
    } catch {
      // The request reports the error.
      return null
    }
  }

  count(): null {
    return null
  }

  /** Return the answers of the version to read. Null: the version or the code is not in memory, or a column is unknown. */
  #newest(): TextAnswers | null {
    const code = importAnswers()
    if (code instanceof Promise) {
      // A request waits for the code that it needs, and reports an error.
      code.catch(() => {})
      return null
    }
    const open = this.#version.find()
    if (open === null || open === this.#open) return open && this.#answers
    const { reader } = open
    if (reader !== this.#open?.reader) this.#answers = code.TextAnswers.of(reader, this.#names)
    const awaited = open.version === latestOf(open.head) ? textIndexesInBuild(open.state, open) : []
    this.#texts = awaited.length === 0 ? reader.textIndexes : [...reader.textIndexes, ...awaited]
    this.#open = open
    return this.#answers
  }
}

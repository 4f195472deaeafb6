/** Finds the version that reads of a table use, without waiting. */
import { findTable, versionOf } from '../catalog/lookup.js'
import type { CatalogState } from '../catalog/state.js'
import type { DirectQuery } from '../protocol/direct-reads.js'
import type { Engine } from '../root/engine.js'
import { knownVersion, type OpenTable } from '../root/open-table.js'

/** A table at a version, and the state in which it was found. */
export interface KnownTable extends OpenTable {
  readonly state: CatalogState
}

/** The version of a table that a query reads: its newest version, or the version in the query. */
export class VersionInMemory {
  readonly #engine: Engine
  readonly #id: readonly string[]
  readonly #version: number | undefined
  readonly #table: string | undefined
  #known: KnownTable | null = null

  /** `table`: UUID of the table; undefined: the table with the name in the query. */
  constructor(engine: Engine, { id, version }: DirectQuery, table: string | undefined) {
    this.#engine = engine
    this.#id = id
    this.#version = version
    this.#table = table
  }

  /**
   * Return the table at the version. Returns the same object until the state changes. Null: the newest state or the
   * version is not in memory, or Sheaf did not write the rows. Throws what `openTable` throws.
   */
  find(): KnownTable | null {
    const state = this.#engine.root.current?.() ?? null
    if (state === null) return null
    if (state !== this.#known?.state) {
      const head = findTable(state, this.#id, this.#table)
      // Versions of other tables are read from files.
      if (head.kind !== 'sheaf') return null
      const open = knownVersion(this.#engine, head, versionOf(head, this.#version))
      if (open === null) return null
      this.#known = { state, ...open }
    }
    return this.#known
  }
}

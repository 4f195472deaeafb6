/**
 * A catalog that is obviously right: maps and arrays, copied as a whole before anything is tried. What a call does to it, or
 * the code it is refused with, is what the real one must do.
 */

export type Path = readonly string[]
export type Props = Readonly<Record<string, string>>

/** A version of a table: rows by their `id`, or a path to somewhere. */
export interface ModelVersion {
  readonly rows: readonly number[]
  readonly metadata: Props
  readonly path?: string
}

export interface ModelTable {
  /** Another for every table there ever was. */
  readonly number: number
  kind: 'declared' | 'sheaf' | 'pointer'
  props: Props
  mark: number
  readonly versions: Map<number, ModelVersion>
  readonly tags: Map<string, number>
}

export class Refused extends Error {
  readonly code: number

  constructor(code: number) {
    super(`refused with code ${code}`)
    this.code = code
  }
}

const code = {
  unsupported: 0,
  noNamespace: 1,
  namespaceExists: 2,
  namespaceNotEmpty: 3,
  noTable: 4,
  tableExists: 5,
  noTag: 8,
  tagExists: 9,
  noVersion: 11,
  conflict: 14,
  tagged: 19,
} as const

export const keyOf = (path: Path): string => path.join('/')
const parentOf = (path: Path): Path => path.slice(0, -1)

export class CatalogModel {
  /** By path; the root namespace is the empty one. */
  namespaces = new Map<string, Props>([['', {}]])
  tables = new Map<string, ModelTable>()
  /** Deregistered tables, by number. */
  detached = new Map<number, ModelTable>()
  nextTable = 0

  /** Takes all of `change`, or nothing of it. */
  all<T>(change: () => T): T {
    const { namespaces, tables, detached, nextTable } = structuredClone({ ...this })
    try {
      return change()
    } catch (error) {
      Object.assign(this, { namespaces, tables, detached, nextTable })
      throw error
    }
  }

  // ---- namespaces

  createNamespace(path: Path, mode: 'Create' | 'ExistOk' | 'Overwrite', props: Props): boolean {
    const exists = this.namespaces.has(keyOf(path))
    if (exists && mode === 'Create') throw new Refused(code.namespaceExists)
    if (exists && mode === 'ExistOk') return false
    if (!this.namespaces.has(keyOf(parentOf(path)))) throw new Refused(code.noNamespace)
    this.#removeBelow(path)
    this.namespaces.set(keyOf(path), props)
    return true
  }

  dropNamespace(path: Path, mode: 'Fail' | 'Skip', behavior: 'Restrict' | 'Cascade'): boolean {
    if (!this.namespaces.has(keyOf(path))) {
      if (mode === 'Skip') return false
      throw new Refused(code.noNamespace)
    }
    const below = [...this.namespaces.keys(), ...this.tables.keys()].some(key => this.#isBelow(key, path))
    if (below && behavior === 'Restrict') throw new Refused(code.namespaceNotEmpty)
    this.#removeBelow(path)
    this.namespaces.delete(keyOf(path))
    return true
  }

  #isBelow(key: string, path: Path): boolean {
    return key.startsWith(`${keyOf(path)}/`)
  }

  #removeBelow(path: Path): void {
    for (const map of [this.namespaces, this.tables]) {
      for (const key of [...map.keys()]) if (this.#isBelow(key, path)) map.delete(key)
    }
  }

  // ---- names of tables

  find(path: Path): ModelTable {
    const table = this.tables.get(keyOf(path))
    if (table === undefined) throw new Refused(code.noTable)
    return table
  }

  declare(path: Path, props: Props): ModelTable {
    this.#checkFree(path)
    const table: ModelTable = {
      number: this.nextTable++,
      kind: 'declared',
      props,
      mark: 0,
      versions: new Map(),
      tags: new Map(),
    }
    this.tables.set(keyOf(path), table)
    return table
  }

  drop(path: Path): void {
    this.find(path)
    this.tables.delete(keyOf(path))
  }

  deregister(path: Path): ModelTable {
    const table = this.find(path)
    this.tables.delete(keyOf(path))
    this.detached.set(table.number, table)
    return table
  }

  register(number: number, path: Path, mode: 'Create' | 'Overwrite', props: Props): void {
    const table = this.detached.get(number)!
    if (mode === 'Overwrite') this.tables.delete(keyOf(path))
    this.#checkFree(path)
    this.detached.delete(number)
    table.props = { ...table.props, ...props }
    this.tables.set(keyOf(path), table)
  }

  rename(from: Path, to: Path): boolean {
    const table = this.find(from)
    if (!this.namespaces.has(keyOf(parentOf(to)))) throw new Refused(code.noNamespace)
    if (keyOf(from) === keyOf(to)) return false
    this.#checkFree(to)
    this.tables.delete(keyOf(from))
    this.tables.set(keyOf(to), table)
    return true
  }

  #checkFree(path: Path): void {
    if (!this.namespaces.has(keyOf(parentOf(path)))) throw new Refused(code.noNamespace)
    if (this.tables.has(keyOf(path))) throw new Refused(code.tableExists)
  }

  // ---- rows

  latest(table: ModelTable): number | undefined {
    return table.versions.size === 0 ? undefined : Math.max(...table.versions.keys())
  }

  /** Whether there is a new version. */
  createTable(
    path: Path,
    mode: 'Create' | 'ExistOk' | 'Overwrite',
    rows: readonly number[],
    props: Props,
  ): boolean {
    const known = this.tables.get(keyOf(path))
    if (known !== undefined && known.versions.size > 0) {
      if (mode === 'Create') throw new Refused(code.tableExists)
      if (mode === 'ExistOk') return false
    }
    const table = known ?? this.declare(path, {})
    this.#checkRows(table)
    table.props = { ...table.props, ...props }
    this.#add(table, { rows, metadata: {} })
    return true
  }

  insert(path: Path, mode: 'Append' | 'Overwrite', rows: readonly number[]): number {
    const table = this.#withRows(path)
    if (table.kind === 'declared') return this.#add(table, { rows, metadata: {} })
    const { rows: before, metadata } = this.#newest(table)
    return this.#add(table, { rows: mode === 'Append' ? [...before, ...rows] : rows, metadata })
  }

  /** How many rows went. */
  delete(path: Path, isDead: (id: number) => boolean): number {
    const table = this.#withRows(path)
    const { rows, metadata } = this.#newest(table)
    const rest = rows.filter(id => !isDead(id))
    if (rest.length < rows.length) this.#add(table, { rows: rest, metadata })
    return rows.length - rest.length
  }

  restore(path: Path, version: number): void {
    const table = this.#withRows(path)
    const old = table.versions.get(version)
    if (old === undefined) throw new Refused(code.noVersion)
    this.#add(table, old)
  }

  setMetadata(path: Path, metadata: Props): void {
    const table = this.#withRows(path)
    this.#add(table, { ...this.#newest(table), metadata })
  }

  #withRows(path: Path): ModelTable {
    const table = this.find(path)
    this.#checkRows(table)
    return table
  }

  #checkRows(table: ModelTable): void {
    if (table.kind === 'pointer') throw new Refused(code.unsupported)
  }

  #newest(table: ModelTable): ModelVersion {
    const latest = this.latest(table)
    if (latest === undefined) throw new Refused(code.noVersion)
    return table.versions.get(latest)!
  }

  #add(table: ModelTable, version: ModelVersion): number {
    table.kind = 'sheaf'
    table.versions.set(++table.mark, version)
    return table.mark
  }

  // ---- versions and tags

  createVersion(path: Path, version: number, to: string): void {
    const table = this.find(path)
    if (table.kind === 'sheaf') throw new Refused(code.unsupported)
    const isFirst = table.kind === 'declared' && version === 0
    if (version <= table.mark && !isFirst) throw new Refused(code.conflict)
    table.kind = 'pointer'
    table.mark = version
    table.versions.set(version, { rows: [], metadata: {}, path: to })
  }

  /** How many versions went. `end` is exclusive; -1: through the latest. */
  deleteVersions(path: Path, start: number, end: number): number {
    const table = this.find(path)
    const latest = this.latest(table)
    const asked = [...table.versions.keys()].filter(version => {
      const stays = table.kind !== 'pointer' && version === latest
      return version >= start && (end === -1 || version < end) && !stays
    })
    if ([...table.tags.values()].some(version => asked.includes(version))) throw new Refused(code.tagged)
    for (const version of asked) table.versions.delete(version)
    return asked.length
  }

  setTag(path: Path, tag: string, version: number, how: 'create' | 'update'): void {
    const table = this.find(path)
    if (how === 'create' && table.tags.has(tag)) throw new Refused(code.tagExists)
    if (how === 'update' && !table.tags.has(tag)) throw new Refused(code.noTag)
    if (!table.versions.has(version)) throw new Refused(code.noVersion)
    table.tags.set(tag, version)
  }

  deleteTag(path: Path, tag: string): void {
    if (!this.find(path).tags.delete(tag)) throw new Refused(code.noTag)
  }
}

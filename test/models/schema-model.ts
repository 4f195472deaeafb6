/** A table of plain objects whose columns change: what every version of a real one must show. */

export type Type = 'int16' | 'int32' | 'int64' | 'string'
type Value = number | string | null
/** Of a struct: by the id of the field. */
type Cell = Value | ReadonlyMap<number, Value>

export interface Column {
  readonly id: number
  readonly name: string
  readonly nullable: boolean
  /** Null for a struct. */
  readonly type: Type | null
  readonly fields: readonly { readonly id: number; readonly name: string; readonly type: Type }[]
  /** Kept up to date: `key * factor + coalesce(input, 0)`. */
  readonly computed: { readonly factor: number; readonly input: number | null } | null
}

export type ModelRow = ReadonlyMap<number, Cell>

export interface Version {
  readonly columns: readonly Column[]
  readonly rows: readonly ModelRow[]
}

const ranges: Readonly<Record<Type, number>> = {
  int16: 2 ** 15,
  int32: 2 ** 31,
  int64: 2 ** 53,
  string: Infinity,
}

/** The value under another type; undefined when it does not fit. */
export function cast(value: Value, type: Type): Value | undefined {
  if (value === null) return null
  if (type === 'string') return String(value)
  const number = typeof value === 'number' ? value : /^-?\d+$/.test(value) ? Number(value) : undefined
  return number !== undefined && number >= -ranges[type] && number < ranges[type] ? number : undefined
}

export class SchemaModel {
  readonly versions: Version[] = []
  #nextId = 100

  constructor(first: Version) {
    this.versions.push(first)
  }

  get now(): Version {
    return this.versions.at(-1)!
  }

  newId(): number {
    return this.#nextId++
  }

  /** Makes the next version, with what follows from others filled in. */
  commit(columns: readonly Column[], rows: readonly ModelRow[]): void {
    const computed = columns.filter(column => column.computed !== null)
    const filled = rows.map(row => {
      const cells = new Map([...row].filter(([id]) => columns.some(column => column.id === id)))
      for (const { id, computed: definition } of computed) {
        const { factor, input } = definition!
        const added = input === null ? 0 : ((cells.get(input) as number | null) ?? 0)
        cells.set(id, (cells.get(0) as number) * factor + added)
      }
      return cells
    })
    this.versions.push({ columns, rows: filled })
  }

  /** Columns that others are made of. */
  isInput(id: number): boolean {
    return this.now.columns.some(({ computed }) => computed?.input === id || (computed !== null && id === 0))
  }
}

/** The rows as `Search.toArray` gives them, in the order of their keys. */
export function shown({ columns, rows }: Version): Record<string, unknown>[] {
  const cell = (column: Column, value: Cell | undefined): unknown => {
    if (!(value instanceof Map)) return value ?? null
    return Object.fromEntries(column.fields.map(({ id, name }) => [name, value.get(id) ?? null]))
  }
  return rows
    .map(row => Object.fromEntries(columns.map(column => [column.name, cell(column, row.get(column.id))])))
    .sort((a, b) => Number(a.key) - Number(b.key))
}

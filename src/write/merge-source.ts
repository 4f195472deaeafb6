/** Keeps the source rows of a merge in memory, and finds them by their keys. */
import type { Batch, Column } from '../arrow/column.js'
import { isValid } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType, Field, Schema } from '../arrow/types.js'
import { batchToRows } from '../arrow/values.js'
import { invalidInput, quote, schemaMismatch, unsupported } from '../errors.js'
import type { Bitset } from '../primitives/bitset.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { Grouper } from '../query/group.js'
import { namedColumn } from '../query/named-column.js'
import { isOrdered, valueType } from '../sql/values/types.js'
import { doublesOf } from '../sql/values/vector.js'

/** The source of a merge: the rows of the caller, which are merged into the table. */
export class MergeSource {
  /** The columns of the rows, with the table's types. */
  readonly schema: Schema
  /** Names of the key columns. */
  readonly keys: readonly string[]
  /**
   * For each key column: its distinct values as a parameter of an IN condition. Null if they are too many, or have
   * another type.
   */
  readonly members: readonly (Members | null)[]
  readonly #batches: readonly Batch[]
  /** For each batch: the number of its first row in the source. */
  readonly #starts: readonly number[]
  readonly #count: number
  /** Maps keys to groups. All rows with the same key are one group. */
  readonly #groups: Grouper
  /** By group: its first row. */
  readonly #rowOf: Uint32Array
  /** By first row of a group: the other rows of the group. Groups of one row are not in the map. */
  readonly #duplicates: ReadonlyMap<number, readonly number[]>

  private constructor(schema: Schema, keys: readonly string[], batches: readonly Batch[], found: FoundKeys) {
    this.schema = schema
    this.keys = keys
    this.#batches = batches
    this.#groups = found.groups
    this.#rowOf = Uint32Array.from(found.rows)
    this.#duplicates = found.duplicates
    this.members = found.members
    let count = 0
    this.#starts = batches.map(batch => {
      count += batch.length
      return count - batch.length
    })
    this.#count = count
  }

  /**
   * Read the rows of a merge into memory. The batches have columns of the table, with the types of the table. A row
   * with NULL in a key column does not match any row.
   *
   * `table`: schema of the table. `keys`: names of the key columns. `seed`: seed of the hash function. Throws
   * `ColumnNotFound` for an unknown key column, and `InvalidInput` for a key column that the rows do not have. Throws
   * `SchemaValidation` for a key column whose values cannot be compared.
   */
  static async read(
    {
      schema,
      batches: incoming,
    }: {
      readonly schema: Schema
      readonly batches: AsyncIterable<Batch> | Iterable<Batch>
    },
    table: Schema,
    keys: readonly string[],
    seed: number,
    pacer: Pacer,
  ): Promise<MergeSource> {
    const brought = new Set(schema.fields.map(({ name }) => name))
    const columns = keys.map(key => mergeKey(key, table))
    const types = columns.map(column => keyType(column, brought))
    const names = columns.map(({ name }) => name)
    const found = new FoundKeys(names, types, seed)
    const batches: Batch[] = []
    for await (const batch of incoming) {
      found.add(batch)
      batches.push(batch)
      await pacer.turn()
    }
    return new MergeSource(schema, names, batches, found)
  }

  get count(): number {
    return this.#count
  }

  /**
   * Find rows by key. `columns`: the key columns of other rows. Returns for each of them the first source row with its
   * key, or -1.
   */
  find(columns: readonly Column[]): Int32Array {
    const groups = this.#groups.find(columns)
    for (let row = 0; row < groups.length; row++) {
      const group = groups[row]!
      if (group >= 0) groups[row] = columns.every(column => isValid(column, row)) ? this.#rowOf[group]! : -1
    }
    return groups
  }

  /** Return the other source rows with the key of `row`, a source row that `find` returned. */
  duplicatesOf(row: number): readonly number[] {
    return this.#duplicates.get(row) ?? []
  }

  /** Throw `InvalidInput` if a row of the table matches several source rows. `rows`: the result of `find`. */
  checkSingle(rows: Int32Array): void {
    if (this.#duplicates.size === 0) return
    const row = rows.find(each => this.#duplicates.has(each))
    if (row === undefined) return
    const [values] = batchToRows(this.take(Uint32Array.of(row)))
    const key = this.keys.map(name => `${name} = ${quote(values![name])}`).join(', ')
    throw invalidInput(
      `rows ${row} and ${this.#duplicates.get(row)![0]} have the same key (${key}), and a row of the table also has this key`,
      { hint: 'only one row can replace a row of the table; remove the other rows with the same key' },
    )
  }

  /** Return the source rows with the numbers `rows`, in this order. `rows` must not be empty. */
  take(rows: Uint32Array): Batch {
    const order = Uint32Array.from({ length: rows.length }, (_, i) => i).sort((a, b) => rows[a]! - rows[b]!)
    const position = new Uint32Array(rows.length)
    const taken: Batch[] = []
    for (let from = 0; from < order.length; ) {
      const number = this.#batchOf(rows[order[from]!]!)
      const start = this.#starts[number]!
      const batch = this.#batches[number]!
      let to = from
      while (to < order.length && rows[order[to]!]! < start + batch.length) position[order[to]!] = to++
      const own = order.subarray(from, to).map(i => rows[i]! - start)
      const columns = batch.columns.map(column => takeColumn(column, own))
      taken.push({ schema: this.schema, length: own.length, columns })
      from = to
    }
    const columns = this.schema.fields.map((_, c) => {
      return takeColumn(concatColumns(taken.map(batch => batch.columns[c]!)), position)
    })
    return { schema: this.schema, length: rows.length, columns }
  }

  /** Yield the source rows whose numbers are not in `left`. */
  async *without(left: Bitset): AsyncGenerator<Batch> {
    for (const [i, batch] of this.#batches.entries()) {
      const start = this.#starts[i]!
      const rows: number[] = []
      for (let row = 0; row < batch.length; row++) if (!left.has(start + row)) rows.push(row)
      if (rows.length === 0) continue
      const own = Uint32Array.from(rows)
      const columns = batch.columns.map(column => takeColumn(column, own))
      yield { schema: this.schema, length: own.length, columns }
    }
  }

  #batchOf(row: number): number {
    return partitionPoint(this.#starts.length, i => this.#starts[i]! <= row) - 1
  }
}

/**
 * Maximum number of keys for which an IN condition is built, because building takes time for each key. The limit for
 * floats is lower, because a float takes twice as long.
 */
const membersMax = 32 * 1024
const floatsMax = 16 * 1024

/** A list of values that can be a parameter of an expression. */
type Members = readonly string[] | Int32Array | Uint32Array | BigInt64Array | BigUint64Array | Float64Array

/**
 * Return the column that a merge key names. `key`: the name of a column; a name with dots is in backticks. Throws
 * `ColumnNotFound` for an unknown column, and `Unsupported` for a field of a struct.
 */
export function mergeKey(key: string, schema: Schema): Field {
  const { path } = namedColumn(key, schema)
  if (path.length > 1) {
    throw unsupported(`a merge key must be a column, but ${quote(key)} is a field of a struct`, {
      hint: 'add a column with the value of the field by addColumns, and merge by this column',
    })
  }
  return schema.fields.find(({ name }) => name === path[0])!
}

function keyType(field: Field, brought: ReadonlySet<string>): DataType {
  const key = field.name
  if (!brought.has(key)) throw invalidInput(`the rows do not have the key column ${quote(key)} of the merge`)
  if (isOrdered(field.type)) return field.type
  throw schemaMismatch(`column ${quote(key)} is ${field.type.kind}, whose values cannot be compared`, {
    hint: 'merge by columns of numbers, texts, bytes or times',
  })
}

/** The keys of the source rows, grouped by equal keys. */
class FoundKeys {
  readonly groups: Grouper
  /** By group: its first row. */
  readonly rows: number[] = []
  /** By first row of a group: the other rows of the group. */
  readonly duplicates = new Map<number, number[]>()
  readonly #names: readonly string[]
  readonly #types: readonly DataType[]
  #count = 0

  constructor(names: readonly string[], types: readonly DataType[], seed: number) {
    this.#names = names
    this.#types = types
    this.groups = new Grouper(types, seed)
  }

  add(batch: Batch): void {
    const columns = this.#names.map(name => {
      return batch.columns[batch.schema.fields.findIndex(field => field.name === name)]!
    })
    const whole: number[] = []
    for (let row = 0; row < batch.length; row++) {
      if (columns.every(column => isValid(column, row))) whole.push(row)
    }
    const taken = columns.map(column => takeColumn(column, Uint32Array.from(whole)))
    const groups = whole.length === 0 ? new Uint32Array(0) : this.groups.add(taken)
    for (let i = 0; i < groups.length; i++) {
      const row = this.#count + whole[i]!
      const first = this.rows[groups[i]!]
      if (first === undefined) this.rows.push(row)
      else {
        const others = this.duplicates.get(first)
        if (others === undefined) this.duplicates.set(first, [row])
        else others.push(row)
      }
    }
    this.#count += batch.length
  }

  get members(): readonly (Members | null)[] {
    const { count } = this.groups
    if (count === 0 || count > membersMax) return this.#types.map(() => null)
    return this.groups.keys().map((column, k) => membersOf(valueType(this.#types[k]!), column))
  }
}

function membersOf(type: DataType, column: Column): Members | null {
  const { values, length, offsets } = column
  if (type.kind === 'utf8') {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    const bytes = values as Uint8Array
    return Array.from({ length }, (_, row) =>
      decoder.decode(bytes.subarray(offsets![row]!, offsets![row + 1]!)),
    )
  }
  if (type.kind === 'float') return length > floatsMax ? null : doublesOf(column).subarray(0, length)
  if (type.kind !== 'int') return null
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) return values.subarray(0, length)
  return type.signed
    ? Int32Array.from((values as Int32Array).subarray(0, length))
    : Uint32Array.from((values as Uint32Array).subarray(0, length))
}

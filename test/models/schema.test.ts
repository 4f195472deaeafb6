/** Histories of changes to a table's columns and rows, made up by a machine, beside a table of plain objects. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Row, type Table } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { failure } from '../support/failure.js'
import {
  type Column,
  cast,
  type ModelRow,
  SchemaModel,
  shown,
  type Type,
  type Version,
} from './schema-model.js'

const types: readonly Type[] = ['int16', 'int32', 'int64', 'string']

const kinds = [
  'append',
  'append',
  'append many',
  'update',
  'update',
  'delete',
  'upsert',
  'add',
  'add',
  'add nulls',
  'add computed',
  'rename',
  'retype',
  'retype',
  'nullable',
  'drop',
  'field rename',
  'field retype',
  'field drop',
  'restore',
] as const

const step = fc.tuple(
  fc.constantFrom(...kinds),
  fc.nat(40),
  fc.nat(1000),
  fc.integer({ min: -40_000, max: 40_000 }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const plain = (id: number, name: string, type: Type): Column => {
  return { id, name, type, nullable: true, fields: [], computed: null }
}

/** Rows that go to files. */
const many = 3000

class History {
  readonly model: SchemaModel
  readonly table: Table
  #nextKey = 10
  #nextName = 0

  constructor(table: Table, model: SchemaModel) {
    this.table = table
    this.model = model
  }

  async take([kind, a, b, c]: Step): Promise<void> {
    const { model, table } = this
    const { columns, rows } = model.now
    const settable = columns.filter(
      ({ id, computed, type }) => id !== 0 && computed === null && type !== null,
    )
    const column = settable[a % Math.max(1, settable.length)]
    const where = (row: ModelRow) => Math.abs(row.get(0) as number) % 3 === b % 3
    const condition = `key % 3 = ${b % 3}`
    switch (kind) {
      case 'append':
      case 'append many': {
        const count = kind === 'append' ? 1 + (b % 3) : many
        return this.#append(Array.from({ length: count }, (_, i) => this.#newRow(c + i)))
      }
      case 'update': {
        if (column === undefined) return
        const value = b % 5 === 0 ? null : cast(c, column.type!)
        if (value === undefined || (value === null && !column.nullable)) return
        if (!rows.some(where)) return
        await table.update({ [column.name]: value }, condition)
        const set = rows.map(row => (where(row) ? new Map([...row, [column.id, value]]) : row))
        return model.commit(columns, set)
      }
      case 'upsert': {
        if (
          column === undefined ||
          rows.length === 0 ||
          columns.some(each => !each.nullable && each.id !== 0)
        )
          return
        const value = cast(c, column.type!)
        if (value === undefined) return
        const key = rows[b % rows.length]!.get(0) as number
        const fresh = this.#nextKey++
        const brought = [key, fresh].map(each => ({ key: each, [column.name]: value }))
        await table.mergeInsert('key').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(brought)
        const merged = rows.map(row => (row.get(0) === key ? new Map([...row, [column.id, value]]) : row))
        const added = new Map<number, number | string | null>([
          [0, fresh],
          [column.id, value],
        ])
        return model.commit(columns, [...merged, added])
      }
      case 'delete': {
        if (!rows.some(where)) return
        await table.delete(condition)
        return model.commit(
          columns,
          rows.filter(row => !where(row)),
        )
      }
      case 'add': {
        const name = this.#newName()
        const added = plain(model.newId(), name, column?.type ?? 'int64')
        if (column === undefined || b % 2 === 0) {
          await table.addColumns({ [name]: { expression: 'key + 7', type: 'int64' } })
          const made = { ...added, type: 'int64' as const }
          const set = rows.map(row => new Map([...row, [made.id, (row.get(0) as number) + 7]]))
          return model.commit([...columns, made], set)
        }
        await table.addColumns({ [name]: `\`${column.name}\`` })
        const set = rows.map(row => new Map([...row, [added.id, row.get(column.id) ?? null]]))
        return model.commit([...columns, added], set)
      }
      case 'add nulls': {
        const name = this.#newName()
        const type = types[b % types.length]!
        await table.addColumns({ [name]: { type } })
        return model.commit([...columns, plain(model.newId(), name, type)], rows)
      }
      case 'add computed': {
        const name = this.#newName()
        const numbers = columns.filter(({ id, type }) => id !== 0 && type !== null && type !== 'string')
        const input = numbers[b % (numbers.length + 1)]
        const factor = 1 + (b % 3)
        const computed =
          input === undefined ? `key * ${factor}` : `key * ${factor} + coalesce(${input.name}, 0)`
        await table.addColumns({ [name]: { computed, type: 'int64' } })
        const made = {
          ...plain(model.newId(), name, 'int64'),
          computed: { factor, input: input?.id ?? null },
        }
        return model.commit([...columns, made], rows)
      }
      case 'rename': {
        if (column === undefined) return
        const name = this.#newName()
        const change = () => table.alterColumns({ [column.name]: { rename: name } })
        if (model.isInput(column.id)) return this.#refused(change, 20)
        await change()
        return model.commit(
          columns.map(each => (each === column ? { ...each, name } : each)),
          rows,
        )
      }
      case 'retype': {
        if (column === undefined) return
        const type = types[b % types.length]!
        const change = () => table.alterColumns({ [column.name]: { type } })
        if (model.isInput(column.id) && type !== column.type) return this.#refused(change, 20)
        const cells = rows.map(row => cast((row.get(column.id) ?? null) as never, type))
        if (cells.includes(undefined)) return this.#refused(change, 13)
        await change()
        return model.commit(
          columns.map(each => (each === column ? { ...each, type } : each)),
          rows.map((row, i) => new Map([...row, [column.id, cells[i]!]])),
        )
      }
      case 'nullable': {
        const other = columns[a % columns.length]!
        const nullable = !other.nullable
        const change = () => table.alterColumns({ [other.name]: { nullable } })
        if (!nullable && rows.some(row => (row.get(other.id) ?? null) === null))
          return this.#refused(change, 20)
        await change()
        return model.commit(
          columns.map(each => (each === other ? { ...each, nullable } : each)),
          rows,
        )
      }
      case 'drop': {
        const other = columns[a % columns.length]!
        if (other.id === 0) return
        const change = () => table.dropColumns([other.name])
        if (model.isInput(other.id)) return this.#refused(change, 20)
        await change()
        return model.commit(
          columns.filter(each => each !== other),
          rows,
        )
      }
      case 'field rename':
      case 'field retype':
      case 'field drop':
        return this.#changeField(kind, a, b)
      case 'restore': {
        const version = 1 + (b % model.versions.length)
        await table.restore(version)
        const { columns: before, rows: then } = model.versions[version - 1]!
        return model.commit(before, then)
      }
    }
  }

  async #changeField(
    kind: 'field rename' | 'field retype' | 'field drop',
    a: number,
    b: number,
  ): Promise<void> {
    const { model, table } = this
    const { columns, rows } = model.now
    const struct = columns.find(({ type }) => type === null)
    const field = struct?.fields[a % struct.fields.length]
    if (struct === undefined || field === undefined) return
    const path = `${struct.name}.${field.name}`
    const commit = (fields: Column['fields'], set: readonly ModelRow[] = rows) =>
      model.commit(
        columns.map(each => (each === struct ? { ...each, fields } : each)),
        set,
      )
    if (kind === 'field drop') {
      if (struct.fields.length === 1) return this.#refused(() => table.dropColumns([path]), 20)
      await table.dropColumns([path])
      return commit(struct.fields.filter(each => each !== field))
    }
    if (kind === 'field rename') {
      const name = this.#newName()
      await table.alterColumns({ [path]: { rename: name } })
      return commit(struct.fields.map(each => (each === field ? { ...each, name } : each)))
    }
    const type = types[b % types.length]!
    const change = () => table.alterColumns({ [path]: { type } })
    const cells = rows.map(row => {
      const cell = row.get(struct.id)
      if (!(cell instanceof Map)) return cell ?? null
      const value = cast((cell.get(field.id) ?? null) as never, type)
      return value === undefined ? undefined : new Map([...cell, [field.id, value]])
    })
    if (cells.includes(undefined)) return this.#refused(change, 13)
    await change()
    const set = rows.map((row, i): ModelRow => new Map([...row, [struct.id, cells[i]!]]))
    return commit(
      struct.fields.map(each => (each === field ? { ...each, type } : each)),
      set,
    )
  }

  async #append(added: readonly ModelRow[]): Promise<void> {
    const { columns, rows } = this.model.now
    const given = shown({ columns: columns.filter(({ computed }) => computed === null), rows: added })
    await this.table.add(given as Row[])
    this.model.commit(columns, [...rows, ...added])
  }

  #newRow(seed: number): ModelRow {
    const { columns } = this.model.now
    const row = new Map<number, never>()
    const valueFor = (type: Type, by: number, nullable: boolean) => {
      const value = Math.abs(seed * by) % 1000
      if (value % 4 === 0 && nullable) return null
      return cast(type === 'string' && value % 3 === 0 ? `t${value}` : value, type)
    }
    for (const { id, type, fields, nullable } of columns) {
      if (id === 0) row.set(id, this.#nextKey++ as never)
      else if (type !== null) row.set(id, valueFor(type, id, nullable) as never)
      else if (seed % 5 !== 0 || !nullable)
        row.set(id, new Map(fields.map(field => [field.id, valueFor(field.type, field.id, true)])) as never)
    }
    return row
  }

  #newName(): string {
    return `c${this.#nextName++}`
  }

  /** The call fails and changes nothing. */
  async #refused(change: () => Promise<unknown>, code: number): Promise<void> {
    expect(await failure(change())).toMatchObject({ code })
    expect(await this.table.version()).toBe(this.model.versions.length)
  }
}

/** What a version shows, and as text: made once, though each version is looked at twice. */
const views = new WeakMap<
  Version,
  { readonly rows: readonly Record<string, unknown>[]; readonly text: string }
>()

function viewOf(version: Version) {
  let view = views.get(version)
  if (view === undefined) {
    const rows = shown(version)
    view = { rows, text: JSON.stringify(rows) }
    views.set(version, view)
  }
  return view
}

async function check(table: Table, model: SchemaModel, version: number): Promise<void> {
  const at = await table.checkout(version)
  const expected = model.versions[version - 1]!
  const { fields } = await at.schema()
  expect(fields.map(({ name, nullable }) => [name, nullable])).toEqual(
    expected.columns.map(({ name, nullable }) => [name, nullable]),
  )
  const { rows, text } = viewOf(expected)
  const found = await at.query().orderBy('key').toArray()
  // What differs is for expect to show; it takes far longer to see that nothing does.
  if (JSON.stringify(found) !== text) expect(found).toEqual(rows)
  for (const { name, type } of expected.columns) {
    const nulls = rows.filter(row => row[name] === null).length
    expect([name, await at.countRows(`${name} IS NULL`)]).toEqual([name, nulls])
    const present = rows.find(row => row[name] !== null)?.[name]
    if (type === null || present === undefined) continue
    const equal = rows.filter(row => row[name] === present).length
    expect([name, await at.countRows(`${name} = ?`, [present as never])]).toEqual([name, equal])
  }
}

test('columns change as in the model, and every version stays unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 16, size: 'max' }), async steps => {
      const store = new MemoryStore('memory://')
      const ns = await connect('memory://', { store })
      const start: ModelRow[] = [1, 2, 3].map(
        key =>
          new Map<number, never>([
            [0, key as never],
            [1, (key * 10) as never],
            [2, (key === 2 ? null : `${key}`) as never],
            [
              3,
              (key === 3
                ? null
                : new Map<number, number | string>([
                    [10, key],
                    [11, `f${key}`],
                  ])) as never,
            ],
          ]),
      )
      const columns: Column[] = [
        plain(0, 'key', 'int64'),
        plain(1, 'n', 'int64'),
        plain(2, 's', 'string'),
        {
          ...plain(3, 'r', 'int64'),
          type: null,
          fields: [
            { id: 10, name: 'x', type: 'int64' },
            { id: 11, name: 'y', type: 'string' },
          ],
        },
      ]
      const model = new SchemaModel({ columns, rows: start })
      const int64 = { kind: 'int', bits: 64, signed: true } as const
      const utf8 = { kind: 'utf8', large: false } as const
      const field = (name: string, type: object) => ({ name, type: type as typeof int64, nullable: true })
      const struct = { kind: 'struct', children: [field('x', int64), field('y', utf8)] }
      const schema = {
        fields: [field('key', int64), field('n', int64), field('s', utf8), field('r', struct)],
      }
      const table = await ns.createTable('t', shown(model.now) as Row[], { schema })
      const history = new History(table, model)
      for (const step of steps) {
        await history.take(step)
        expect(await table.version()).toBe(model.versions.length)
        await check(table, model, model.versions.length)
      }
      const reader = await connect('memory://', { store, readOnly: true })
      const again = await reader.openTable('t')
      for (const [i] of model.versions.entries()) await check(again, model, i + 1)
      await reader.close()
      await ns.close()
    }),
    { numRuns: 40 },
  )
})

/** Writes of one row by its key have the effect of the same writes in the usual steps, and of a model. */
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { connect, type Namespace, type Row, SheafError, schema, sql, type Table } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'

const opened: Namespace[] = []

afterEach(async () => {
  for (const ns of opened.splice(0)) await ns.close()
})

/** Open `count` connections to one new root. */
async function connections(count: number, cacheBytes = 2 ** 28, compact = false): Promise<Namespace[]> {
  const store = new MemoryStore('memory://')
  for (let i = 0; i < count; i++) {
    opened.push(await connect('memory://', { store, cacheBytes, maintenance: { compact } }))
  }
  return opened.slice(-count)
}

/** Create a table of many commits of one row, whose rows are found by key without an index. */
async function tableOf(ns: Namespace, rows = 40) {
  const columns = { id: 'int64!', n: 'int32', name: 'string' } as const
  const table = await ns.createTable('t', [], { schema: schema(columns) })
  for (let id = 0; id < rows; id++) await table.add([{ id, n: 0, name: `row ${id}` }])
  return table
}

/** Types of keys, with values that rows have. Other rows have NULL. */
const keyTypes = {
  int64: [1n, 2n, -5n, 9007199254740993n, 9007199254740992n, 3n, 4n, 5n, 6n, 7n],
  uint64: [0n, 1n, 18446744073709551615n, 2n, 3n, 4n],
  int32: [1, 2, -5, 2147483647, 3, 4, 5, 6, 7, 8],
  float64: [0, -0, 1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2, 3, 4, 2 ** 60],
  float32: [0, 1, 0.1, Number.NaN, 2, 3],
  string: ['', 'a', 'b', 'ü', '\u{10000}', '1', 'c', 'd', 'e', 'f'],
  binary: [Uint8Array.of(), Uint8Array.of(1), Uint8Array.of(2)],
  bool: [true, false],
  timestamp: [new Date(0), new Date(1), new Date(2)],
} as const
type KeyType = keyof typeof keyTypes

/** Keys that calls name, of all types. */
const anyKeys = Object.values(keyTypes).flat()

const columns = {
  n: 'int32',
  name: 'string',
  score: 'float32',
  flag: 'bool',
  vector: 'vector(2)',
  at: 'timestamp',
  nested: { a: 'int32', b: 'string' },
  tags: ['string'],
} as const

/** Values of the columns, of their types and of others. */
const settings: readonly Row[] = [
  { n: 5 },
  { n: -0 },
  { n: 2.7 },
  { n: null },
  { n: 2 ** 40 },
  { n: '7' },
  { n: 3n },
  { name: 'Zoë 𝄞' },
  { name: null, n: 1 },
  { name: 5 },
  { score: 0.1 },
  { score: 16777217 },
  { score: Number.NaN },
  { score: 1e300 },
  { score: 2 ** 60 },
  { flag: true, name: 'flag' },
  { flag: 1 },
  { vector: [1, 2] },
  { vector: new Float32Array([0.1, -0]) },
  { vector: [1] },
  { vector: [1, Number.NaN] },
  { vector: [1, 2 ** 60] },
  { at: new Date(1_700_000_000_123) },
  { at: '2026-01-31T12:00:00' },
  { tags: ['x', 'y'] },
  { gone: 1 },
  { n: sql`n + 1` },
  { name: sql`concat(name, '!')`, n: 2 },
]

/** A number below the number of values selects a value; other numbers mean NULL. */
const nat = fc.nat({ max: 10 })
const nullKey = 100
const setting = fc.nat({ max: settings.length - 1 })
const anyKey = fc.nat({ max: anyKeys.length - 1 })
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ add: fc.uniqueArray(nat, { minLength: 1, maxLength: 3 }) }) },
  { weight: 6, arbitrary: fc.record({ update: nat, set: setting }) },
  { weight: 1, arbitrary: fc.record({ update: nat, to: nat }) },
  { weight: 4, arbitrary: fc.record({ upsert: nat, set: setting }) },
  { weight: 3, arbitrary: fc.record({ remove: nat }) },
  { weight: 1, arbitrary: fc.record({ odd: anyKey, set: setting }) },
  { weight: 1, arbitrary: fc.record({ where: fc.constantFrom('n % 2 = 0', 'nested.a = 1', 'key IS NULL') }) },
  {
    weight: 5,
    arbitrary: fc
      .constantFrom('index', 'optimize', 'other', 'restore', 'column', 'read')
      .map(other => ({ other })),
  },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

type Outcome = { readonly result: unknown } | { readonly error: string }

/** Return the outcome of a call, without its version, which is added to `versions`. */
async function outcomeOf(call: Promise<{ readonly version: number }>, versions: number[]): Promise<Outcome> {
  try {
    const { version, ...result } = await call
    versions.push(version)
    return { result }
  } catch (error) {
    if (!(error instanceof SheafError)) throw error
    return { error: `${error.code}: ${error.message}` }
  }
}

/** Two tables with the same history. The calls of the second table have keys, so that they take the usual steps. */
class Case {
  readonly #ns: Namespace
  readonly #other: Namespace
  readonly #key: KeyType
  /** By table: the versions of its calls. Compactions make others, at a time of their own in each table. */
  readonly #versions = { fast: [1], usual: [1] }
  #n = 0
  #calls = 0

  constructor(ns: Namespace, other: Namespace, key: KeyType) {
    this.#ns = ns
    this.#other = other
    this.#key = key
  }

  async begin(rows: number): Promise<void> {
    for (const name of ['fast', 'usual']) {
      await this.#ns.createTable(name, [], { schema: schema({ key: this.#key, ...columns }) })
    }
    await this.run({ add: [...keyTypes[this.#key].keys()].filter(number => number % 2 === 0) })
    for (let i = 0; i < rows; i++) await this.run({ add: [nullKey] })
    // After so many writes by key, the rows are found without an index.
    for (let i = 0; i < rows; i++) await this.run({ update: 0, set: 0 })
  }

  #rowOf(number: number): Row {
    const n = this.#n++
    return {
      key: this.#valueOf(number),
      n,
      name: `row ${n}`,
      nested: { a: n % 3, b: null },
      vector: [n, 0],
      tags: ['t', null],
    }
  }

  #valueOf(number: number): never {
    return (keyTypes[this.#key][number] ?? null) as never
  }

  /** Run a step on both tables. The outcomes must be equal. */
  async run(step: Step): Promise<void> {
    const n = this.#n
    const run = async (name: 'fast' | 'usual', options: { readonly idempotencyKey?: string }) => {
      this.#n = n
      const versions = this.#versions[name]
      return outcomeOf(this.#call(step, this.#ns.table(name), versions, options), versions)
    }
    const fast = await run('fast', {})
    const usual = await run('usual', { idempotencyKey: `call ${this.#calls++}` })
    expect(fast, JSON.stringify(step)).toEqual(usual)
  }

  async #call(
    step: Step,
    table: Table,
    versions: readonly number[],
    options: { readonly idempotencyKey?: string },
  ): Promise<{ readonly version: number }> {
    if ('add' in step) return table.add(step.add.map(number => this.#rowOf(number)))
    if ('to' in step) {
      return table.update({ key: this.#valueOf(step.to) }, 'key = ?', [this.#valueOf(step.update)], options)
    }
    if ('update' in step)
      return table.update(settings[step.set]! as never, 'key = ?', [this.#valueOf(step.update)], options)
    if ('odd' in step)
      return table.update(settings[step.set]! as never, '? = `key`', [anyKeys[step.odd] as never], options)
    if ('upsert' in step) {
      return table.upsert([{ key: this.#valueOf(step.upsert), ...settings[step.set]! }] as never, {
        on: 'key',
        ...options,
      })
    }
    if ('remove' in step) return table.delete('key = $1', [this.#valueOf(step.remove)], options)
    if ('where' in step) return table.update({ n: 4, name: 'where' }, step.where, [], options)
    await this.#change(step.other, table, versions)
    return { version: await table.version() }
  }

  async #change(change: string, table: Table, versions: readonly number[]): Promise<void> {
    const name = table.id[0]!
    if (change === 'index') {
      await table.createIndex('key', { type: 'BTREE' }).catch(() => {})
      for (const { name } of await table.listIndices()) await table.waitForIndex([name]).catch(() => {})
    } else if (change === 'optimize') await this.#ns.optimize()
    else if (change === 'other') {
      const other = this.#other.table(name)
      await other.add([this.#rowOf(1)])
      await other.delete('key = ?', [this.#valueOf(2)])
    } else if (change === 'restore') await table.restore(versions.at(-3) ?? 1)
    else if (change === 'column') {
      const column = `c${(await table.schema()).fields.length}`
      await table.addColumns({ [column]: { type: 'int32' } })
    } else
      await table
        .query()
        .where('key = ?', [this.#valueOf(1)])
        .toArray()
  }

  async check(): Promise<void> {
    for (const ns of [this.#ns, this.#other]) {
      const rows = (name: string) => {
        const query = ns.table(name).query()
        const ordered = query.select(['_rowid', 'key', ...Object.keys(columns)]).orderBy('_rowid')
        return ordered.toArray({ int64: 'bigint' })
      }
      expect(await rows('fast')).toEqual(await rows('usual'))
    }
    expect(await this.#ns.verify()).toMatchObject({ problems: [] })
  }
}

describe('a write of one row by its key', () => {
  test('has the effect of the usual steps, for any history', { timeout: 300_000 }, async () => {
    const key = fc.constantFrom(...(Object.keys(keyTypes) as KeyType[]))
    const property = fc.asyncProperty(
      key,
      fc.constantFrom(0, 18, 34),
      fc.boolean(),
      fc.constantFrom(2 ** 28, 2 ** 28, 300_000),
      fc.array(step, { minLength: 10, maxLength: 30 }),
      async (key, rows, compact, cacheBytes, steps) => {
        const [ns, other] = await connections(2, cacheBytes, compact)
        const both = new Case(ns!, other!, key)
        await both.begin(rows)
        for (const each of steps) await both.run(each)
        await both.check()
        for (const each of opened.splice(0)) await each.close()
      },
    )
    await fc.assert(property, { numRuns: Number(process.env.RUNS ?? 15) })
  })

  test('needs no manifest of the version that it makes', async () => {
    const [ns] = await connections(1)
    const table = await tableOf(ns!)
    const manifests = () => ns!.stats().memory.partitions.layouts!.misses
    await table.update({ n: 1 }, 'id = ?', [3])
    const before = manifests()
    for (let i = 0; i < 300; i++) {
      await table.update({ n: i }, 'id = ?', [i % 40])
      await table.upsert([{ id: 1000 + (i % 50), n: i }], { on: 'id' })
      if (i % 3 === 0) await table.delete('id = ?', [1000 + (i % 50)])
    }
    // Only maintenance computes manifests, now and then.
    expect(manifests() - before).toBeLessThan(100)
    expect(await table.countRows()).toBe(40 + 34)
    expect(await table.countRows('n >= 260 AND id < 40')).toBe(40)
  })

  test('finds what another process has written, and its own writes', async () => {
    const [ns, other] = await connections(2)
    const table = await tableOf(ns!)
    await table.update({ n: 1 }, 'id = ?', [3])
    await other!.table('t').update({ n: 7 }, 'id = ?', [3])
    await other!.table('t').add([{ id: 100, n: 0, name: 'new' }])
    await table.update({ name: 'both' }, 'id = ?', [3])
    await table.update({ name: 'both' }, 'id = ?', [100])
    await table.update({ id: 200 }, 'id = ?', [100])
    expect(await table.update({ n: 9 }, 'id = ?', [100])).toMatchObject({ rows: 0 })
    expect(await table.update({ n: 9 }, 'id = ?', [200])).toMatchObject({ rows: 1 })
    const rows = await other!.table('t').query().where("name = 'both'").toArray()
    expect(rows).toEqual([
      { id: 3, n: 7, name: 'both' },
      { id: 200, n: 9, name: 'both' },
    ])
  })

  test('leaves the rows that were added with the row, and keeps its row id', async () => {
    const [ns] = await connections(1)
    const table = await tableOf(ns!)
    await table.update({ n: 1 }, 'id = ?', [3])
    await table.add([100, 101, 102].map(id => ({ id, n: 0, name: 'three' })))
    // Without a read in between, the rows that were added are not in the base.
    await table.update({ n: 2 }, 'id = ?', [101])
    await table.delete('id = ?', [100])
    await table.update({ n: 3 }, 'id = ?', [101])
    await table.update({ n: 4 }, 'id = ?', [102])
    const query = table.query().select(['id', 'n', '_rowid']).where("name = 'three'").orderBy('id')
    expect((await query.toArray()).map(row => [row.id, row.n, Number(row._rowid)])).toEqual([
      [101, 3, 41],
      [102, 4, 42],
    ])
  })

  test('finds rows by one column after writes by another column', async () => {
    const [ns] = await connections(1)
    const columns = { id: 'int64!', sku: 'int64', n: 'int32' } as const
    const table = await ns!.createTable('t', [], { schema: schema(columns) })
    await table.add([
      { id: 7, sku: 100, n: 0 },
      { id: 3, sku: 30, n: 0 },
    ])
    // From some writes on, rows are found by both columns in memory.
    for (const [column, key] of [
      ['id', 3],
      ['sku', 30],
    ] as const)
      for (let n = 0; n < 20; n++) await table.update({ n }, `${column} = ?`, [key])
    await table.update({ n: 1 }, 'id = ?', [7])
    expect(await table.update({ n: 2 }, 'sku = ?', [7])).toMatchObject({ rows: 0 })
    expect(await table.delete('sku = ?', [7])).toMatchObject({ rows: 0 })
    const upserted = await table.upsert([{ sku: 100, id: 7, n: 5 }], { on: 'sku' })
    expect(upserted).toMatchObject({ inserted: 0, updated: 1 })
    expect(await table.query().orderBy('id').toArray()).toEqual([
      { id: 3, sku: 30, n: 19 },
      { id: 7, sku: 100, n: 5 },
    ])
  })

  test('ignores properties of a row that are not enumerable', async () => {
    const [ns] = await connections(1)
    const table = await tableOf(ns!)
    const row = Object.defineProperty({ id: 3, n: 7 }, 'name', { value: 'hidden', enumerable: false })
    await table.upsert([row], { on: 'id' })
    expect(await table.get(3, { on: 'id' })).toEqual({ id: 3, n: 7, name: 'row 3' })
  })

  test('does not find rows that were deleted before', async () => {
    const [ns] = await connections(1)
    const table = await tableOf(ns!)
    await table.add([200, 201, 202, 203].map(id => ({ id, n: 0, name: 'three' })))
    await table.delete('id = 201 AND n = 0')
    // The first write reads which rows are live. The change of the columns makes a new base.
    await table.update({ n: 1 }, 'id = ?', [200])
    await table.addColumns({ more: { type: 'int32' } })
    for (let i = 0; i < 2; i++) await table.update({ n: 1 }, 'id = ?', [202])
    expect(await table.delete('id = ?', [201])).toMatchObject({ rows: 0 })
    expect(await table.update({ n: 1 }, 'id = ?', [201])).toMatchObject({ rows: 0 })
    expect(await table.upsert([{ id: 201, n: 5 }], { on: 'id' })).toMatchObject({ inserted: 1, updated: 0 })
    expect(await table.countRows('id >= 200')).toBe(4)
  })

  test('of writes of several processes at the same time, the one of the greatest version stays', async () => {
    const spaces = await connections(2)
    await tableOf(spaces[0]!)
    const handles = spaces.map(ns => ns.table('t'))
    for (const table of handles) await table.update({ n: -1 }, 'id = ?', [0])
    const last = new Map<number, readonly [version: number, n: number]>()
    const write = async (i: number) => {
      const table = handles[i % 2]!
      const id = i % 3 === 0 ? 100 + (i % 5) : i % 7
      const { version } =
        i % 3 === 0
          ? await table.upsert([{ id, n: i }], { on: 'id' })
          : await table.update({ n: i }, 'id = ?', [id])
      if (version > (last.get(id)?.[0] ?? 0)) last.set(id, [version, i])
    }
    for (let from = 0; from < 300; from += 10)
      await Promise.all(Array.from({ length: 10 }, (_, i) => write(from + i)))
    for (const ns of spaces) {
      const rows = await ns.table('t').query().where('n > 0').select(['id', 'n']).orderBy('id').toArray()
      expect(rows).toEqual([...last].map(([id, [, n]]) => ({ id, n })).sort((a, b) => a.id - b.id))
    }
  })

  test('at the same time as writes of other rows needs no manifest, and compactions go on', async () => {
    const [ns] = await connections(1, 2 ** 28, true)
    const table = await ns!.createTable(
      't',
      Array.from({ length: 200 }, (_, id) => ({ id, n: -1 })),
    )
    for (let i = 0; i < 20; i++) await table.update({ n: -2 }, 'id = ?', [i])
    const manifests = () => ns!.stats().memory.partitions.layouts!.misses
    const before = { version: await table.version(), manifests: manifests() }
    const expected = new Map<number, number>(Array.from({ length: 200 }, (_, id) => [id, id < 20 ? -2 : -1]))
    const versions = new Set<number>()
    let writes = 0
    // Each caller has its own rows, which it also deletes and inserts again.
    const caller = async (number: number) => {
      // Compactions make the other versions.
      for (let i = 0; i < 1000 && (i < 60 || Math.max(...versions) - before.version < writes + 3); i++) {
        const id = number + 8 * (i % 17)
        const isThere = expected.has(id)
        writes++
        const { version } =
          i % 5 === 4 && isThere
            ? await table.delete('id = ?', [id])
            : isThere && i % 2 === 0
              ? await table.update({ n: i }, 'id = ?', [id])
              : await table.upsert([{ id, n: i }], { on: 'id' })
        if (i % 5 === 4 && isThere) expected.delete(id)
        else expected.set(id, i)
        versions.add(version)
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, number) => caller(number)))
    // Each write made its own version. Maintenance computes manifests, and a write that meets a compaction in its own slot.
    expect(versions.size).toBe(writes)
    const compactions = (await table.version()) - before.version - writes
    expect(compactions).toBeGreaterThan(1)
    expect(manifests() - before.manifests).toBeLessThan(20 * compactions + writes / 50)
    const rows = (await table.query().orderBy('id').toArray()) as { id: number; n: number }[]
    expect(rows.map(({ id, n }) => [id, n])).toEqual([...expected].sort(([a], [b]) => a - b))
    expect(await ns!.verify()).toMatchObject({ problems: [] })
  })

  test('in a transaction reads the writes of the transaction, and commits with them', async () => {
    const [ns] = await connections(1)
    const table = await tableOf(ns!)
    await table.update({ n: 1 }, 'id = ?', [3])
    await ns!.transaction(async tx => {
      const own = tx.table('t')
      await own.update({ n: 2 }, 'id = ?', [3])
      await own.update({ name: 'two' }, 'id = ?', [3])
      await own.upsert(
        [
          { id: 3, n: 3 },
          { id: 300, n: 3 },
        ] as never,
        { on: 'id' },
      )
      await own.delete('id = ?', [4])
    })
    expect(await table.countRows("id = 3 AND n = 3 AND name = 'two'")).toBe(1)
    expect(await table.countRows('id = 4')).toBe(0)
  })

  test('of a value that is not exactly one of the column is an error, or is converted', async () => {
    const [ns] = await connections(1)
    const table = await tableOf(ns!)
    await table.update({ n: 2.9 }, 'id = ?', [3])
    expect(await table.get(3)).toEqual({ id: 3, n: 2, name: 'row 3' })
    await expect(table.update({ n: 2 ** 31 }, 'id = ?', [3])).rejects.toThrow(/2147483648/)
    await expect(table.update({ id: null as never }, 'id = ?', [3])).rejects.toThrow(/"id"/)
    await expect(table.update({ n: 1 }, 'id = ?', [3, 4])).rejects.toThrow(/parameters/)
    await expect(table.update({ n: 1 }, 'id = 3', [{}] as never)).rejects.toThrow(/parameter/)
    await expect(table.upsert([{ id: 3, gone: 1 }] as never, { on: 'id' })).rejects.toThrow(/gone/)
    await expect(table.upsert([{ n: 3 }] as never, { on: 'id' })).rejects.toThrow(/id/)
    expect(await table.get(3)).toEqual({ id: 3, n: 2, name: 'row 3' })
  })
})

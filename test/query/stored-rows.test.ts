/**
 * Reads of single rows whose columns are not in memory return what a request returns, and fail as a request fails, in
 * stores with and without synchronous reads.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { valueAt } from '../../src/arrow/values.js'
import { resolveMaintenance } from '../../src/client/maintenance-settings.js'
import { OpenedRoot } from '../../src/engine/opened-root.js'
import { connect, type Row, type Schema, type Table } from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import { directReadsOf } from '../../src/protocol/direct-reads.js'
import { type PlacedRow, StoredRows } from '../../src/query/stored-rows.js'
import { openTable } from '../../src/root/open-table.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { cellValue } from '../support/arrow-generators.js'
import { damaged, filesOf, flipped } from '../support/damage.js'
import { outcomeOf } from '../support/outcome.js'
import { CountingStore } from '../support/stores.js'

const folder = mkdtempSync(join(tmpdir(), 'sheaf-rows-'))
afterAll(() => rmSync(folder, { recursive: true }))

const utf8 = { kind: 'utf8', large: false } as const
const int32 = { kind: 'int', bits: 32, signed: true } as const
const int64 = { kind: 'int', bits: 64, signed: true } as const
const nested = (name: string, type: object) => ({ name, type, nullable: true })
const texts = { kind: 'dictionary', index: int32, value: utf8, ordered: false } as const

/** Types of columns other than the key. */
const types = {
  utf8,
  largeUtf8: { kind: 'utf8', large: true },
  binary: { kind: 'binary', large: false },
  bool: { kind: 'bool' },
  int8: { kind: 'int', bits: 8, signed: true },
  uint64: { kind: 'int', bits: 64, signed: false },
  float16: { kind: 'float', bits: 16 },
  timestamp: { kind: 'timestamp', unit: 'us', timezone: null },
  decimal: { kind: 'decimal', bits: 128, precision: 10, scale: 2 },
  bytes: { kind: 'fixed_size_binary', width: 7 },
  list: { kind: 'list', large: false, child: nested('item', utf8) },
  lists: {
    kind: 'list',
    large: false,
    child: nested('item', { kind: 'list', large: true, child: nested('item', int64) }),
  },
  vector: {
    kind: 'fixed_size_list',
    size: 40,
    child: { ...nested('item', { kind: 'int', bits: 16, signed: false }), nullable: false },
  },
  gaps: { kind: 'fixed_size_list', size: 3, child: nested('item', { kind: 'int', bits: 16, signed: true }) },
  struct: {
    kind: 'struct',
    children: [nested('a', utf8), nested('b', { kind: 'struct', children: [nested('c', { kind: 'bool' })] })],
  },
  map: {
    kind: 'map',
    keysSorted: false,
    child: {
      name: 'entries',
      nullable: false,
      type: {
        kind: 'struct',
        children: [{ ...nested('key', utf8), nullable: false }, nested('value', int32)],
      },
    },
  },
  dictionary: texts,
  dictionaries: { kind: 'list', large: false, child: nested('item', texts) },
} as const

type TypeName = keyof typeof types
const typeNames = Object.keys(types) as TypeName[]

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ update: fc.nat(60), everything: fc.constantFrom(false, false, false, true) }),
  },
  { weight: 3, arbitrary: fc.record({ remove: fc.nat(60) }) },
  { weight: 2, arbitrary: fc.constantFrom('add', 'addColumn', 'computeColumn', 'rename') },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const cases = fc
  .record({
    names: fc.shuffledSubarray(typeNames, { minLength: 2, maxLength: 5 }),
    fragments: fc.integer({ min: 1, max: 3 }),
    rows: fc.integer({ min: 1500, max: 2500 }),
    steps: fc.array(step, { maxLength: 5 }),
    keys: fc.array(fc.array(fc.nat(7000), { minLength: 1, maxLength: 30 }), { minLength: 2, maxLength: 4 }),
    budget: fc.constantFrom(0, 5000, 100_000, 500_000, 1 << 26),
    isOptimized: fc.boolean(),
    isSynchronous: fc.boolean(),
  })
  .chain(shape =>
    fc
      .array(fc.tuple(...shape.names.map(name => fc.option(cellValue(types[name] as never), { freq: 5 }))), {
        minLength: 5,
        maxLength: 12,
      })
      .map(few => ({ ...shape, few })),
  )
type Case = typeof cases extends fc.Arbitrary<infer C> ? C : never

const wide = (key: number) => Uint16Array.from({ length: types.vector.size }, (_, i) => key + i)

/** Write the table `t` of a case. The key of row `i` is `i`. */
async function write(
  store: BlobStore,
  { names, few, fragments, rows, steps, isOptimized }: Case,
): Promise<void> {
  const ns = await connect('rows', { store, maintenance: { compact: false } })
  const schema = {
    fields: [
      { name: 'key', type: int64, nullable: false },
      { name: 'n', type: int32, nullable: false },
      // With this column, the columns of all fragments do not fit in a small cache.
      { name: 'wide', type: types.vector, nullable: true },
      ...names.map(name => nested(name, types[name])),
    ],
  } as Schema
  let next = 0
  const some = (count: number) =>
    Array.from({ length: count }, () => {
      const cells = few[(next * 5 + (next >>> 4)) % few.length]!
      const own = Object.fromEntries(names.map((name, i) => [name, cells[i]]))
      return { key: next, wide: wide(next), n: next++ % 61, ...own } as Row
    })
  const table = (await ns.createTable('t', some(rows), { schema })) as Table<Row>
  for (let i = 1; i < fragments; i++) await table.add(some(rows))
  await table.createIndex('key', { type: 'BTREE' })
  await table.waitForIndex(['key_idx'])
  for (const [i, each] of steps.entries()) await change(table, each, i, names[0]!, some)
  if (isOptimized) await ns.optimize()
  await ns.close()
}

async function change(
  table: Table<Row>,
  each: Step,
  i: number,
  name: TypeName,
  some: (count: number) => Row[],
) {
  if (each === 'add') await table.add(some(3).map(({ key, n }) => ({ key, n })))
  else if (each === 'addColumn') await table.addColumns({ [`empty ${i}`]: { type: 'string' } })
  else if (each === 'computeColumn') await table.addColumns({ [`sum ${i}`]: 'n + key' })
  else if (each === 'rename') await table.alterColumns({ [name]: { rename: `renamed ${i}` } }).catch(() => {})
  else if ('remove' in each) await table.delete(`n = ${each.remove} AND key % 3 = 0`)
  else if (each.everything) await table.update({ n: i })
  else await table.update({ n: i }, `n = ${each.update}`)
}

/** Open a table. The caller must call `close`. */
async function openReader(store: BlobStore, cacheBytes: number) {
  const engine = await OpenedRoot.open(store, {
    location: 'memory://',
    create: false,
    readOnly: true,
    cacheBytes,
    clock: systemClock,
    warn: () => {},
    report: () => {},
    keep: resolveMaintenance({}),
  })
  const { reader } = await openTable(engine, ['t'], undefined, {})
  return { reader, close: () => engine.close() }
}

test('some rows are those of the whole columns, for any types, history and budget', async () => {
  let synchronous = 0
  await fc.assert(
    fc.asyncProperty(cases, async given => {
      const inner = new MemoryStore()
      await write(inner, given)
      const whole = await openReader(inner, 1 << 28)
      const own = await openReader(given.isSynchronous ? inner : new CountingStore(inner), given.budget)
      const { fields } = own.reader.schema
      const wholeParts = await whole.reader.parts()
      const parts = await own.reader.parts()
      const stored = new StoredRows(own.reader, fields)
      for (const int64 of ['bigint', 'number'] as const) {
        for (const numbers of [...given.keys, ...given.keys]) {
          const placed: PlacedRow[] = []
          const expected: Row[] = []
          for (const number of numbers) {
            const at = number % parts.length
            const { fragment, batch, rows } = parts[at]!
            placed.push({ part: stored.partsOf(fragment)![batch]!, row: number % rows })
            const row: Record<string, unknown> = {}
            for (const field of fields) {
              const { column } = await whole.reader.column(wholeParts[at]!, field)
              row[field.name] = valueAt(column, number % rows, { int64: 'bigint' })
            }
            expected.push(row)
          }
          const read = async () => {
            const found = stored.rows(placed, { int64 })
            if (!(found instanceof Promise)) synchronous++
            return found
          }
          const found = await outcomeOf(read)
          if (int64 === 'bigint') expect(found).toEqual({ rows: expected })
          else if ('error' in found) expect(found.error).toContain('a number cannot represent exactly')
          else expect(found.rows).toHaveLength(expected.length)
        }
      }
      await own.close()
      await whole.close()
    }),
    { numRuns: process.env.SHEAF_SEED === undefined ? 12 : 40 },
  )
  expect(synchronous).toBeGreaterThan(5)
})

/** With a signal, a call is always sent as a request. */
const { signal } = new AbortController()

test('rows by key are those of a request, for any types, history and budget', async () => {
  let direct = 0
  await fc.assert(
    fc.asyncProperty(cases, async given => {
      const inner = new MemoryStore()
      await write(inner, given)
      const { isSynchronous, budget: cacheBytes } = given
      const store = isSynchronous ? inner : new CountingStore(inner)
      const ns = await connect('rows', { store, cacheBytes, readOnly: true })
      const table = (await ns.openTable('t')) as Table<Row>
      // These requests load the index, if it fits in the cache.
      for (let i = 0; i < 10; i++) {
        const keys = Array.from({ length: 20 }, (_, k) => (i * 20 + k) * 37)
        await table.query().where('key IN (?)', [keys]).select(['key']).toArray({ signal })
      }
      const read = directReadsOf(ns.operations)!.prepare({ id: ['t'], filter: 'key IN (?)' })!
      for (const int64 of ['bigint', 'number'] as const) {
        for (const keys of [...given.keys, ...given.keys]) {
          const request = table.query().where('key IN (?)', [keys])
          const expected = await outcomeOf(() => request.toArray({ int64, signal }))
          const found = read.rows([keys], {}, { int64 })
          if (found === null) continue
          direct++
          expect(await outcomeOf(() => found)).toEqual(expected)
          const some = await outcomeOf(async () => read.rows([keys], { offset: 2, k: 3 }, { int64 }))
          if ('rows' in expected) expect(some).toEqual({ rows: (expected.rows as Row[]).slice(2, 5) })
        }
      }
      await ns.close()
    }),
    { numRuns: process.env.SHEAF_SEED === undefined ? 8 : 40 },
  )
  expect(direct).toBeGreaterThan(5)
})

const rowCount = 8000
const dim = 64
const vectorOf = (id: number) => Float32Array.from({ length: dim }, (_, i) => id + i / 1024)
const rowOf = (id: number) => ({ id, text: `text of row ${id}`, vector: vectorOf(id) })
/** Holds the index on `id`, but not the columns of the table. */
const cacheBytes = 1_000_000

/** Write a table with an index on `id`, as one fragment or as several. */
async function writeWide(path: string, store?: BlobStore, fragments = 1): Promise<void> {
  const ns = await connect(path, { ...(store && { store }), maintenance: { compact: false } })
  const rows = Array.from({ length: rowCount }, (_, id) => rowOf(id))
  const size = rowCount / fragments
  const table = await ns.createTable('t', rows.slice(0, size))
  for (let i = 1; i < fragments; i++) await table.add(rows.slice(i * size, (i + 1) * size))
  await table.createIndex('id', { type: 'BTREE' })
  await table.waitForIndex(['id_idx'])
  await ns.close()
}

/** Open the table. Its index, the layout of its files, and some of the rows up to 2000 are in memory. */
async function openWide(path: string, store?: BlobStore) {
  const ns = await connect(path, { ...(store && { store }), cacheBytes, readOnly: true })
  const table = await ns.openTable('t')
  for (let i = 0; i < 100; i++) {
    await table
      .query()
      .where('id = ?', [(i * 97) % 2000])
      .toArray({ signal })
  }
  const read = directReadsOf(ns.operations)!.prepare({ id: ['t'], filter: 'id IN (?)' })!
  return { ns, table, read }
}

test('a row in a file is read synchronously, and a repeated read opens no file', async () => {
  const path = join(folder, 'synchronous')
  await writeWide(path)
  const { ns, table, read } = await openWide(path)
  const before = (await ns.stats()).memory.partitions.columns!.misses
  // A slow disk or a busy machine makes some reads asynchronous.
  const ids = Array.from({ length: 20 }, (_, i) => 3 + 399 * i)
  const found = ids.map(id => read.rows([id], {}, {}))
  expect(found.some(rows => !(rows instanceof Promise))).toBe(true)
  expect(await Promise.all(found)).toEqual(ids.map(id => [rowOf(id)]))
  expect(await read.rows([[7, 5000, 7, -1]], {}, {})).toEqual([rowOf(7), rowOf(5000)])
  // No column was loaded whole.
  expect((await ns.stats()).memory.partitions.columns!.misses).toBe(before)
  expect((await ns.stats()).memory.bytes).toBeLessThanOrEqual(cacheBytes)
  const [data] = [...filesOf(path)].filter(([key]) => key.includes('/data/'))
  await damaged(path, filesOf(path), { [data![0]]: null }, async () => {
    expect(await table.get(3)).toEqual(rowOf(3))
    await expect(table.get(1234)).rejects.toThrow('is missing')
  })
  expect(await table.get(1234)).toEqual(rowOf(1234))
  await ns.close()
})

test('a read of a damaged file returns the rows that were written, or fails', async () => {
  const path = join(folder, 'damaged')
  await writeWide(path)
  const sound = filesOf(path)
  const { ns, read } = await openWide(path)
  const [[data, bytes]] = [...sound].filter(([key]) => key.includes('/data/')) as [[string, Buffer]]
  let failures = 0
  for (let i = 0; i < 300; i++) {
    const at = Math.floor(((i + 0.5) * bytes.length) / 300)
    const keys = Array.from({ length: 12 }, (_, k) => (i * 331 + k * 691) % rowCount)
    await damaged(path, sound, { [data]: flipped(bytes, at) }, async () => {
      const found = await outcomeOf(async () => read.rows([keys], {}, {}))
      if ('error' in found) failures++
      if ('error' in found)
        expect(found.error).toMatch(/^18: .*( have checksum |has the checksum| is cut off)/)
      else expect(found.rows).toEqual(keys.sort((a, b) => a - b).map(rowOf))
    })
  }
  expect(failures).toBeGreaterThan(3)
  await ns.close()
})

test('damage, a shorter file and a missing file are reported as by a request', async () => {
  const path = join(folder, 'reported')
  await writeWide(path)
  const sound = filesOf(path)
  const [[data, bytes]] = [...sound].filter(([key]) => key.includes('/data/')) as [[string, Buffer]]
  const vector = bytes.indexOf(Buffer.from(vectorOf(5000).buffer))
  const text = bytes.indexOf('text of row 5000')
  for (const state of [flipped(bytes, vector + 9), flipped(bytes, text), bytes.subarray(0, 2000), null]) {
    const errors: string[] = []
    for (const isDirect of [true, false]) {
      const { ns, table, read } = await openWide(path)
      await damaged(path, sound, { [data]: state }, async () => {
        const keys = [[5000, 17]]
        const run = () =>
          isDirect ? read.rows(keys, {}, {}) : table.query().where('id IN (?)', keys).toArray({ signal })
        const { error } = (await outcomeOf(async () => run())) as { error: string }
        expect(error).toContain(data)
        // The range that is read first depends on the blocks in memory.
        errors.push(error.replace(data, 'the file').replace(/[0-9a-f]{8}|\d+/g, '#'))
      })
      await ns.close()
    }
    expect(errors[0]).toBe(errors[1])
  }
})

test('a search for a text reads only the rows of its answer', async () => {
  const inner = new MemoryStore()
  await writeWide('wide', inner)
  const writer = await connect('wide', { store: inner })
  const written = await writer.openTable('t')
  await written.createIndex('text', { type: 'FTS' })
  await written.waitForIndex(['text_idx'])
  await writer.close()
  for (const store of [inner, new CountingStore(inner)]) {
    const ns = await connect('wide', { store, cacheBytes, readOnly: true })
    const table = await ns.openTable('t')
    for (let time = 0; time < 3; time++) {
      for (const id of [7, 4321, 7999]) {
        const [row] = await table.search(`${id}`).toArray()
        expect(row).toEqual({ ...rowOf(id), _score: expect.any(Number) })
        expect(await table.search(`${id}`).toArray({ signal })).toEqual([row])
      }
    }
    await ns.close()
  }
})

/** A store whose synchronous reads take 3 ms. */
class SlowStore extends MemoryStore {
  /** Number of reads since the event loop ran other work. */
  reads = 0
  most = 0

  override readRanges(...args: Parameters<MemoryStore['readRanges']>) {
    if (this.reads++ === 0) {
      setImmediate(() => {
        this.reads = 0
      })
    }
    this.most = Math.max(this.most, this.reads)
    for (const end = performance.now() + 3; performance.now() < end; );
    return super.readRanges(...args)
  }
}

test('slow reads of many files do not block the event loop', async () => {
  const store = new SlowStore()
  await writeWide('wide', store, 16)
  const { ns, table, read } = await openWide('wide', store)
  // Footers of all fragments are in memory, but few rows.
  await table.query().where('id % 500 = 7').toArray()
  const keys = Array.from({ length: 16 }, (_, i) => 241 + (i * rowCount) / 16)
  await new Promise(resolve => setImmediate(resolve))
  store.most = 0
  const found = read.rows([keys], {}, {})
  expect(found).toBeInstanceOf(Promise)
  expect(await found).toEqual(keys.map(rowOf))
  // The time slice is 6 ms.
  expect(store.most).toBeLessThanOrEqual(3)
  await ns.close()
})

test('long lists of keys, and keys of many rows, are left to requests', async () => {
  const ns = await connect('memory://', { maintenance: { compact: false } })
  const rows = Array.from({ length: 10_000 }, (_, id) => ({ id, half: id % 2, tenth: id % 10 }))
  const table = await ns.createTable('t', rows)
  for (const name of ['id', 'half', 'tenth']) await table.createIndex(name, { type: 'BTREE' })
  await table.waitForIndex(['id_idx', 'half_idx', 'tenth_idx'])
  const read = (filter: string) => directReadsOf(ns.operations)!.prepare({ id: ['t'], filter })!
  const ids = (count: number) => Array.from({ length: count }, (_, id) => id)
  for (const filter of ['id = 1', 'half = 1', 'tenth = 1']) {
    for (let time = 0; time < 3; time++) await table.query().where(filter).toArray({ signal })
  }
  expect(await read('id IN (?)').rows([ids(4096)], {}, {})).toHaveLength(4096)
  expect(read('id IN (?)').rows([ids(4097)], {}, {})).toBeNull()
  expect(await read('tenth IN (?)').rows([ids(4)], {}, {})).toHaveLength(4000)
  expect(read('tenth IN (?)').rows([ids(5)], {}, {})).toBeNull()
  expect(read('half = ?').rows([1], {}, {})).toBeNull()
  expect(read('half = ?').count([1], {})).toBeNull()
  expect(await table.countRows('half = ?', [1])).toBe(5000)
  await ns.close()
})

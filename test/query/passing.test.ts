/** Which bytes a query reads, and that what it passes over never held a row of the answer. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Schema, type Table } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { WrappedStore } from '../support/stores.js'

/** Notes which data files are read. */
class NotingStore extends WrappedStore {
  readonly read: string[] = []

  protected around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string): Promise<T> {
    if (/data\/.*arrow$/.test(key) && (call === 'getRange' || call === 'readInto')) this.read.push(key)
    return run()
  }
}

const perFragment = 5000

const schema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: false },
    { name: 'text', type: { kind: 'utf8', large: false }, nullable: true },
    { name: 'sometimes', type: { kind: 'float', bits: 64 }, nullable: true },
  ],
}

/** Three fragments of rows with ascending `id`; `text` starts with the number of the fragment. */
async function threeFragments(): Promise<{ readonly store: NotingStore; readonly table: Table }> {
  const store = new NotingStore(new MemoryStore('noted'))
  const writer = await connect('noted', { store })
  for (let f = 0; f < 3; f++) {
    const rows = Array.from({ length: perFragment }, (_, i) => ({
      id: BigInt(f * perFragment + i),
      text: `${f}-${i}`,
      sometimes: f === 1 ? i : null,
    }))
    if (f === 0) await writer.createTable('t', rows, { schema })
    else await (await writer.openTable('t')).add(rows)
  }
  await writer.close()
  const reader = await connect('noted', { store })
  store.read.length = 0
  return { store, table: await reader.openTable('t') }
}

test.each([
  ['id = 7', 1, 1],
  ['id BETWEEN 4990 AND 5010', 2, 21],
  ['id < 0', 0, 0],
  ["text LIKE '2-1%' AND id > 3", 1, 1111],
  ['sometimes IS NOT NULL', 0, perFragment],
  ['sometimes IS NULL', 0, 2 * perFragment],
  ['sometimes + 1 > 0', 3, perFragment],
  ['_rowoffset >= 14999', 0, 1],
  ['_rowid IN (1, 5001)', 0, 2],
  ["id IN (1, 2) OR text >= '2'", 1, perFragment + 2],
  ['NOT (id < 10000)', 0, perFragment],
])('%s reads the files of %d fragments', async (filter, fragments, rows) => {
  const { store, table } = await threeFragments()
  expect(await table.countRows(filter)).toBe(rows)
  // Where no row or every row of a fragment passes, its footer tells how many there are.
  const columns = new Set(store.read.filter((key, i) => store.read.indexOf(key) !== i))
  expect(columns.size).toBe(fragments)
})

test('fragments that cannot match are not opened, and a limit ends the scan', async () => {
  const { store, table } = await threeFragments()
  expect(await table.query().where('id >= 10000').select(['id']).limit(1).toArray()).toEqual([{ id: 10_000 }])
  expect(new Set(store.read).size).toBe(1)
  store.read.length = 0
  expect(await table.query().select(['text']).limit(2).toArray()).toEqual([{ text: '0-0' }, { text: '0-1' }])
  expect(new Set(store.read).size).toBe(1)
})

test('A-055 rows added and deleted in any way: a filter finds the rows of a full scan', async () => {
  const value = fc.oneof(fc.constant(null), fc.integer({ min: -3, max: 12 }))
  const step = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        add: fc.array(value, { minLength: 1, maxLength: 30 }),
        repeat: fc.constantFrom(1, 300),
      }),
    },
    { weight: 1, arbitrary: fc.record({ delete: fc.integer({ min: -3, max: 12 }) }) },
  )
  const filter = fc.constantFrom(
    'x > 5',
    'x <= 0',
    'x = 3',
    'x IS NULL',
    'x IS NOT NULL',
    'x BETWEEN 2 AND 4',
    'NOT x IN (1, 2, 3)',
    'x < 2 OR x > 9',
    'x % 2 = 0',
    '_rowoffset BETWEEN 3 AND 9',
    'x > 2 AND _rowoffset < 50',
    'true',
    'x <> x',
    'x = 1 OR y IS NULL',
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), filter, async (steps, where) => {
      const ns = await connect('memory://')
      const schema = {
        fields: [
          { name: 'x', type: { kind: 'int', bits: 32, signed: true }, nullable: true },
          { name: 'y', type: { kind: 'utf8', large: false }, nullable: true },
        ],
      } as const
      const table = await ns.createTable('t', [], { schema })
      for (const each of steps) {
        if ('delete' in each) await table.delete('x = ?', [each.delete])
        else {
          // The text makes some of them large enough for a file of their own.
          const rows = Array.from({ length: each.repeat }, () => each.add).flat()
          await table.add(rows.map(x => ({ x, y: each.repeat > 1 ? 'long enough'.repeat(5) : null })))
        }
      }
      const all = await table.query().select({ x: 'x', o: '_rowoffset', pass: where }).toArray()
      expect(all.map(row => row.o)).toEqual(all.map((_, i) => i))
      const expected = all.filter(row => row.pass === true).map(({ x, o }) => ({ x, o }))
      expect(await table.query().where(where).select({ x: 'x', o: '_rowoffset' }).toArray()).toEqual(expected)
      expect(await table.countRows(where)).toBe(expected.length)
      await ns.close()
    }),
    { numRuns: 60 },
  )
})

test('an answer does not keep cached data in memory', async () => {
  const ns = await connect('memory://')
  const index = { kind: 'int', bits: 32, signed: true } as const
  const type = { kind: 'dictionary', index, value: { kind: 'utf8', large: false }, ordered: false } as const
  const fields = [{ name: 'd', type, nullable: true }]
  const table = await ns.createTable('t', [{ d: 'x' }, { d: 'y' }], { schema: { fields } })
  const columns = { column_names: ['d'] }
  const { chunks } = await ns.operations.queryTable({ id: ['t'], vector: null, k: 10, columns })
  const before = await table.query().toIpc()
  for (const chunk of chunks) chunk.fill(0x78)
  expect(await table.query().toArray()).toEqual([{ d: 'x' }, { d: 'y' }])
  // Not even the zeros between buffers.
  expect(await table.query().toIpc()).toEqual(before)
  await ns.close()
})

test('a resumed scan does not start again: rows before its position are not evaluated', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable(
    't',
    Array.from({ length: 10_000 }, (_, i) => ({ x: i, one: 1n, zero: i < 5000 ? 0n : 1n })),
  )
  // Each row before the place would be a division by zero.
  const request = {
    id: ['t'],
    vector: null,
    k: 10,
    filter: 'one / zero = 1',
    columns: { column_names: ['x'] },
  }
  const reply = await ns.operations.queryTable({ ...request, resume_at: 5024 })
  expect(reply.version).toBe(1)
  await expect(ns.operations.queryTable({ ...request, resume_at: 4000 })).rejects.toThrow(/division by zero/)
  expect(await table.query().offset(9998).select(['x']).toArray()).toEqual([{ x: 9998 }, { x: 9999 }])
  await ns.close()
})

/** Conditions on row ids and offsets say where to look: what is read, what is evaluated, and that nothing is missed. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { connect, type Table } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { WrappedStore } from '../support/stores.js'

/** Notes what of data files is read: which file, and how often. */
class NotingStore extends WrappedStore {
  readonly read: string[] = []

  protected around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string): Promise<T> {
    if (/data\/.*arrow$/.test(key) && ['getRange', 'readInto', 'readRanges'].includes(call))
      this.read.push(key)
    return run()
  }
}

describe('reads', () => {
  const rows = 4000

  /** Five fragments in files: `id`, and a text that makes every one of them a file. */
  async function fiveFragments(): Promise<{ readonly store: NotingStore; readonly table: Table }> {
    const store = new NotingStore(new MemoryStore('noted'))
    const writer = await connect('noted', { store })
    for (let f = 0; f < 5; f++) {
      const some = Array.from({ length: rows }, (_, i) => ({
        id: f * rows + i,
        text: `a long text ${f} ${i}`,
      }))
      if (f === 0) await writer.createTable('t', some)
      else await (await writer.openTable('t')).add(some)
    }
    await writer.close()
    const reader = await connect('noted', { store })
    store.read.length = 0
    return { store, table: await reader.openTable('t') }
  }

  /** Reads of a file whose columns are not asked for: its footer says how many rows it has. */
  const footerReads = 1
  /** Reads of every file that was read: its footer is one, each column one more. */
  const reads = ({ read }: NotingStore) =>
    [...new Set(read)].map(key => read.filter(other => other === key).length)

  test.each([
    ['_rowid IN (1, 8001)', 2, 0],
    ['_rowid = 4000', 1, 0],
    ['_rowoffset BETWEEN 3999 AND 4000', 2, 0],
    ['_rowid IN (1, 8001) AND id > 4000', 1, 0],
    ['_rowid IN (1, 8001) AND id % 2 = 1', 2, 1],
    ["_rowid = 3 AND text LIKE 'a%' AND id = 3", 1, 2],
  ])('%s: %d files, %d columns of each', async (filter, files, columns) => {
    const { store, table } = await fiveFragments()
    await table.countRows(filter)
    const once = reads(store)
    expect(once.length).toBe(files)
    for (const count of once) expect(count - footerReads).toBe(columns)
  })

  test('only the selected columns, of the fragments with the rows', async () => {
    const { store, table } = await fiveFragments()
    expect(await table.takeRowIds([12_000, 5]).select(['id']).toArray()).toEqual([{ id: 12_000 }, { id: 5 }])
    expect(reads(store)).toEqual([footerReads + 1, footerReads + 1])
  })

  test('of a fragment with several batches, only the batches with the rows', async () => {
    const store = new NotingStore(new MemoryStore('noted'))
    const writer = await connect('noted', { store })
    const ids = Array.from({ length: 280_000 }, (_, id) => ({ id, v: [id, 1] }))
    await writer.createTable('t', ids, { vectorColumns: ['v'] })
    await writer.close()
    const readsOf = async (work: (table: Table) => Promise<unknown>) => {
      const ns = await connect('noted', { store })
      const table = await ns.openTable('t')
      store.read.length = 0
      await work(table)
      await ns.close()
      return store.read.length
    }
    expect(await readsOf(table => table.countRows('_rowid = 100 AND id % 2 = 0'))).toBe(footerReads + 1)
    const nearest = (table: Table) =>
      table.search([5, 1]).where('_rowid = 200000').select(['id']).limit(1).toArray()
    expect(await readsOf(nearest)).toBe(footerReads + 2)
  })

  test('other conditions are evaluated only for the named rows', async () => {
    const ns = await connect('memory://')
    const table = await ns.createTable(
      't',
      Array.from({ length: 5000 }, (_, i) => ({ one: 1n, x: BigInt(i % 100) })),
    )
    // Every hundredth row would be a division by zero.
    expect(await table.countRows('_rowid IN (1, 99, 4999) AND one / x = 0')).toBe(2)
    expect(await table.countRows('_rowoffset BETWEEN 101 AND 199 AND one / x >= 0')).toBe(99)
    await expect(table.countRows('_rowid IN (1, 100) AND one / x = 0')).rejects.toThrow(/division by zero/)
    await ns.close()
  })
})

test('rows added, deleted and rewritten in any way: numbers find the rows of a full scan', async () => {
  const small = fc.integer({ min: 0, max: 40 })
  const step = fc.oneof(
    { weight: 2, arbitrary: fc.record({ add: fc.integer({ min: 1, max: 12 }) }) },
    { weight: 1, arbitrary: fc.record({ drop: small }) },
    { weight: 1, arbitrary: fc.record({ rewrite: small }) },
  )
  const condition = fc.oneof(
    fc
      .tuple(fc.constantFrom('_rowid', '_rowoffset'), fc.array(small, { minLength: 1, maxLength: 8 }))
      .map(([name, list]) => `${name} IN (${list.join(', ')})`),
    fc
      .tuple(fc.constantFrom('_rowid', '_rowoffset'), fc.constantFrom('<', '<=', '=', '>=', '>', '<>'), small)
      .map(parts => parts.join(' ')),
    fc.constantFrom('x % 2 = 0', 'x > 3', 'x IS NULL', '_rowid + 1 > 5'),
  )
  const filter = fc.array(condition, { minLength: 1, maxLength: 3 }).map(all => all.join(' AND '))
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 8 }),
      filter,
      small,
      async (steps, where, place) => {
        const ns = await connect('memory://')
        const table = await ns.createTable('t', [{ x: 0 as number | null }])
        for (const each of steps) {
          if ('add' in each)
            await table.add(Array.from({ length: each.add }, (_, i) => ({ x: i % 5 === 4 ? null : i })))
          else if ('drop' in each) await table.delete('_rowid % 7 = ?', [each.drop % 7])
          else await table.update({ x: 99 }, '_rowoffset % 5 = ?', [each.rewrite % 5])
        }
        const columns = { r: '_rowid', o: '_rowoffset' }
        const all = await table
          .query()
          .select({ ...columns, pass: where })
          .toArray()
        const expected = all.filter(row => row.pass === true).map(({ r, o }) => ({ r, o }))
        const found = table.query().where(where).select(columns)
        expect(await found.toArray()).toEqual(expected)
        expect(await table.countRows(where)).toBe(expected.length)
        const batches = []
        for await (const batch of found.batches({ rows: 3 })) batches.push(...batch.toArray())
        expect(batches.map(row => Number(row.r))).toEqual(expected.map(row => row.r))
        const rest = await ns.operations.queryTable({
          id: ['t'],
          vector: null,
          k: 100,
          filter: where,
          resume_at: place,
          columns: { column_names: ['_rowid'] },
        })
        const later = expected.filter(row => (row.o as number) >= place).length
        expect(
          (rest as unknown as { batches: { length: number }[] }).batches.reduce((n, b) => n + b.length, 0),
        ).toBe(later)
        const asked = all.map(row => row.o as number).reverse()
        expect((await table.takeOffsets(asked).select(columns).toArray()).map(row => row.o)).toEqual(asked)
        await ns.close()
      },
    ),
    { numRuns: 80 },
  )
})

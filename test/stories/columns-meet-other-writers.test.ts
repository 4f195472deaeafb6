/**
 * Columns take a while to be written, and meanwhile another process commits. What was written for rows that are still the same
 * serves the newer version; nothing else may: a restore brings dead rows back, a rename lets the expression read another column.
 */
import { expect, test } from 'vitest'
import { connect, type Table } from '../../src/index.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'

const rowsInAFile = Array.from({ length: 20_000 }, (_, i) => ({ id: i, a: i, b: -i }))

/** A store that lets something else happen once, when columns have been written and are not committed yet. */
function interrupted(
  store: BlobStore,
  meanwhile: () => Promise<unknown>,
): { store: BlobStore; written: () => number } {
  let waiting: (() => Promise<unknown>) | null = meanwhile
  let written = 0
  const proxy = new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      if (name !== 'putStream') return member.bind(target)
      return async (...args: unknown[]) => {
        const result = await member.apply(target, args)
        written++
        const now = waiting
        waiting = null
        await now?.()
        return result
      }
    },
  })
  return { store: proxy, written: () => written }
}

/** Adds `c` = a + 1 while another process does something; gives the table, and how many fragments were written. */
async function addDuring(meanwhile: (table: Table) => Promise<unknown>) {
  const inner = new MemoryStore('memory://')
  const other = await connect('memory://', { store: inner })
  const theirs = await other.createTable('t', rowsInAFile)
  await theirs.delete('id % 2 = 1')
  const { store, written } = interrupted(inner, () => meanwhile(theirs))
  const ns = await connect('memory://', { store })
  const table = await ns.openTable('t')
  await table.addColumns({ c: 'a + 1' })
  return { table, written: written() }
}

test('an append: only the new rows are filled', async () => {
  const { table, written } = await addDuring(t =>
    t.add(rowsInAFile.map(row => ({ ...row, id: row.id + 50_000 }))),
  )
  expect(written).toBe(2)
  expect(await table.countRows()).toBe(30_000)
  expect(await table.countRows('c = a + 1')).toBe(30_000)
})

test('deletes: nothing is repeated', async () => {
  const { table, written } = await addDuring(t => t.delete('id % 3 = 0'))
  expect(written).toBe(1)
  expect(await table.countRows('c = a + 1')).toBe(await table.countRows())
})

test.each<[string, (table: Table) => Promise<unknown>, string]>([
  ['a restore that brings dead rows back', t => t.restore(1), 'c = a + 1'],
  [
    'columns that swap their names',
    t => t.alterColumns({ a: { rename: 'b' }, b: { rename: 'a' } }),
    'c = a + 1',
  ],
  ['another type', t => t.alterColumns({ a: { type: 'int64' } }), "c = a + 1 AND arrow_typeof(c) = 'Int64'"],
  ['an update', t => t.update({ a: 7 }, 'id < 100'), 'c = a + 1'],
  ['new rows in place of all', t => t.add(rowsInAFile, { mode: 'overwrite' }), 'c = a + 1'],
])('%s: it holds for the rows as they are then', async (_, meanwhile, condition) => {
  const { table } = await addDuring(meanwhile)
  expect(await table.countRows()).toBeGreaterThan(9_000)
  expect(await table.countRows(condition)).toBe(await table.countRows())
})

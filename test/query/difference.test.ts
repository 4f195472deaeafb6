/** What two versions share is not opened. */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import type { Fragment, InlineFile, Layout } from '../../src/manifest/layout.js'
import { Difference } from '../../src/query/difference.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { TableReader } from '../../src/table/table-reader.js'
import type { TableSource } from '../../src/table/table-source.js'
import { longestGap } from '../commit/longest-gap.js'
import { WrappedStore } from '../support/stores.js'

/** Notes what of a table is read. */
class NotingStore extends WrappedStore {
  readonly read = new Set<string>()

  protected around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string): Promise<T> {
    if (key.startsWith('tables/') && (call === 'getRange' || call === 'readInto' || call === 'get'))
      this.read.add(key)
    return run()
  }
}

test('a difference reads only the files that differ', async () => {
  const store = new NotingStore(new MemoryStore('noted'))
  const writer = await connect('noted', { store })
  const rows = (f: number) =>
    Array.from({ length: 4000 }, (_, i) => ({ id: f * 4000 + i, text: `a long text ${f} ${i}` }))
  const table = await writer.createTable('t', rows(0))
  for (let f = 1; f < 6; f++) await table.add(rows(f))
  await table.update({ text: 'short' }, 'id IN (4001, 8002)')
  await table.delete('id = 12003')
  await writer.close()
  const reads = async (from: number, to: number) => {
    const ns = await connect('noted', { store })
    const diff = (await ns.openTable('t')).diff(from, to)
    store.read.clear()
    const counts = [await diff.added.count(), await diff.removed.count(), await diff.changed.count()]
    await diff.added.toArray()
    await ns.close()
    return [counts, [...store.read].filter(key => key.includes('/data/')).length]
  }
  expect(await reads(5, 6)).toEqual([[4000, 0, 0], 1])
  expect(await reads(6, 6)).toEqual([[0, 0, 0], 0])
  // Rows that were deleted are counted by their places; of those rewritten both sides are compared, the later one inline.
  expect(await reads(7, 8)).toEqual([[0, 1, 0], 1])
  expect(await reads(6, 7)).toEqual([[0, 0, 2], 2])
})

// ---- the places of rows, without a table

const field = (id: number) => ({ id, name: `c${id}`, type: { kind: 'bool' } as const, nullable: true })
const file = (blob: number, fields: number[]): InlineFile => ({ slot: 1, blob, bytes: 1, schema: 1, fields })
const fragment = (files: InlineFile[], ...dead: number[]): Fragment => ({
  id: 1,
  rows: 10,
  ids: { row0: 0 },
  files,
  dead: { parts: dead.map(slot => ({ slot, blob: 0 })), count: dead.length },
})
const reader = (only: Fragment, ...fields: number[]) => {
  const layout: Layout = {
    table: 't',
    version: 1,
    schema: { id: 1, fields: fields.map(field) },
    earlier: [],
    indexes: [],
    fragments: [only],
    next: { row: 10, frag: 2, field: 9 },
  }
  return new TableReader({} as TableSource, 'tables/t', layout)
}

const plain = fragment([file(0, [1, 2])])
test.each<[string, boolean, TableReader, TableReader]>([
  ['the same record', false, reader({ ...plain }, 1, 2), reader(plain, 1, 2)],
  ['rows that died since', false, reader(fragment([file(0, [1, 2])], 5), 1, 2), reader(plain, 1, 2)],
  ['rows that are dead there', true, reader(plain, 1, 2), reader(fragment([file(0, [1, 2])], 5), 1, 2)],
  [
    'other dead rows, as many',
    true,
    reader(fragment([file(0, [1, 2])], 5), 1, 2),
    reader(fragment([file(0, [1, 2])], 6), 1, 2),
  ],
  [
    'a column that only one has',
    false,
    reader(fragment([file(0, [1, 2]), file(1, [3])]), 1, 2, 3),
    reader(plain, 1, 2),
  ],
  ['a column that was dropped', false, reader(plain, 1), reader(plain, 1, 2)],
  [
    'a column written anew',
    true,
    reader(fragment([file(0, [1, 2]), file(1, [2])]), 1, 2),
    reader(plain, 1, 2),
  ],
])('%s: rows to look at, %s', (_, expected, ours, theirs) => {
  expect(Difference.between(ours, theirs).mayHold(ours.layout.fragments[0]!)).toBe(expected)
})

test('a large difference is computed without holding the event loop', async () => {
  const ns = await connect('memory://')
  const count = 200_000
  const table = await ns.createTable(
    't',
    Array.from({ length: count }, (_, i) => ({ id: i, x: i % 7 })),
  )
  await table.update({ x: 8 }, 'id % 2 = 0')
  await table.delete('id % 5 = 0')
  const gap = longestGap()
  const diff = table.diff(1, 3)
  expect(await diff.removed.count()).toBe(count / 5)
  expect(await diff.changed.count()).toBe((count / 5) * 2)
  // As the other tests of this kind: what is promised is far less, on a machine that does nothing else.
  expect(gap()).toBeLessThan(120)
  await ns.close()
})

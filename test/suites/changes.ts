/** Versions as data, through every door: what differs between two, changes as they come, and looking at one alone. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { concatChunks } from '../../src/arrow/encode-ipc.js'
import { batchToRows } from '../../src/arrow/values.js'
import type { Namespace, Row, Table, TableChange } from '../../src/index.js'
import { failure } from '../support/failure.js'
import type { Door, OpenedRoot } from '../support/transports.js'

const rows: readonly Row[] = [
  { id: 1n, name: 'one', tags: ['a'], v: [1, 0] },
  { id: 2n, name: 'two', tags: null, v: [0, 1] },
  { id: 3n, name: null, tags: [], v: null },
]

const batchesOf = (chunks: readonly Uint8Array[]) => decodeIpc(concatChunks(chunks)).batches

export function changesSuite({ name, open }: Door): void {
  describe(`versions as data, ${name}`, () => {
    let root: OpenedRoot
    let ns: Namespace
    let table: Table

    beforeEach(async () => {
      root = await open()
      ns = root.ns
      table = await ns.createTable('t', rows, { vectorColumns: ['v'] })
    })
    afterEach(() => root.close())

    const ids = (found: readonly Record<string, unknown>[]) => found.map(row => row.id)

    /** Version 2 adds 4 and 5, 3 rewrites 2, 4 deletes 1 and 5. */
    const fourVersions = async () => {
      await table.add([
        { id: 4n, name: 'four', tags: ['x', 'y'], v: [1, 1] },
        { id: 5n, name: 'five', tags: [], v: null },
      ])
      await table.update({ name: 'zwei' }, 'id = 2')
      await table.delete('id IN (1, 5)')
    }

    describe('a diff', () => {
      test('returns rows added, removed and changed, with their ids', async () => {
        await fourVersions()
        const diff = table.diff(1, 4)
        expect(await diff.added.toArray()).toEqual([
          { id: 4, name: 'four', tags: ['x', 'y'], v: Float32Array.of(1, 1), _rowid: 3 },
        ])
        expect(await diff.removed.toArray()).toEqual([
          { id: 1, name: 'one', tags: ['a'], v: Float32Array.of(1, 0), _rowid: 0 },
        ])
        const both = { id: 2, tags: null, v: Float32Array.of(0, 1), _rowid: 1 }
        expect(await diff.changed.toArray()).toEqual([
          { before: { ...both, name: 'two' }, after: { ...both, name: 'zwei' } },
        ])
        const parts = [diff.added, diff.removed, diff.changed]
        expect(await Promise.all(parts.map(part => part.count()))).toEqual([1, 1, 1])
      })

      test('is inverse when reversed, and empty between a version and itself', async () => {
        await fourVersions()
        const back = table.diff(4, 1)
        expect(ids(await back.added.toArray())).toEqual([1])
        expect(ids(await back.removed.toArray())).toEqual([4])
        expect(await back.changed.toArray()).toMatchObject([
          { before: { name: 'zwei' }, after: { name: 'two' } },
        ])
        const same = table.diff(3, 3)
        expect([await same.added.count(), await same.removed.toArray(), await same.changed.count()]).toEqual([
          0,
          [],
          0,
        ])
      })

      test('does not have a row rewritten with equal values, nor one added and removed', async () => {
        await table.update({ name: 'one' }, 'id = 1')
        await table.update({ tags: [] }, 'id = 3')
        await table.add([{ id: 9n, name: 'nine', tags: null, v: null }])
        await table.delete('id = 9')
        const diff = table.diff(1, 5)
        expect([await diff.added.count(), await diff.removed.count(), await diff.changed.count()]).toEqual([
          0, 0, 0,
        ])
        expect(await table.diff(4, 5).removed.toArray()).toMatchObject([{ id: 9 }])
      })

      test('across a restore has rows that come back under their old ids', async () => {
        await fourVersions()
        await table.restore(1)
        const diff = table.diff(4, 5)
        expect(await diff.added.toArray()).toMatchObject([{ id: 1, _rowid: 0 }])
        expect(ids(await diff.removed.toArray())).toEqual([4])
        expect(await diff.changed.count()).toBe(1)
        const none = table.diff(1, 5)
        expect([await none.added.count(), await none.removed.count(), await none.changed.count()]).toEqual([
          0, 0, 0,
        ])
      })

      test('across an overwrite with other columns removes all rows, adds others, and says which columns', async () => {
        await ns.createTable('t', [{ id: 1, price: 2.5 }], { mode: 'overwrite' })
        const diff = (await ns.openTable('t')).diff(1, 2)
        expect(await diff.added.toArray()).toEqual([{ id: 1, price: 2.5, _rowid: 3 }])
        expect(await diff.removed.count()).toBe(3)
        expect(await diff.changed.count()).toBe(0)
        const { added, removed } = await diff.schema()
        expect(added).toContain('price')
        expect(removed).toContain('tags')
      })

      test('without a second version reads to the newest version, or to the version of the handle', async () => {
        const diff = table.diff(1)
        await fourVersions()
        expect(ids(await diff.removed.toArray())).toEqual([1])
        await table.delete('id = 2')
        expect(ids(await diff.removed.toArray())).toEqual([1])
        expect(ids(await table.diff(1).removed.toArray())).toEqual([1, 2])
        const second = await table.checkout(2)
        expect(ids(await second.diff(1).added.toArray())).toEqual([4, 5])
      })

      test('by tags uses the versions they name at its first read', async () => {
        await fourVersions()
        await table.tags.create('begin', 1)
        await table.tags.create('end', 2)
        const diff = table.diff('begin', 'end')
        expect(await diff.added.count()).toBe(2)
        await table.tags.update('end', 4)
        expect(await diff.added.count()).toBe(2)
        expect(await table.diff('begin', 'end').added.count()).toBe(1)
      })

      test('in batches of apache-arrow has rows before next to rows after', async () => {
        await table.add(
          Array.from({ length: 5000 }, (_, i) => ({
            id: BigInt(10 + i),
            name: `n${i}`,
            tags: null,
            v: null,
          })),
        )
        await table.update({ name: 'again' }, 'id >= 3')
        const sizes: number[] = []
        for await (const batch of table.diff(1, 3).added.batches({ rows: 2000 })) sizes.push(batch.numRows)
        expect(Math.max(...sizes)).toBeLessThanOrEqual(2000)
        expect(sizes.reduce((a, b) => a + b)).toBe(5000)
        let changed = 0
        for await (const { before, after } of table.diff(2, 3).changed.batches()) {
          expect(before.numRows).toBe(after.numRows)
          expect(before.getChild('_rowid')!.toArray()).toEqual(after.getChild('_rowid')!.toArray())
          expect(after.getChild('name')!.get(0)).toBe('again')
          changed += after.numRows
        }
        expect(changed).toBe(5001)
      })

      test('with a missing or invalid version is refused when it is read', async () => {
        expect(await failure(table.diff(1, 9).added.count())).toMatchObject({ code: 11 })
        expect(await failure(table.diff('nope', 1).removed.toArray())).toMatchObject({ code: 8 })
        expect(() => table.diff(-1, 1)).toThrow(expect.objectContaining({ code: 13 }))
        expect(() => table.diff(1, undefined as never)).toThrow(expect.objectContaining({ code: 13 }))
        await table.delete('id = 1')
        const wrong = table.diff(1, 2).removed.batches({ rows: 0 })
        expect(await failure(wrong.next())).toMatchObject({ code: 13 })
        const gone = AbortSignal.abort(new Error('enough'))
        expect(await failure(table.diff(1, 2).removed.toArray({ signal: gone }))).toMatchObject({
          message: /enough|abort/,
        })
      })
    })

    describe('a query with differs_from', () => {
      const query = async (more: object) => {
        const columns = { column_names: ['id'] }
        const { chunks } = await ns.operations.queryTable({
          id: ['t'],
          vector: null,
          k: 100,
          columns,
          ...more,
        })
        return ids(batchesOf(chunks).flatMap(batch => batchToRows(batch)))
      }

      test('returns rows with another position in the other version, whatever else is selected', async () => {
        await fourVersions()
        expect(await query({ differs_from: 1 })).toEqual([4, 2])
        expect(await query({ differs_from: 1, version: 2 })).toEqual([4, 5])
        expect(await query({ differs_from: 4, version: 1 })).toEqual([1, 2])
        expect(await query({ differs_from: 1, filter: 'id > 2' })).toEqual([4])
        expect(await query({ differs_from: 1, offset: 1, k: 1 })).toEqual([2])
        expect(await query({ differs_from: 1, filter: '_rowid IN (1, 2)' })).toEqual([2])
        const nearest = { differs_from: 1, vector: { single_vector: [1, 0] }, vector_column: 'v' }
        expect(await query({ ...nearest, k: 1 })).toEqual([4])
        expect(await query({ differs_from: 3, version: 2, order_by: [{ column_name: 'id' }] })).toEqual([2])
        expect(await query({ differs_from: 4 })).toEqual([])
      })

      test('for a missing version is refused', async () => {
        expect(await failure(query({ differs_from: 7 }))).toMatchObject({ code: 11 })
      })

      test('explains what is left out, and how many fragments are opened', async () => {
        await fourVersions()
        const plan = await ns.operations.explainTableQueryPlan({
          id: ['t'],
          query: { vector: null, k: 5, version: 4, differs_from: 3, filter: '_rowid IN (0, 3)' },
        })
        expect(plan).toContain('t version 4 without the rows unchanged since version 3, 0 of ')
        const back = await ns.operations.explainTableQueryPlan({
          id: ['t'],
          query: { vector: null, k: 5, version: 3, differs_from: 4 },
        })
        expect(back).toMatch(/2 of \d fragments may hold matching rows/)
      })
    })

    describe('changes', () => {
      const follow = (since: number, signal?: AbortSignal) =>
        table.changes({ since, pollMs: 10, ...(signal && { signal }) })
      const told = ({ version, previous, operation }: TableChange) => [version, previous, operation]
      const next = async (feed: AsyncIterator<TableChange>) => (await feed.next()).value as TableChange

      test('return every later version in order, each with its diff', async () => {
        await fourVersions()
        const feed = follow(1)
        const added = await next(feed)
        expect(told(added)).toEqual([2, 1, 'append'])
        expect(ids(await added.added.toArray())).toEqual([4, 5])
        const updated = await next(feed)
        expect(told(updated)).toEqual([3, 2, 'update'])
        expect(await updated.changed.toArray()).toMatchObject([
          { before: { name: 'two' }, after: { name: 'zwei' } },
        ])
        expect(await updated.added.count()).toBe(0)
        const deleted = await next(feed)
        expect(told(deleted)).toEqual([4, 3, 'delete'])
        expect(ids(await deleted.removed.toArray())).toEqual([1, 5])
        const { versions } = await ns.operations.listTableVersions({ id: ['t'] })
        const times = [added, updated, deleted].map(change => change.timestamp.getTime())
        expect(times).toEqual(versions.slice(1).map(record => record.timestamp_millis))
        await feed.return()
      })

      test('since 0 are all versions, also after the first were deleted', async () => {
        await fourVersions()
        const feed = follow(0)
        const created = await next(feed)
        expect(told(created)).toEqual([1, 0, 'create'])
        expect(ids(await created.added.toArray())).toEqual([1, 2, 3])
        expect(await created.added.count()).toBe(3)
        expect([await created.removed.count(), await created.changed.toArray()]).toEqual([0, []])
        expect((await created.schema()).added).toEqual((await table.schema()).fields.map(({ name }) => name))
        expect(told(await next(feed))).toEqual([2, 1, 'append'])
        await feed.return()
        await ns.operations.batchDeleteTableVersions({
          id: ['t'],
          ranges: [{ start_version: 1, end_version: 3 }],
        })
        const later = follow(0)
        const first = await next(later)
        expect(told(first)).toEqual([3, 0, 'update'])
        expect(await first.added.count()).toBe(5)
        await later.return()
        expect(await table.diff(3, 0).removed.count()).toBe(5)
      })

      test('then wait for the next one, by any writer, until the signal', async () => {
        const ending = new AbortController()
        const feed = follow(1, ending.signal)
        const elsewhere = await (await root.another()).openTable('t')
        for (const writer of [table, elsewhere]) {
          const waiting = next(feed)
          await writer.add([{ id: 7n, name: 'seven', tags: null, v: null }])
          const change = await waiting
          expect(change.operation).toBe('append')
          expect(await change.added.count()).toBe(1)
        }
        const ended = failure(feed.next())
        ending.abort(new Error('enough'))
        expect(await ended).toMatchObject({ message: 'enough' })
        expect(await feed.next()).toEqual({ done: true, value: undefined })
      })

      test('skip a deleted version, whose diff comes with the next', async () => {
        await fourVersions()
        await table.add([{ id: 8n, name: 'eight', tags: null, v: null }])
        const range = (first: number, last: number) =>
          ns.operations.batchDeleteTableVersions({
            id: ['t'],
            ranges: [{ start_version: first, end_version: last + 1 }],
          })
        await range(2, 2)
        const feed = follow(1)
        const first = await next(feed)
        expect(told(first)).toEqual([3, 1, 'update'])
        expect([await first.added.count(), await first.changed.count()]).toEqual([2, 1])
        // After the list was read, before its turn came.
        await range(4, 4)
        const second = await next(feed)
        expect(told(second)).toEqual([5, 3, 'append'])
        expect([await second.added.count(), await second.removed.count()]).toEqual([1, 2])
        await feed.return()
        await range(1, 1)
        expect(await failure(follow(1).next())).toMatchObject({
          code: 11,
          hint: expect.stringContaining('version 3'),
        })
        expect(await failure(follow(4).next())).toMatchObject({
          code: 11,
          hint: expect.stringContaining('version 5'),
        })
        expect(await failure(follow(99).next())).toMatchObject({
          code: 11,
          hint: expect.stringContaining('version 5'),
        })
      })

      test('continue under another name, and end when the table is dropped', async () => {
        const feed = follow(1)
        const waiting = next(feed)
        await ns.renameTable('t', 'renamed')
        await table.delete('id = 3')
        expect(ids(await (await waiting).removed.toArray())).toEqual([3])
        // It may end before the reply to the drop is there.
        const ended = failure(next(feed))
        await ns.createTable('t', [{ other: 1 }])
        await ns.dropTable('renamed')
        expect(await ended).toMatchObject({ code: 4 })
        await ns.dropTable('t')
      })

      test.each([
        ['no version', { since: 'first' }],
        ['a negative version', { since: -1 }],
        ['no time between two looks', { since: 1, pollMs: 0 }],
      ])('%s is refused', async (_, options) => {
        expect(await failure(table.changes(options as never).next())).toMatchObject({ code: 13 })
      })
    })

    describe('a checked-out version', () => {
      /** What a handle at a version does; all others would write, or wait for what cannot come. */
      const reading = new Set([
        'constructor',
        'query',
        'prepare',
        'get',
        'search',
        'scan',
        'slice',
        'takeRowIds',
        'takeOffsets',
        'countRows',
        'version',
        'versions',
      ])
      for (const each of ['diff', 'schema', 'checkout', 'listIndices', 'indexStats', 'tokenize'])
        reading.add(each)

      test('has the rows, counts, columns and number of the version', async () => {
        await fourVersions()
        const first = await table.checkout(1)
        expect(ids(await first.query().toArray())).toEqual([1, 2, 3])
        expect([
          await first.countRows(),
          await first.countRows("name = 'two'"),
          await first.version(),
        ]).toEqual([3, 1, 1])
        await table.tags.create('begin', 1)
        await ns.createTable('t', [{ other: true }], { mode: 'overwrite' })
        const tagged = await (await ns.openTable('t')).checkout('begin')
        expect((await tagged.schema()).fields.map(field => field.name)).toEqual(['id', 'name', 'tags', 'v'])
        expect(await tagged.version()).toBe(1)
      })

      test('refuses every write, and says how to write', async () => {
        const first = (await table.checkout(1)) as unknown as Record<string, (...args: unknown[]) => unknown>
        const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(first)).filter(
          method => !reading.has(method),
        )
        expect(methods).toContain('mergeInsert')
        for (const method of methods) {
          const given = [[{ id: 1n }], 'id = 1'].slice(0, Math.max(1, first[method]!.length))
          const refused = await failure((async () => first[method]!(...given))())
          expect(refused, method).toMatchObject({
            code: 13,
            hint: 'open the newest version to change the table: openTable(name)',
          })
        }
        expect(await table.version()).toBe(1)
      })
    })
  })
}

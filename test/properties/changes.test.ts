/** Whoever applies the changes of a table, as they come, to a copy of it has the table. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Namespace, type Table, type TableChange } from '../../src/index.js'

type Copy = Map<number, Record<string, unknown>>

async function copyOf(table: Table): Promise<Copy> {
  const rows = await table.search().withRowId().toArray()
  return new Map(rows.map(row => [row._rowid as number, row]))
}

/** Strict: a row that is added was not there, one that is removed or changed was there as it is told. */
async function apply(copy: Copy, change: TableChange): Promise<void> {
  for (const row of await change.removed.toArray()) {
    expect(copy.get(row._rowid as number)).toEqual(row)
    copy.delete(row._rowid as number)
  }
  for (const { before, after } of await change.changed.toArray()) {
    expect(copy.get(before._rowid as number)).toEqual(before)
    expect(after).not.toEqual(before)
    copy.set(after._rowid as number, after)
  }
  for (const row of await change.added.toArray()) {
    expect(copy.has(row._rowid as number)).toBe(false)
    copy.set(row._rowid as number, row)
  }
}

const small = fc.integer({ min: 0, max: 9 })
const value = fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 3 }))
const rows = fc.array(fc.record({ k: small, x: value }), { minLength: 1, maxLength: 6 })
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ add: rows, long: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ update: value, where: small }) },
  { weight: 2, arbitrary: fc.record({ delete: small }) },
  { weight: 2, arbitrary: fc.record({ merge: rows }) },
  { weight: 1, arbitrary: fc.record({ overwrite: rows }) },
  { weight: 2, arbitrary: fc.record({ restore: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ expire: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ read: small }) },
)

test('under any appends, updates, deletes, merges, restores, overwrites and deletions of versions', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 16 }), async steps => {
      const ns = await connect('memory://')
      const table = await ns.createTable('t', [
        { k: 0, x: 1, text: null as string | null },
        { k: 1, x: null, text: 'b' },
      ])
      const copy = await copyOf(table)
      const feed = table.changes({ since: 1 })
      let read = 1
      const readNext = async () => {
        const later = (await liveVersions(ns)).filter(version => version > read)
        if (later.length === 0) return false
        const change = (await feed.next()).value as TableChange
        expect([change.previous, change.version]).toEqual([read, later[0]])
        await apply(copy, change)
        expect(copy).toEqual(await copyOf(await table.checkout(change.version)))
        read = change.version
        return true
      }
      for (const each of steps) {
        const live = await liveVersions(ns)
        if ('add' in each) await table.add(withText(each.add, each.long))
        else if ('update' in each) await table.update({ x: each.update }, 'k = ?', [each.where])
        else if ('delete' in each) await table.delete('k = ?', [each.delete])
        else if ('merge' in each) {
          const source = [...new Map(each.merge.map(row => [row.k, row])).values()]
          // A key may be there several times, which a merge refuses for rows of the source only.
          await table.mergeInsert('k').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(source)
        } else if ('overwrite' in each)
          await table.add(withText(each.overwrite, false), { mode: 'overwrite' })
        else if ('restore' in each) await table.restore(live[each.restore % live.length]!)
        else if ('expire' in each) {
          const version = live[each.expire % live.length]!
          const isNeeded = version === live.at(-1) || version === read
          if (!isNeeded) await expire(ns, version)
        } else for (let i = 0; i < each.read && (await readNext()); i++);
      }
      while (await readNext());
      expect(copy).toEqual(await copyOf(table))
      await feed.return()
      await ns.close()
    }),
    { numRuns: 60 },
  )
})

function withText(some: readonly { readonly k: number; readonly x: number | null }[], isLong: boolean) {
  return some.map(row => ({ ...row, text: isLong ? 'long '.repeat(5000) : null }))
}

async function liveVersions(ns: Namespace): Promise<number[]> {
  const { versions } = await ns.operations.listTableVersions({ id: ['t'] })
  return versions.map(({ version }) => version)
}

async function expire(ns: Namespace, version: number): Promise<void> {
  await ns.operations.batchDeleteTableVersions({
    id: ['t'],
    ranges: [{ start_version: version, end_version: version + 1 }],
  })
}

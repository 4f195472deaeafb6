/** Whoever applies the changes of a table, as they come, to a copy of it has the table. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Table, type TableChange } from '../../src/index.js'
import { changeRows, expireVersion, liveVersions, rowSteps, small } from '../support/row-steps.js'

type Copy = Map<number, Record<string, unknown>>

async function copyOf(table: Table): Promise<Copy> {
  const rows = await table.query().withRowId().toArray()
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

const step = fc.oneof(
  ...rowSteps,
  { weight: 1, arbitrary: fc.record({ expire: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ read: small }) },
)

test('a change feed keeps a copy up to date under any appends, updates, deletes, merges, restores, overwrites and deletions of versions', async () => {
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
        const later = (await liveVersions(table)).filter(version => version > read)
        if (later.length === 0) return false
        const change = (await feed.next()).value as TableChange
        expect([change.previous, change.version]).toEqual([read, later[0]])
        await apply(copy, change)
        expect(copy).toEqual(await copyOf(await table.checkout(change.version)))
        read = change.version
        return true
      }
      for (const each of steps) {
        if ('expire' in each) {
          const live = await liveVersions(table)
          const version = live[each.expire % live.length]!
          const isNeeded = version === live.at(-1) || version === read
          if (!isNeeded) await expireVersion(ns, table, version)
        } else if ('read' in each) for (let i = 0; i < each.read && (await readNext()); i++);
        else await changeRows(table, each)
      }
      while (await readNext());
      expect(copy).toEqual(await copyOf(table))
      await feed.return()
      await ns.close()
    }),
    { numRuns: 60 },
  )
})

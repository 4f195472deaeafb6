/** Several operations as one commit, however the namespace is reached. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sql as directSql, type Namespace } from '../../src/index.js'
import type { SqlTag } from '../../src/sql/syntax/tag.js'
import { failure } from '../support/failure.js'
import type { Door, OpenedRoot } from '../support/transports.js'

export function transactionsSuite({ name, isLocal, open }: Door): void {
  test.skipIf(isLocal)(`${name} transactions are not available`, async () => {
    const { ns, close } = await open()
    expect(await failure(ns.transaction(async () => {}))).toMatchObject({ code: 0, status: 406 })
    await close()
  })

  describe.runIf(isLocal)(`${name}: a transaction`, () => {
    let opened: OpenedRoot
    let ns: Namespace
    let other: Namespace
    let sql: SqlTag
    beforeEach(async () => {
      opened = await open()
      ;({ ns, sql } = opened)
      other = await opened.another()
      await ns.createTable('a', [
        { id: 1, n: 100 },
        { id: 2, n: 0 },
      ])
      await ns.createTable('b', [{ id: 1, n: 0 }])
    })
    afterEach(() => opened.close())

    const rowsOf = async (of: Namespace, name: string) => {
      const rows = await of.table(name).query().orderBy('id').toArray()
      return rows.map(({ id, n }) => [id, n])
    }

    test('changes several tables in one slot, and sees its own writes', async () => {
      const before = await slotOf(ns)
      const result = await ns.transaction(async tx => {
        await tx.table('a').update({ n: sql`n - 30` }, 'id = 1')
        await tx.table('b').update({ n: sql`n + 30` }, 'id = 1')
        await tx.table('b').add([{ id: 2, n: 7 }])
        await tx.table('a').delete('id = 2')
        await tx
          .table('b')
          .mergeInsert('id')
          .whenMatchedUpdateAll()
          .whenNotMatchedInsertAll()
          .execute([
            { id: 2, n: 8 },
            { id: 3, n: 9 },
          ])
        await tx.createTable('c', [{ id: 1, n: 1 }])
        await tx.renameTable('c', 'd')
        await tx.table('a').tags.create('paid', await tx.table('a').version())
        expect(await rowsOf(other, 'a')).toEqual([
          [1, 100],
          [2, 0],
        ])
        expect(await other.tableNames()).toEqual(['a', 'b'])
        return [await rowsOf(tx, 'a'), await rowsOf(tx, 'b'), await rowsOf(tx, 'd')]
      })
      const after = [
        [[1, 70]],
        [
          [1, 30],
          [2, 8],
          [3, 9],
        ],
        [[1, 1]],
      ]
      expect(result).toEqual(after)
      for (const each of [ns, other]) {
        expect([await rowsOf(each, 'a'), await rowsOf(each, 'b'), await rowsOf(each, 'd')]).toEqual(after)
      }
      expect(await slotOf(ns)).toBe(before + 1)
    })

    test('changes columns and rows together', async () => {
      await ns.transaction(async tx => {
        const a = tx.table('a')
        await a.addColumns({ half: 'n / 2' })
        await a.alterColumns({ half: { rename: 'part' } })
        await a.update({ part: sql`part + 1` }, 'id = 1')
        await a.dropColumns(['n'])
        await a.add([{ id: 3, part: 3 }])
        await tx.table('b').updateSchemaMetadata({ beside: 'a' })
      })
      const a = await other.openTable('a')
      expect((await a.schema()).fields.map(({ name }) => name)).toEqual(['id', 'part'])
      const rows = await a.query().orderBy('id').toArray()
      expect(rows.map(({ id, part }) => [id, part])).toEqual([
        [1, 51],
        [2, 0],
        [3, 3],
      ])
      expect(await (await a.checkout(1)).countRows('n = 100')).toBe(1)
      const { metadata } = await other.operations.describeTable({ id: ['b'] })
      expect(metadata).toEqual({ beside: 'a' })
      await a.add([{ id: 4, part: 4 }])
      expect(await (await ns.openTable('a')).countRows('part > 2')).toBe(3)
    })

    test('gives each table one version, which its tags name', async () => {
      await ns.transaction(async tx => {
        const a = tx.table('a')
        for (let i = 0; i < 5; i++) await a.update({ n: sql`n + 1` })
        await a.tags.create('end', await a.version())
      })
      const a = await ns.openTable('a')
      const versions = (await a.versions()).map(({ version }) => version)
      expect(versions).toHaveLength(2)
      expect(await a.tags.version('end')).toBe(versions[1])
      const nothing = { id: ['a'], predicate: 'false', updates: [['n', '0']] } as const
      const { transaction_id } = await ns.operations.updateTable(nothing)
      const { properties } = await ns.operations.describeTransaction({ id: [transaction_id!] })
      expect(properties).toMatchObject({ version: String(versions[1]), read_version: '1' })
      expect(await rowsOf(ns, 'a')).toEqual([
        [1, 105],
        [2, 5],
      ])
      expect(await (await a.checkout(1)).countRows('n = 100')).toBe(1)
      await a.add([{ id: 3, n: 3 }])
      const again = await opened.another()
      expect(await rowsOf(again, 'a')).toEqual([
        [1, 105],
        [2, 5],
        [3, 3],
      ])
    })

    test('a version it tagged in between stays', async () => {
      await ns.transaction(async tx => {
        const a = tx.table('a')
        await a.update({ n: 1 })
        await a.tags.create('half', await a.version())
        await a.update({ n: 2 })
      })
      const half = await (await ns.openTable('a')).checkout('half')
      expect(await half.countRows('n = 1')).toBe(2)
    })

    test('has no effect if its callback throws, and returns that error', async () => {
      const reason = new Error('no money')
      const failed = ns.transaction(async tx => {
        await tx.table('a').update({ n: 0 })
        await tx.dropTable('b')
        throw reason
      })
      await expect(failed).rejects.toBe(reason)
      expect(await rowsOf(ns, 'a')).toEqual([
        [1, 100],
        [2, 0],
      ])
      expect(await ns.tableNames()).toEqual(['a', 'b'])
    })

    test('runs again if others changed what it read, and not for other changes', async () => {
      let runs = 0
      const total = await ns.transaction(async tx => {
        const [[, n]] = (await rowsOf(tx, 'a')) as [[number, number]]
        if (runs++ === 0) await other.table('a').update({ n: 1000 }, 'id = 1')
        await other.table('a').countRows()
        await tx.table('b').update({ n })
        return n
      })
      expect([runs, total]).toEqual([2, 1000])
      expect(await rowsOf(ns, 'b')).toEqual([[1, 1000]])
      runs = 0
      await ns.transaction(async tx => {
        runs++
        await tx.table('a').update({ n: 5 }, 'id = 2')
        await other.table('b').update({ n: runs })
        await other.createTable('elsewhere', [{ id: runs }])
      })
      expect(runs).toBe(1)
    })

    test('runs again if a free name that it used is taken meanwhile', async () => {
      let runs = 0
      const made = ns.transaction(async tx => {
        const names = await tx.tableNames()
        if (runs++ === 0) await other.createTable('new', [{ id: 1, n: 1 }])
        if (!names.includes('new')) await tx.createTable('new', [{ id: 2, n: 2 }])
        return names.includes('new')
      })
      expect(await made).toBe(true)
      expect(await rowsOf(ns, 'new')).toEqual([[1, 1]])
    })

    test('concurrent transfers between tables lose no money', async () => {
      const move = (from: Namespace, amount: number) =>
        from.transaction(async tx => {
          const tag = from === other ? directSql : sql
          await tx.table('a').update({ n: tag`n - ${amount}` }, 'id = 1')
          await tx.table('b').update({ n: tag`n + ${amount}` }, 'id = 1')
        })
      await Promise.all([1, 2, 3, 4, 5, 6].map(amount => move(amount % 2 === 0 ? ns : other, amount)))
      await ns.operations.describeTable({ id: ['a'] })
      expect([await rowsOf(ns, 'a'), await rowsOf(ns, 'b')]).toEqual([
        [
          [1, 79],
          [2, 0],
        ],
        [[1, 21]],
      ])
    })

    test('calls that cannot be undone, and calls after its end, are refused', async () => {
      let late: Namespace | undefined
      await ns.transaction(async tx => {
        late = tx
        const error = await failure(
          tx.operations.batchCommitTables({ operations: [{ declare_table: { id: ['x'] } }] }),
        )
        expect(error).toMatchObject({ code: 0 })
        const keyed = tx.table('a').delete('id = 1', undefined, { idempotencyKey: 'k' })
        expect(await failure(keyed)).toMatchObject({ code: 13 })
      })
      expect(await failure(late!.table('a').countRows())).toMatchObject({ code: 13 })
      expect(await rowsOf(ns, 'a')).toEqual([
        [1, 100],
        [2, 0],
      ])
    })

    test('a write that it does not await is part of it, or refuses the whole transaction', async () => {
      let left: Promise<unknown> = Promise.resolve()
      const work = async (tx: Namespace) => {
        await tx.table('a').delete('true')
        left = tx
          .table('b')
          .update({ n: 7 })
          .catch(() => {})
      }
      const error = await ns.transaction(work).then(
        () => null,
        error => error,
      )
      await left
      const found = [await ns.table('a').countRows(), await rowsOf(ns, 'b')]
      if (error === null) expect(found).toEqual([0, [[1, 7]]])
      else {
        expect(error).toMatchObject({ code: 13, hint: expect.stringContaining('await') })
        expect(found).toEqual([2, [[1, 0]]])
      }
    })

    test('a single write that is not awaited is never lost in silence', async () => {
      let left: Promise<unknown> = Promise.resolve()
      const error = await ns
        .transaction(async tx => {
          left = tx
            .table('a')
            .add([{ id: 9n, n: 9n }])
            .catch(() => {})
        })
        .catch(error => error)
      await left
      if (error !== undefined) {
        expect(error).toMatchObject({ code: 13, hint: expect.stringContaining('await') })
      }
      expect(await ns.table('a').countRows()).toBe(error === undefined ? 3 : 2)
    })

    test('calls on the outer namespace, and its handles, are refused inside it', async () => {
      const refused = { code: 13, hint: expect.stringContaining('tx.table') }
      const table = await ns.openTable('a')
      let left: Promise<number> | undefined
      let go = () => {}
      await ns.transaction(async tx => {
        const calls = [
          table.update({ n: 0 }),
          table.countRows(),
          ns.openTable('a'),
          ns.createTable('c', [{ id: 1, n: 1 }]),
          ns.operations.dropTable({ id: ['b'] }),
          ns.transaction(async () => {}),
          Promise.resolve().then(() => ns.table('a').delete('true')),
        ]
        for (const error of await Promise.all(calls.map(failure))) expect(error).toMatchObject(refused)
        // What it leaves behind is outside once it is over.
        const over = new Promise<void>(resolve => {
          go = resolve
        })
        left = over.then(() => table.countRows())
        // Another connection, and a snapshot, are meant.
        const before = await ns.snapshot()
        await tx.table('a').delete('id = 2')
        expect([await other.table('a').countRows(), await before.table('a').countRows()]).toEqual([2, 2])
        await before.close()
        await other.transaction(async inner => {
          expect(await inner.table('a').countRows()).toBe(2)
          expect(await failure(ns.table('a').countRows())).toMatchObject(refused)
        })
      })
      expect(await table.countRows()).toBe(1)
      go()
      expect(await left).toBe(1)
      expect(await rowsOf(ns, 'b')).toEqual([[1, 0]])
    })

    test('calls outside of it continue while it runs', async () => {
      let begun = () => {}
      const isUnderWay = new Promise<void>(resolve => {
        begun = resolve
      })
      let go = () => {}
      const gate = new Promise<void>(resolve => {
        go = resolve
      })
      const done = ns.transaction(async tx => {
        begun()
        await gate
        return tx.table('b').countRows()
      })
      await isUnderWay
      expect(await ns.table('a').countRows()).toBe(2)
      await ns.transaction(async tx => tx.table('a').delete('id = 2'))
      go()
      expect([await done, await ns.table('a').countRows()]).toEqual([1, 1])
    })

    test('a signal aborts it before its commit', async () => {
      const gone = new AbortController()
      const failed = ns.transaction(
        async tx => {
          await tx.table('a').update({ n: 0 })
          gone.abort(new Error('gone'))
        },
        { signal: gone.signal },
      )
      await expect(failed).rejects.toThrow('gone')
      expect(await rowsOf(ns, 'a')).toEqual([
        [1, 100],
        [2, 0],
      ])
    })
  })
}

async function slotOf(ns: Namespace): Promise<number> {
  for await (const slot of ns.watch()) return slot
  throw new Error('watching ended')
}

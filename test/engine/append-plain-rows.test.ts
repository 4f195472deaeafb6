import { afterEach, describe, expect, test } from 'vitest'
import { connect, type Namespace, schema, sql } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'

const opened: Namespace[] = []

afterEach(async () => {
  for (const ns of opened.splice(0)) await ns.close()
})

/** Open `count` connections to one new root. */
async function connections(count: number): Promise<Namespace[]> {
  const store = new MemoryStore('memory://')
  for (let i = 0; i < count; i++) opened.push(await connect('memory://', { store }))
  return opened.slice(-count)
}

const columns = schema({ id: 'int64!', name: 'string', vector: 'vector(2)' })

/** The first append of a process makes the plan of the later ones. So most tests append once before. */
async function tableOf(ns: Namespace) {
  const table = await ns.createTable('t', [{ id: 0, name: 'zero', vector: [0, 0] }], { schema: columns })
  await table.add([{ id: 1, name: 'one', vector: [1, 1] }])
  return table
}

async function idsOf(ns: Namespace): Promise<number[]> {
  const rows = await ns.table('t').query().select(['id']).toArray()
  return rows.map(row => Number(row.id))
}

describe('an append of plain objects', () => {
  test('is read back, alone and among concurrent appends, with versions and row ids of its own', async () => {
    const [ns] = await connections(1)
    const table = await tableOf(ns!)
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        table.add(Array.from({ length: (i % 3) + 1 }, (_, k) => ({ id: 100 * (i + 1) + k, name: null }))),
      ),
    )
    expect(replies.map(({ version }) => version)).toEqual(replies.map((_, i) => i + 3))
    expect(replies.map(({ rows }) => rows)).toEqual(replies.map((_, i) => (i % 3) + 1))
    const rows = await table.query().select(['id', '_rowid']).toArray()
    const expected = replies.flatMap(({ rows }, i) =>
      Array.from({ length: rows }, (_, k) => 100 * (i + 1) + k),
    )
    expect(rows.map(row => row.id)).toEqual([0, 1, ...expected])
    expect(rows.map(row => Number(row._rowid))).toEqual(rows.map((_, i) => i))
  })

  test('is the same change as an append of Arrow data, after a restart too', async () => {
    const [ns, other] = await connections(2)
    const table = await tableOf(ns!)
    const data = [{ id: 7, name: 'sieben 𝄞', vector: [1.5, -2] }, { id: 8n }]
    await table.add(data)
    await table.add(data, { badVectors: 'null' })
    const rows = await other!.table('t').query().select(['id', 'name', 'vector']).toArray()
    expect(rows).toHaveLength(6)
    expect(rows.slice(2, 4)).toEqual(rows.slice(4))
  })

  test('refuses the same rows with the same errors as other inserts', async () => {
    const [ns] = await connections(1)
    const table = await tableOf(ns!)
    const bad: [object, RegExp][] = [
      [{ id: 2, nam: 'x' }, /unknown key "nam"/],
      [{ name: 'x' }, /"id" is null, but is not nullable/],
      [{ id: 2.5 }, /"id" is int64/],
      [{ id: '2' }, /"id" is int64/],
      [{ id: 2, vector: [1] }, /needs 2 values/],
      [{ id: 2, vector: [1, Number.NaN] }, /NaN/],
      [{ id: 2, name: '\ud83d' }, /surrogate/],
    ]
    for (const [row, message] of bad) await expect(table.add([row as never])).rejects.toThrow(message)
    await expect(table.add([{ id: 2 }, 5 as never])).rejects.toThrow(/row 1 is not an object/)
    expect(await table.version()).toBe(2)
  })

  test('follows a change of the columns by another process', async () => {
    const [ns, other] = await connections(2)
    const table = await tableOf(ns!)
    await other!.table('t').addColumns({ note: { type: 'string' } })
    await table.add([{ id: 2, note: 'new' } as never])
    await other!.table('t').dropColumns(['name'])
    await expect(table.add([{ id: 3, name: 'gone' }])).rejects.toThrow(/unknown key "name"/)
    await table.add([{ id: 4 }])
    expect(await idsOf(other!)).toEqual([0, 1, 2, 4])
  })

  test('computes columns that are added later', async () => {
    const [ns, other] = await connections(2)
    const table = await tableOf(ns!)
    await other!.table('t').addColumns({ double: { computed: 'id * 2' } })
    await table.add([{ id: 5 }])
    await table.add([{ id: 6 }])
    expect(await ns!.table('t').countRows('double = 10 OR double = 12')).toBe(2)
  })

  test('goes to the table of its handle, or of its name', async () => {
    const [ns, other] = await connections(2)
    const bound = await tableOf(ns!)
    const named = ns!.table('t')
    await named.add([{ id: 2 }])
    await other!.renameTable('t', 'u')
    await other!.createTable('t', [{ id: 0, name: 'other', vector: [0, 0] }], { schema: columns })
    await bound.add([{ id: 3 }])
    await named.add([{ id: 4 }])
    expect(await ns!.table('u').countRows('id = 3')).toBe(1)
    expect(await ns!.table('t').countRows('id = 4')).toBe(1)
    await other!.dropTable('u')
    await expect(bound.add([{ id: 5 }])).rejects.toThrow(/was dropped/)
  })

  test('outside of a running transaction is refused, and inside it is part of it', async () => {
    const [ns] = await connections(1)
    const table = await tableOf(ns!)
    await ns!.transaction(async tx => {
      await expect(table.add([{ id: 2 }])).rejects.toThrow(/inside of a transaction/)
      await tx.table('t').add([{ id: 3 }])
      await tx.table('t').update({ name: sql`'x'` }, 'id = 3')
    })
    expect(await idsOf(ns!)).toEqual([0, 1, 3])
  })

  test('with an idempotency key is committed once', async () => {
    const [ns] = await connections(1)
    const table = await tableOf(ns!)
    const first = await table.add([{ id: 2 }], { idempotencyKey: 'k' })
    expect(await table.add([{ id: 2 }], { idempotencyKey: 'k' })).toEqual(first)
    await expect(table.add([{ id: 3 }], { idempotencyKey: 'k' })).rejects.toThrow(/already used/)
    expect(await idsOf(ns!)).toEqual([0, 1, 2])
  })

  test('of many bytes becomes a file', async () => {
    const [ns] = await connections(1)
    const table = await tableOf(ns!)
    await table.add([{ id: 2, name: 'x'.repeat(100_000) }])
    expect(await table.countRows("name LIKE 'xxx%'")).toBe(1)
  })
})

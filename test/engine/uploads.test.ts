import { afterEach, describe, expect, test } from 'vitest'
import { connect, type Namespace } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { uploadSuite } from '../suites/uploads.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'

for (const { name, open } of doors(temporaryRoots())) uploadSuite(name, open)

describe('uploads of several servers of one root', () => {
  const settings = { maintenance: { keepOrphansMs: 0, keepVersionsMs: 0, keepLogMs: 0 } }
  const opened: Namespace[] = []
  afterEach(() => Promise.all(opened.splice(0).map(ns => ns.close())))

  const servers = async (count: number) => {
    const store = new MemoryStore('memory://uploads')
    const all: Namespace[] = []
    for (let i = 0; i < count; i++) all.push(await connect('memory://', { store, ...settings }))
    opened.push(...all)
    await all[0]!.createTable('t', [{ id: 1 }])
    return { store, all }
  }
  const idsIn = async (ns: Namespace) =>
    (await (await ns.openTable('t')).query().orderBy('id').toArray()).map(({ id }) => id)
  const filesIn = async (store: MemoryStore) => {
    const keys: string[] = []
    for await (const { key } of store.list('tables/')) if (key.includes('/data/')) keys.push(key)
    return keys
  }

  test('accept parts on any of them, also if the one that began it is gone', async () => {
    const {
      all: [first, second],
    } = await servers(2)
    const upload = await (await first!.openTable('t')).upload()
    await upload.add([{ id: 2 }], { part: 'a' })
    const taken = await (await second!.openTable('t')).resumeUpload(upload.id)
    await taken.add([{ id: 3 }], { part: 'b' })
    await first!.close()
    await second!.optimize()
    await taken.add([{ id: 4 }], { part: 'a' })
    expect(await taken.commit()).toMatchObject({ parts: 2, inserted: 2 })
    expect(await idsIn(second!)).toEqual([1, 3, 4])
  })

  test('GC keeps the files of a held upload, and deletes those of an abandoned one', async () => {
    const {
      store,
      all: [first, second],
    } = await servers(2)
    const upload = await (await first!.openTable('t')).upload()
    await upload.add([{ id: 2 }])
    await second!.optimize()
    expect(await filesIn(store)).toHaveLength(1)
    await first!.close()
    const table = await second!.openTable('t')
    for (let i = 3; i < 6; i++) await table.add([{ id: i }])
    await second!.optimize()
    expect(await failure(table.resumeUpload(upload.id))).toMatchObject({ code: 10, message: /has expired/ })
    expect(await idsIn(second!)).toEqual([1, 3, 4, 5])
  })

  test('a commit and an abort at the same time: one wins, and each server reports the same', async () => {
    const { all } = await servers(2)
    const [first, second] = all as [Namespace, Namespace]
    for (let round = 0; round < 10; round++) {
      const upload = await (await first.openTable('t')).upload()
      await upload.add([{ id: 10 + round }])
      const other = await (await second.openTable('t')).resumeUpload(upload.id)
      const [committed, aborted] = await Promise.allSettled([upload.commit(), other.abort()])
      expect([committed.status, aborted.status].sort()).toEqual(['fulfilled', 'rejected'])
      const isThere = committed.status === 'fulfilled'
      for (const ns of all) expect((await idsIn(ns)).includes(10 + round)).toBe(isThere)
    }
  })

  test('commits through two servers at the same time make one version, and answer the same', async () => {
    const { all } = await servers(2)
    const [first, second] = all as [Namespace, Namespace]
    const upload = await (await first.openTable('t')).upload()
    await upload.add([{ id: 2 }])
    const other = await (await second.openTable('t')).resumeUpload(upload.id)
    const [one, two] = await Promise.all([upload.commit(), other.commit()])
    expect(one).toEqual(two)
    expect(await idsIn(second)).toEqual([1, 2])
    expect(await (await second.openTable('t')).version()).toBe(2)
  })
})

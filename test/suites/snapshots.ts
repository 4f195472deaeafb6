/** What a snapshot shows while everything else changes, and what watching tells of those changes. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Namespace, Table } from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { forceCheckpoint } from '../support/checkpoints.js'
import { failure } from '../support/failure.js'
import { requestOf, stage } from '../support/lance.js'
import type { Door, OpenedRoot } from '../support/transports.js'
import { samples, written } from './idempotency.js'

const idsOf = async (table: Table) => (await table.query().select(['id']).toArray()).map(row => row.id)

/** Some of everything. */
async function fill({ ns, store }: OpenedRoot): Promise<void> {
  const rows = await ns.createTable('rows', [{ id: 1 }, { id: 2 }], { properties: { a: 'b' } })
  await rows.add([{ id: 3 }])
  await rows.delete('id = 1')
  await rows.tags.create('first', 1)
  await ns.createNamespace('n', { properties: { c: 'd' } })
  await ns.createTable(
    'n$gone',
    Array.from({ length: 5000 }, (_, id) => ({ id, text: `row ${id}` })),
  )
  await ns.createTable('moved', [{ id: 7 }])
  const { location } = await ns.operations.declareTable({ id: ['lance'] })
  for (const version of [1, 2]) {
    await ns.operations.createTableVersion({
      id: ['lance'],
      ...requestOf(await stage(store, location, version)),
    })
  }
  await ns.operations.declareTable({ id: ['declared'] })
  for (const version of [1, 4]) {
    await ns.operations.createTableVersion({ id: ['declared'], version, manifest_path: `${version}` })
  }
}

/** Everything a namespace shows, as plain data. */
async function everythingIn({ operations: ops }: Namespace): Promise<unknown> {
  const namespaces: unknown[] = []
  const visit = async (id: readonly string[]): Promise<void> => {
    const [described, below] = await Promise.all([ops.describeNamespace({ id }), ops.listNamespaces({ id })])
    namespaces.push([id, described, below])
    for (const name of below.namespaces) await visit([...id, name])
  }
  await visit([])
  const { tables } = await ops.listAllTables({ delimiter: '/' })
  const contents = await Promise.all(
    tables.map(async path => {
      const id = path.split('/')
      const description = await ops.describeTable({ id })
      const { versions } = await ops.listTableVersions({ id })
      const { tags } = await ops.listTableTags({ id })
      const rows = await Promise.all(
        description.metadata === undefined
          ? []
          : versions.map(async ({ version }) => {
              const vector = { single_vector: [] }
              const query = {
                id,
                version,
                k: 1000,
                vector: null as unknown as typeof vector,
                with_row_id: true,
              }
              const { chunks } = await ops.queryTable(query)
              return Buffer.concat(chunks).toString('base64')
            }),
      )
      return { description, versions, tags, rows }
    }),
  )
  return { namespaces, tables, contents }
}

export function snapshotsSuite({ name, isLocal, open }: Door): void {
  describe(name, () => {
    let opened: OpenedRoot
    let ns: Namespace
    let store: BlobStore
    beforeEach(async () => {
      opened = await open()
      ;({ ns, store } = opened)
      if (isLocal) await fill(opened)
    })
    afterEach(() => opened.close())

    test.skipIf(isLocal)('a root in another process gives no snapshot and cannot be watched', async () => {
      expect(await failure(ns.snapshot())).toMatchObject({ code: 0, status: 406 })
      expect(() => ns.watch()).toThrow(expect.objectContaining({ code: 0 }))
    })

    describe.runIf(isLocal)('a snapshot', () => {
      /** Changes all of it. */
      const changeEverything = async (through: Namespace) => {
        const { operations: ops } = through
        const rows = await through.openTable('rows')
        await rows.add([{ id: 9 }])
        await rows.tags.update('first', 2)
        await rows.tags.create('second', 4)
        await ops.batchDeleteTableVersions({ id: ['rows'], ranges: [{ start_version: 1, end_version: 2 }] })
        await ops.updateTableSchemaMetadata({ id: ['rows'], metadata: { x: 'y' } })
        await ops.restoreTable({ id: ['rows'], version: 3 })
        await through.createTable('rows', [{ other: 'x' }], { mode: 'overwrite', properties: { a: 'z' } })
        await through.dropNamespace('n', { behavior: 'cascade' })
        await through.createNamespace('n')
        await through.renameTable('moved', 'n$moved')
        await through.createTable('moved', [{ id: 8 }])
        const { location } = await ops.deregisterTable({ id: ['lance'] })
        await ops.registerTable({ id: ['n', 'lance'], location, properties: { p: 'q' } })
        await ops.createTableVersion({ id: ['n', 'lance'], ...requestOf(await stage(store, location, 3)) })
        await ops.dropTable({ id: ['declared'] })
        await ops.declareTable({ id: ['declared'] })
        await ops.createTableVersion({ id: ['declared'], version: 1, manifest_path: 'new' })
      }

      test.each(['this', 'another'])(
        'shows everything unchanged, though %s process changes all',
        async by => {
          const before = await everythingIn(ns)
          const snapshot = await ns.snapshot()
          await changeEverything(by === 'this' ? ns : await opened.another())
          await forceCheckpoint(ns, store)
          expect(await everythingIn(snapshot)).toEqual(before)
          expect(await everythingIn(ns)).not.toEqual(before)
        },
      )

      test('shows what other processes had committed when it was taken', async () => {
        const other = await opened.another()
        await (await other.openTable('rows')).add([{ id: 10 }])
        const snapshot = await ns.snapshot()
        await (await other.openTable('rows')).add([{ id: 11 }])
        expect(await idsOf(await snapshot.openTable('rows'))).toEqual([2, 3, 10])
        expect(await everythingIn(await other.snapshot())).not.toEqual(await everythingIn(snapshot))
      })

      test('knows the transactions up to it, and none after', async () => {
        const { operations: ops } = ns
        const before = await ops.createTableTag({ id: ['rows'], tag: 'before', version: 1 })
        const snapshot = await ns.snapshot()
        const after = await ops.createTableTag({ id: ['rows'], tag: 'after', version: 1 })
        const ask = (id: string) => snapshot.operations.describeTransaction({ id: [id] })
        expect(await ask(before.transaction_id!)).toMatchObject({ status: 'Succeeded' })
        expect(await failure(ask(after.transaction_id!))).toMatchObject({ code: 10 })
        const note = { setPropertyAction: { key: 'note', value: 'x' } }
        await ops.alterTransaction({ id: [before.transaction_id!], actions: [note] })
        expect((await ask(before.transaction_id!)).properties).not.toHaveProperty('note')
      })

      test('refuses every write, and leaves nothing in the store', async () => {
        const large = await (await ns.openTable('n$gone')).query().toIpc()
        const prepared = []
        for (const name of written) {
          await ns.createNamespace(`for-${name}`)
          const place = { ops: ns.operations, store, at: [`for-${name}`], rows: large }
          prepared.push({ name, call: (await samples[name]!(place)).call })
        }
        // Nothing is left for maintenance to do meanwhile.
        await ns.optimize()
        const snapshot = await ns.snapshot()
        const keys = async () => {
          const found = []
          for await (const { key } of store.list('')) found.push(key)
          return found
        }
        const before = await keys()
        for (const { name, call } of prepared) {
          for (const options of [{}, { idempotencyKey: 'k' }]) {
            const refused = { code: 15, status: 403 }
            expect([name, await failure(call(snapshot.operations, options))]).toMatchObject([name, refused])
          }
        }
        const table = await snapshot.openTable('rows')
        expect(await failure(table.add([{ id: 1 }]))).toMatchObject({ code: 15 })
        expect(await failure(table.delete('false'))).toMatchObject({ code: 15 })
        expect(await keys()).toEqual(before)
      })

      test('refuses calls once it is closed, and closes nothing else', async () => {
        const snapshot = await ns.snapshot()
        const other = await ns.snapshot()
        const table = await snapshot.openTable('rows')
        await snapshot.close()
        await snapshot.close()
        expect(await failure(snapshot.tableNames())).toMatchObject({ code: 17 })
        expect(await failure(table.query().toArray())).toMatchObject({ code: 17 })
        expect(await idsOf(await other.openTable('rows'))).toEqual([2, 3])
        expect(await idsOf(await ns.openTable('rows'))).toEqual([2, 3])
      })

      test('can be aborted while it is taken', async () => {
        const reason = new Error('enough')
        expect(await failure(ns.snapshot({ signal: AbortSignal.abort(reason) }))).toBe(reason)
      })
    })

    describe.runIf(isLocal)('watching', () => {
      /** What is seen next, or an error after ten seconds: the real clock is at work. */
      const next = async (events: AsyncIterator<number>) => {
        const late = systemClock.sleep(10_000, undefined, true).then(() => expect.fail('nothing was seen'))
        return (await Promise.race([events.next(), late])).value as number
      }

      test('reports the current head at once, then every commit, by this process or another', async () => {
        const ending = new AbortController()
        const events = ns.watch({ signal: ending.signal })[Symbol.asyncIterator]()
        let seen = await next(events)
        const other = await opened.another()
        for (const through of [ns, other, ns, other]) {
          const waiting = next(events)
          await through.createNamespace(`n${seen}`)
          const later = await waiting
          expect(later).toBeGreaterThan(seen)
          expect(await ns.namespaceNames()).toContain(`n${seen}`)
          seen = later
        }
        const reason = new Error('enough')
        const ended = failure(events.next())
        ending.abort(reason)
        expect(await ended).toBe(reason)
        expect(await events.next()).toEqual({ done: true, value: undefined })
      })

      test('several commits between two looks are one event, and none is missed', async () => {
        const events = ns.watch()[Symbol.asyncIterator]()
        const first = await next(events)
        for (let i = 0; i < 20; i++) await ns.createNamespace(`n${i}`)
        for (let seen = first, looks = 0; seen < first + 20; looks++) {
          seen = await next(events)
          expect(looks).toBeLessThan(20)
        }
        await events.return?.()
      })

      test('ends with the reason when it is aborted before, and with an error when the root is closed', async () => {
        const reason = new Error('enough')
        const aborted = ns.watch({ signal: AbortSignal.abort(reason) })[Symbol.asyncIterator]()
        expect(await failure(aborted.next())).toBe(reason)
        const other = await opened.another()
        const events = other.watch()[Symbol.asyncIterator]()
        await next(events)
        const ended = failure(events.next())
        await other.close()
        expect(await ended).toMatchObject({ code: 17 })
      })

      test('a loop can be left at any time', async () => {
        for await (const head of ns.watch()) {
          expect(head).toBeGreaterThanOrEqual(0)
          break
        }
      })
    })
  })
}

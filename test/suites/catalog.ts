/**
 * What the operations on the catalog promise: tables by name and location, versions, batches, transactions, schema metadata
 * and statistics. Run over every door; what a Lance engine would do to the root is done to its store.
 *
 * Every reply is checked against its shape, and every transaction id in one can be described.
 */

import { symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Namespace, Table } from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import type { Operations, Reply, Request } from '../../src/protocol/calls.js'
import { type OperationEntry, operations as table } from '../../src/protocol/operations.js'
import { parseReply } from '../../src/protocol/parse.js'
import { failure } from '../support/failure.js'
import { commitPast, folderOf, manifestOf, requestOf, type Staged, stage } from '../support/lance.js'
import { observed, transactionsIn } from '../support/observed.js'
import type { Door, OpenedRoot } from '../support/transports.js'

type Version = Reply<'describeTableVersion'>['version']

const rows = [{ id: 1 }, { id: 2 }, { id: 3 }]
const idsOf = async (table: Table) => (await table.query().select(['id']).toArray()).map(row => row.id)
const numbersOf = (versions: readonly Version[]) => versions.map(({ version }) => version)

const missingTable = { code: 4, status: 404 }
const missingVersion = { code: 11, status: 404 }
const tableExists = { code: 5, status: 409 }
const conflict = { code: 14, status: 409 }
const badRequest = { code: 13, status: 400 }
/** The content of staged manifests of these tests is not a manifest. */
const damagedManifest = { code: 13, status: 400, message: expect.stringContaining('_versions/') }
const unsupported = { code: 0, status: 406 }

let lakes = 0

export function catalogSuite({ name, isOnDisk, open }: Door): void {
  describe(name, () => {
    let opened: OpenedRoot
    let ns: Namespace
    let ops: Operations
    let transactions: Set<string>
    /** A folder of the root that no other test uses. */
    let lake: string

    const watch = (namespace: Namespace): Operations =>
      observed(namespace.operations, (name, reply) => {
        const { response }: OperationEntry = table[name]
        if (response !== null && name !== 'updateTableSchemaMetadata') {
          expect(parseReply(response, reply, name)).toEqual(reply)
        }
        for (const id of transactionsIn(reply)) transactions.add(id)
      })

    beforeEach(async () => {
      opened = await open()
      transactions = new Set()
      lake = `lake-${lakes++}`
      ns = opened.ns
      ops = watch(ns)
    })
    afterEach(async () => {
      try {
        for (const id of transactions) {
          const { status, properties } = await opened.ns.operations.describeTransaction({ id: [id] })
          expect([status, id.endsWith(properties.uuid!)]).toEqual(['Succeeded', true])
        }
      } finally {
        await opened.close()
      }
    })

    const locationOf = async (id: string) => (await ops.describeTable({ id: [id] })).location
    const versionsOf = async (id: string) => numbersOf((await ops.listTableVersions({ id: [id] })).versions)
    const pointTo = (id: string, version: number, manifest_path = `anywhere/${version}`) =>
      ops.createTableVersion({ id: [id], version, manifest_path })
    const declare = async (id: string, location?: string) =>
      (await ops.declareTable({ id: [id], ...(location !== undefined && { location }) })).location

    describe('declare', () => {
      test('A-141 the engine chooses a location, and says what it manages', async () => {
        const reply = await ops.declareTable({ id: ['t'], properties: { owner: 'ada' } })
        expect(reply).toMatchObject({
          location: expect.stringMatching(/tables\/[0-9a-f-]{36}$/),
          managed_versioning: true,
          properties: { owner: 'ada' },
          storage_options: {},
        })
        const described = await ops.describeTable({ id: ['t'] })
        expect(described).toMatchObject({ is_only_declared: true, location: reply.location })
        expect(described).toMatchObject({ properties: { owner: 'ada' }, managed_versioning: true })
        expect(described).not.toHaveProperty('version')
        expect(await failure(ops.describeTable({ id: ['t'], version: 1 }))).toMatchObject(missingVersion)
        expect(await failure(ops.countTableRows({ id: ['t'] }))).toMatchObject(missingVersion)
      })

      test('A-140 the name must be free, and its namespace must exist', async () => {
        await ns.createTable('rows', rows)
        await declare('t')
        for (const id of ['t', 'rows']) {
          expect(await failure(ops.declareTable({ id: [id] }))).toMatchObject(tableExists)
        }
        expect(await failure(ops.declareTable({ id: ['no', 't'] }))).toMatchObject({ code: 1, status: 404 })
        expect(await failure(ops.declareTable({ id: [] }))).toMatchObject(badRequest)
        expect(await failure(ops.declareTable({ id: ['a/b'] }))).toMatchObject(badRequest)
      })

      test('a listing can leave out declared tables', async () => {
        await declare('only')
        await ns.createTable('rows', rows)
        for (const list of [ops.listAllTables, (more: object) => ops.listTables({ id: [], ...more })]) {
          expect((await list({})).tables).toEqual(['only', 'rows'])
          expect((await list({ include_declared: false })).tables).toEqual(['rows'])
        }
      })

      test('inserted rows give it versions at its location', async () => {
        const location = await declare('t')
        const { uuid } = await ops.describeTable({ id: ['t'] })
        const made = await ns.createTable('t', rows, { properties: { a: '1' } })
        expect(await idsOf(made)).toEqual([1, 2, 3])
        expect(await ops.describeTable({ id: ['t'] })).toMatchObject({
          uuid,
          location,
          version: 1,
          is_only_declared: false,
          properties: { a: '1' },
        })
      })

      test('inserting creates the first version of a declared table', async () => {
        await declare('t')
        const body = await (await ns.createTable('other', rows)).query().toIpc()
        const inserted = await ops.insertIntoTable({ id: ['t'] }, body)
        expect(inserted).toMatchObject({ num_inserted_rows: 3, version: 1 })
        expect(await idsOf(await ns.openTable('t'))).toEqual([1, 2, 3])
      })

      test('a table handle on a declared table says that it has no rows yet', async () => {
        await declare('t')
        const handle = await ns.openTable('t')
        expect(await failure(handle.countRows())).toMatchObject(missingVersion)
        expect(await failure(handle.schema())).toMatchObject(badRequest)
      })
    })

    describe('locations', () => {
      test('a location of the caller is kept, in any spelling', async () => {
        const root = (await declare('first')).split('/').slice(0, -2).join('/')
        const written = [`${lake}/a`, `${lake}/b/`, `${root}/${lake}/c`, `${root}/${lake}/d/`]
        if (isOnDisk) written.push(pathToFileURL(`${root}/${lake}/with space`).href)
        for (const [i, location] of written.entries()) {
          const answered = await declare(`t${i}`, location)
          expect(answered.startsWith(`${root}/${lake}/`)).toBe(true)
          expect(await locationOf(`t${i}`)).toBe(answered)
          await ns.createTable(`t${i}`, rows)
          expect(await idsOf(await ns.openTable(`t${i}`))).toEqual([1, 2, 3])
        }
        const { table_uri } = await ops.describeTable({ id: ['t0'], with_table_uri: true })
        expect(table_uri).toMatch(/^(file|memory|s3|az|gs):\/\/.*lake-\d+\/a$/)
      })

      test('S17 a location outside the root, or in a folder of Sheaf, is refused', async () => {
        const outside = [
          '..',
          '../x',
          'a/../../x',
          './a',
          'a//b',
          '/etc',
          '/etc/lance',
          's3://bucket/x',
          'a\0b',
        ]
        const own = ['_log', '_log/x', '_ckpt/y', '_tmp/z', 'tables', 'tables/x', '/', '.', 'a:b', 'file://']
        const elsewhere = isOnDisk ? ['file:///etc', 'file:///etc/x', 'file://host/x'] : []
        for (const location of [...outside, ...own, ...elsewhere]) {
          expect([location, await failure(ops.declareTable({ id: ['t'], location }))]).toMatchObject([
            location,
            badRequest,
          ])
          expect([location, await failure(ops.registerTable({ id: ['t'], location }))]).toMatchObject([
            location,
            badRequest,
          ])
        }
        expect((await ops.listAllTables({})).tables).toEqual([])
      })

      test('S17 the root itself cannot be a location', async () => {
        const root = (await declare('first')).split('/').slice(0, -2).join('/')
        for (const location of [root, `${root}/`, `${root}/../x`, `${root}x/y`]) {
          expect(await failure(ops.declareTable({ id: ['t'], location }))).toMatchObject(badRequest)
        }
      })

      test('S17 no two tables share a location, and none is inside another', async () => {
        await declare('t', `${lake}/a`)
        for (const location of [`${lake}/a`, `${lake}/a/b`, lake]) {
          expect(await failure(ops.declareTable({ id: ['u'], location }))).toMatchObject(badRequest)
          expect(await failure(ops.registerTable({ id: ['u'], location }))).toMatchObject(badRequest)
        }
        await declare('u', `${lake}/ab`)
        await ops.dropTable({ id: ['t'] })
        await declare('v', `${lake}/a/b`)
      })

      test('S17 the location of a deregistered table is reserved for it', async () => {
        const location = await declare('t', `${lake}/a`)
        await ops.deregisterTable({ id: ['t'] })
        for (const other of [`${lake}/a`, `${lake}/a/b`, lake]) {
          expect(await failure(ops.declareTable({ id: ['u'], location: other }))).toMatchObject(badRequest)
        }
        expect((await ops.registerTable({ id: ['u'], location })).location).toBe(location)
      })
    })

    describe('deregister and register', () => {
      test('A-142 a table comes back unchanged: rows, versions, tags, row ids, properties', async () => {
        const before = await ns.createTable('t', rows, { properties: { a: '1', b: '2' } })
        await before.add([{ id: 4 }])
        await before.delete('id = 1')
        await before.tags.create('first', 1)
        const withIds = () => before.query().withRowId().toArray()
        const [data, versions] = [await withIds(), await before.versions()]
        const { location, uuid } = await ops.describeTable({ id: ['t'] })

        const gone = await ops.deregisterTable({ id: ['t'] })
        expect(gone).toMatchObject({ id: ['t'], location, properties: { a: '1', b: '2' } })
        expect(await ns.tableNames()).toEqual([])
        expect(await failure(before.countRows())).toMatchObject(missingTable)
        expect(await failure(ops.deregisterTable({ id: ['t'] }))).toMatchObject(missingTable)

        await ns.createNamespace('n')
        const back = await ops.registerTable({ id: ['n', 'u'], location, properties: { b: '3' } })
        expect(back).toMatchObject({ location, properties: { a: '1', b: '3' } })
        expect(await ops.describeTable({ id: ['n', 'u'] })).toMatchObject({
          uuid,
          location,
          version: 3,
          properties: { a: '1', b: '3' },
        })
        expect(await withIds()).toEqual(data)
        expect(await before.versions()).toEqual(versions)
        expect(await before.tags.list()).toEqual(new Map([['first', 1]]))
        expect((await before.add([{ id: 5 }])).version).toBe(4)
      })

      test('A-142 a later opener of the root can register a deregistered table', async () => {
        const location = (await ops.describeTable({ id: ['t'] }).catch(() => null))?.location
        expect(location).toBeUndefined()
        await ns.createTable('t', rows)
        const gone = await ops.deregisterTable({ id: ['t'] })
        const again = await opened.reopen()
        await again.operations.registerTable({ id: ['t'], location: gone.location })
        expect(await idsOf(await again.openTable('t'))).toEqual([1, 2, 3])
      })

      test('its name is free for another table, and then taken', async () => {
        await ns.createTable('t', rows)
        const { location } = await ops.deregisterTable({ id: ['t'] })
        await ns.createTable('t', [{ id: 9 }])
        expect(await failure(ops.registerTable({ id: ['t'], location }))).toMatchObject(tableExists)
        await ops.registerTable({ id: ['old'], location })
        expect(await idsOf(await ns.openTable('old'))).toEqual([1, 2, 3])
        expect(await idsOf(await ns.openTable('t'))).toEqual([9])
        expect(await failure(ops.registerTable({ id: ['again'], location }))).toMatchObject(badRequest)
      })

      test('overwriting drops the table that has the name', async () => {
        const old = await ns.createTable('t', rows)
        const { location } = await ops.deregisterTable({ id: ['t'] })
        const other = await ns.createTable('t', [{ id: 9 }])
        const request = { id: ['t'], location, mode: 'Overwrite', properties: { a: '1' } } as const
        expect(await ops.registerTable(request)).toMatchObject({ location, properties: { a: '1' } })
        expect(await idsOf(await ns.openTable('t'))).toEqual([1, 2, 3])
        expect(await old.countRows()).toBe(3)
        expect(await failure(other.countRows())).toMatchObject(missingTable)
      })

      test('overwriting a table by itself changes its properties at most', async () => {
        const kept = await ns.createTable('t', rows, { properties: { a: '1' } })
        const location = await locationOf('t')
        const request = { id: ['t'], location, mode: 'Overwrite' } as const
        for (const properties of [{ b: '2' }, { b: '2' }, {}]) {
          const reply = await ops.registerTable({ ...request, properties })
          expect(reply).toMatchObject({ location, properties: { a: '1', b: '2' } })
        }
        expect((await ops.describeTable({ id: ['t'] })).properties).toEqual({ a: '1', b: '2' })
        expect(await kept.countRows()).toBe(3)
      })

      test('a folder with manifests of a Lance engine becomes a table with those versions', async () => {
        const sizes = []
        for (const version of [1, 2, 5]) {
          const bytes = manifestOf('x'.repeat(version))
          sizes.push(bytes.length)
          await commitPast(opened.store, `${lake}/found`, version, { bytes })
        }
        const { location } = await ops.registerTable({ id: ['t'], location: `${lake}/found` })
        const { versions } = await ops.listTableVersions({ id: ['t'] })
        expect(numbersOf(versions)).toEqual([1, 2, 5])
        expect(versions.map(({ manifest_size }) => manifest_size)).toEqual(sizes)
        expect(versions[2]!.manifest_path).toBe(`${location}/_versions/18446744073709551610.manifest`)
        expect(await ops.describeTable({ id: ['t'] })).toMatchObject({ version: 5, is_only_declared: false })
        const next = await stage(opened.store, location, 6)
        expect((await ops.createTableVersion({ id: ['t'], ...requestOf(next) })).version.version).toBe(6)
        expect(await failure(ops.countTableRows({ id: ['t'] }))).toMatchObject(damagedManifest)
      })

      test('A-129 an empty folder, two naming schemes in one, and files of no Lance engine are refused', async () => {
        const empty = ops.registerTable({ id: ['t'], location: `${lake}/empty` })
        expect(await failure(empty)).toMatchObject({
          ...badRequest,
          hint: expect.stringContaining('declare'),
        })
        await opened.store!.put(`${lake}/torn/_versions/1.manifest`, new Uint8Array(100))
        expect(await failure(ops.registerTable({ id: ['t'], location: `${lake}/torn` }))).toMatchObject(
          badRequest,
        )
        await commitPast(opened.store, `${lake}/mixed`, 1, { scheme: 'V1' })
        await commitPast(opened.store, `${lake}/mixed`, 2, { scheme: 'V2' })
        const mixed = { id: ['u'], location: `${lake}/mixed` }
        expect(await failure(ops.registerTable(mixed))).toMatchObject(badRequest)
      })

      test('A-036 a version that no number can name is refused', async () => {
        await commitPast(opened.store, `${lake}/far`, 2 ** 60)
        const far = { id: ['t'], location: `${lake}/far` }
        expect(await failure(ops.registerTable(far))).toMatchObject(badRequest)
      })
    })

    describe('drop', () => {
      test('S10 a name that is used again is another table, elsewhere; old handles fail', async () => {
        const old = await ns.createTable('t', rows)
        const location = await locationOf('t')
        expect(await ops.dropTable({ id: ['t'] })).toMatchObject({ id: ['t'], location })
        const fresh = await ns.createTable('t', [{ id: 9 }])
        expect(await locationOf('t')).not.toBe(location)
        expect(await idsOf(fresh)).toEqual([9])
        expect(await fresh.version()).toBe(1)
        for (const call of [
          () => old.countRows(),
          () => old.query().toArray(),
          () => old.add([{ id: 1 }]),
          () => old.delete('true'),
          () => old.versions(),
          () => old.tags.create('a', 1),
          () => old.tags.list(),
        ]) {
          expect(await failure(call())).toMatchObject(missingTable)
        }
        expect(await idsOf(fresh)).toEqual([9])
      })

      test('the caller’s files at a location of its own stay there', async () => {
        await commitPast(opened.store, `${lake}/kept`, 1)
        await ops.registerTable({ id: ['t'], location: `${lake}/kept` })
        await ops.dropTable({ id: ['t'] })
        await ops.registerTable({ id: ['u'], location: `${lake}/kept` })
        expect(await versionsOf('u')).toEqual([1])
      })

      test('missing tables and missing namespaces give different errors', async () => {
        expect(await failure(ops.dropTable({ id: ['t'] }))).toMatchObject(missingTable)
        expect(await failure(ops.dropTable({ id: ['no', 't'] }))).toMatchObject(missingTable)
        expect(await failure(ops.dropTable({ id: [] }))).toMatchObject(badRequest)
      })
    })

    describe('rename', () => {
      test('A-117 the new name exists, the old one does not, and everything else stays', async () => {
        const handle = await ns.createTable('old', rows, { properties: { a: '1' } })
        await handle.tags.create('first', 1)
        const before = await ops.describeTable({ id: ['old'] })
        await ops.renameTable({ id: ['old'], new_table_name: 'new' })
        expect(await ns.tableNames()).toEqual(['new'])
        expect(await failure(ns.openTable('old'))).toMatchObject(missingTable)
        expect(await ops.describeTable({ id: ['new'] })).toEqual({ ...before, table: 'new' })
        expect((await handle.add([{ id: 4 }])).version).toBe(2)
        expect(await handle.delete('id = 1')).toEqual({ version: 3, rows: 1 })
        expect(await idsOf(handle)).toEqual([2, 3, 4])
        expect(await idsOf(await handle.checkout('first'))).toEqual([1, 2, 3])
        await handle.tags.update('first', 2)
        expect(await (await ns.openTable('new')).tags.version('first')).toBe(2)
      })

      test('a handle never follows the name to another table', async () => {
        const handle = await ns.createTable('t', rows)
        await ns.renameTable('t', 'u')
        const other = await ns.createTable('t', [{ id: 9 }])
        expect(await idsOf(handle)).toEqual([1, 2, 3])
        await handle.delete('id = 1')
        expect(await idsOf(other)).toEqual([9])
      })

      test('A-118 it moves between namespaces, and to the root with to_root', async () => {
        await ns.createNamespace('a')
        await ns.createNamespace('a$b')
        await ns.createTable('t', rows)
        await ops.renameTable({ id: ['t'], new_table_name: 't', new_namespace_id: ['a', 'b'] })
        expect(await ns.tableNames('a$b')).toEqual(['t'])
        await ops.renameTable({ id: ['a', 'b', 't'], new_table_name: 'u' })
        expect(await ns.tableNames('a$b')).toEqual(['u'])
        await ops.renameTable({ id: ['a', 'b', 'u'], new_table_name: 'v', new_namespace_id: [] })
        expect(await ns.tableNames('a$b')).toEqual(['v'])
        await ops.renameTable({ id: ['a', 'b', 'v'], new_table_name: 'w', to_root: true })
        expect([await ns.tableNames('a$b'), await ns.tableNames()]).toEqual([[], ['w']])
        await ns.renameTable('w', 'a$w')
        await ns.renameTable(['a', 'w'], ['w'])
        expect([await ns.tableNames('a'), await ns.tableNames()]).toEqual([[], ['w']])
        expect(
          await failure(ops.renameTable({ id: ['w'], new_table_name: 'w', new_namespace_id: ['no'] })),
        ).toMatchObject({ code: 1, status: 404 })
        expect(await idsOf(await ns.openTable('w'))).toEqual([1, 2, 3])
      })

      test('A-119 a taken name is refused; the own name is accepted, and commits nothing', async () => {
        await ns.createTable('t', rows)
        await ns.createTable('u', rows)
        expect(await failure(ops.renameTable({ id: ['t'], new_table_name: 'u' }))).toMatchObject(tableExists)
        expect(await ops.renameTable({ id: ['t'], new_table_name: 't' })).toEqual({})
        expect(await failure(ops.renameTable({ id: ['x'], new_table_name: 'y' }))).toMatchObject(missingTable)
        for (const bad of ['', '.', 'a/b', 'x'.repeat(256)]) {
          expect(await failure(ops.renameTable({ id: ['t'], new_table_name: bad }))).toMatchObject(badRequest)
        }
        expect(await ns.tableNames()).toEqual(['t', 'u'])
      })

      test('of many renames to one name, one succeeds', async () => {
        const names = Array.from({ length: 6 }, (_, i) => `t${i}`)
        for (const id of names) await declare(id)
        const renamed = await Promise.allSettled(
          names.map(id => ops.renameTable({ id: [id], new_table_name: 'one' })),
        )
        expect(renamed.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
        for (const result of renamed) {
          if (result.status === 'rejected') expect(result.reason).toMatchObject(tableExists)
        }
        expect(await ns.tableNames()).toHaveLength(6)
      })
    })

    describe('versions of pointer tables', () => {
      beforeEach(() => declare('t'))

      test('A-125 the record has the given fields, and the time', async () => {
        const given = {
          version: 3,
          manifest_path: 's3://elsewhere/../x y/3',
          manifest_size: 524,
          e_tag: '"abc"',
          metadata: { generation: '7', __proto: 'x' },
        }
        const reply = await ops.createTableVersion({ id: ['t'], ...given, naming_scheme: 'V1' })
        expect(reply.version).toEqual({ ...given, timestamp_millis: expect.any(Number) })
        expect((await ops.describeTableVersion({ id: ['t'], version: 3 })).version).toEqual(reply.version)
        expect((await ops.listTableVersions({ id: ['t'] })).versions).toEqual([reply.version])
        const bare = (await pointTo('t', 4, 'p')).version
        expect(bare).toEqual({
          version: 4,
          manifest_path: 'p',
          metadata: {},
          timestamp_millis: expect.any(Number),
        })
        expect(bare.timestamp_millis).toBeGreaterThanOrEqual(reply.version.timestamp_millis)
        expect(await ops.describeTable({ id: ['t'] })).toMatchObject({ version: 4, is_only_declared: false })
      })

      test('A-123 a version is created once', async () => {
        await pointTo('t', 1, 'first')
        expect(await failure(pointTo('t', 1, 'first'))).toMatchObject(conflict)
        expect(await failure(pointTo('t', 1, 'second'))).toMatchObject(conflict)
        const { version } = await ops.describeTableVersion({ id: ['t'], version: 1 })
        expect(version.manifest_path).toBe('first')
      })

      test('A-123 of many calls that create one version, one succeeds', async () => {
        const tries = Array.from({ length: 10 }, (_, i) => pointTo('t', 1, `by ${i}`))
        const settled = await Promise.allSettled(tries)
        const won = settled.flatMap(result => (result.status === 'fulfilled' ? [result.value.version] : []))
        expect(won).toEqual([(await ops.describeTableVersion({ id: ['t'] })).version])
        for (const result of settled) {
          if (result.status === 'rejected') expect(result.reason).toMatchObject(conflict)
        }
      })

      test('A-124 A-131 invalid requests are refused', async () => {
        const good = { id: ['t'], version: 1, manifest_path: 'p' }
        const bad: object[] = [
          { version: undefined },
          { version: -1 },
          { version: 1.5 },
          { version: '1' },
          { version: 2 ** 53 },
          { manifest_path: undefined },
          { manifest_path: '' },
          { manifest_size: -1 },
          { naming_scheme: 'V3' },
          { metadata: { a: 1 } },
          { manifest_path: '_versions/18446744073709551614.manifest', naming_scheme: 'V1' },
          { manifest_path: '_versions/1.manifest', naming_scheme: 'V2' },
        ]
        for (const fields of bad) {
          const call = ops.createTableVersion({ ...good, ...fields } as Request<'createTableVersion'>)
          expect([fields, await failure(call)]).toMatchObject([fields, badRequest])
        }
        await ops.createTableVersion({ ...good, naming_scheme: 'v2' as never })
        expect(await failure(ops.createTableVersion({ ...good, id: ['no'] }))).toMatchObject(missingTable)
        expect(await failure(ops.createTableVersion({ ...good, branch: 'dev', version: 2 }))).toMatchObject(
          unsupported,
        )
        await ops.createTableVersion({ ...good, branch: 'main', version: 2 })
      })

      test('A-126 gaps are fine, numbers at or below the highest are not, and 0 is a number', async () => {
        await pointTo('t', 0)
        await pointTo('t', 7)
        await pointTo('t', 9007199254740991)
        for (const version of [0, 3, 7]) expect(await failure(pointTo('t', version))).toMatchObject(conflict)
        expect(await versionsOf('t')).toEqual([0, 7, 9007199254740991])
        expect((await ops.describeTableVersion({ id: ['t'] })).version.version).toBe(9007199254740991)
        expect((await ops.describeTableVersion({ id: ['t'], version: 0 })).version.version).toBe(0)
      })

      test('A-126 a table with rows creates its versions itself', async () => {
        await ns.createTable('rows', rows)
        expect(await failure(pointTo('rows', 2))).toMatchObject(unsupported)
        const staged = await stage(opened.store, await locationOf('rows'), 2)
        const call = ops.createTableVersion({ id: ['rows'], ...requestOf(staged) })
        expect(await failure(call)).toMatchObject(unsupported)
        expect(await versionsOf('rows')).toEqual([1])
      })

      test('rows cannot be written, and a damaged manifest is reported', async () => {
        await pointTo('t', 1)
        const handle = await ns.openTable('t')
        const body = await (await ns.createTable('rows', rows)).query().toIpc()
        for (const call of [
          () => handle.countRows(),
          () => handle.query().toArray(),
          () => handle.delete('true'),
          () => ops.insertIntoTable({ id: ['t'] }, body),
          () => ops.createTable({ id: ['t'], mode: 'Overwrite' }, body),
          () => ops.restoreTable({ id: ['t'], version: 1 }),
          () => ops.getTableStats({ id: ['t'] }),
          () => ops.updateTableSchemaMetadata({ id: ['t'], metadata: {} }),
        ]) {
          expect(await failure(call())).toMatchObject(unsupported)
        }
        expect(await failure(ops.createTable({ id: ['t'] }, body))).toMatchObject(tableExists)
        expect((await ops.createTable({ id: ['t'], mode: 'ExistOk' }, body)).version).toBe(1)
        expect(await versionsOf('t')).toEqual([1])
      })

      test('A-132 a missing version and a missing table give different errors', async () => {
        expect(await failure(ops.describeTableVersion({ id: ['t'] }))).toMatchObject(missingVersion)
        expect(await failure(ops.describeTableVersion({ id: ['t'], version: 1 }))).toMatchObject(
          missingVersion,
        )
        expect(await failure(ops.describeTableVersion({ id: ['no'] }))).toMatchObject(missingTable)
        expect(await ops.listTableVersions({ id: ['t'] })).toEqual({ versions: [] })
        expect(await failure(ops.listTableVersions({ id: ['no'] }))).toMatchObject(missingTable)
        expect(await failure(ops.tableExists({ id: ['t'], version: 1 }))).toMatchObject(missingVersion)
        await ops.tableExists({ id: ['t'] })
      })
    })

    describe('versions of tables that a Lance engine keeps', () => {
      let location: string
      beforeEach(async () => {
        location = await declare('t')
      })
      const create = (staged: object) =>
        ops.createTableVersion({
          id: ['t'],
          ...requestOf(staged as Staged),
        } as unknown as Request<'createTableVersion'>)
      const read = (key: string) => opened.store.get(key)

      test('A-127 S6 the staged manifest gets its final name, and the reply has it', async () => {
        const staged = await stage(opened.store, location, 1)
        const { version } = await create({ ...staged, e_tag: 'e', metadata: { a: 'b' } })
        expect(version).toEqual({
          version: 1,
          manifest_path: `${location}/_versions/18446744073709551614.manifest`,
          manifest_size: staged.bytes.length,
          e_tag: 'e',
          metadata: { a: 'b' },
          timestamp_millis: expect.any(Number),
        })
        expect(await read(staged.final)).toEqual(staged.bytes)
        expect(await read(staged.key)).toBeNull()
        expect((await ops.describeTableVersion({ id: ['t'] })).version).toEqual(version)
        expect((await ops.listTableVersions({ id: ['t'] })).versions).toEqual([version])
        expect(await ops.describeTable({ id: ['t'] })).toMatchObject({ version: 1, is_only_declared: false })
      })

      test('A-128 both naming schemes are served', async () => {
        const staged = await stage(opened.store, location, 1, { scheme: 'V1' })
        const { version } = await create(staged)
        expect(version.manifest_path).toBe(`${location}/_versions/1.manifest`)
        expect(await read(staged.final)).toEqual(staged.bytes)
      })

      test('A-126 the next version is exactly one more, the first one is 1', async () => {
        const zero = await stage(opened.store, location, 0)
        expect(await failure(create(zero))).toMatchObject(conflict)
        const two = await stage(opened.store, location, 2)
        expect(await failure(create(two))).toMatchObject(conflict)
        const one = await stage(opened.store, location, 1)
        await create(one)
        await create(two)
        const four = await stage(opened.store, location, 4)
        expect(await failure(create(four))).toMatchObject({ ...conflict, hint: expect.stringContaining('3') })
        expect(await versionsOf('t')).toEqual([1, 2])
      })

      test('A-123 S5 a repeated staging file is a repeated call', async () => {
        const staged = await stage(opened.store, location, 1)
        const first = await create(staged)
        expect(await create(staged)).toEqual(first)
        await create(await stage(opened.store, location, 2))
        expect(await create(staged)).toEqual(first)
        expect(await versionsOf('t')).toEqual([1, 2])
      })

      test('A-123 S5 the same staging file twice at once is one call', async () => {
        const staged = await stage(opened.store, location, 1)
        const replies = await Promise.all([create(staged), create(staged), create(staged)])
        for (const reply of replies) expect(reply).toEqual(replies[0])
        expect(await versionsOf('t')).toEqual([1])
        const second = await opened.another()
        const next = await stage(opened.store, location, 2)
        const request = { id: ['t'], version: 2, manifest_path: next.manifest_path }
        const both = await Promise.all([create(next), second.operations.createTableVersion(request)])
        expect(both[1]).toEqual(both[0])
      })

      test('S6 a caller that loses a version can read the winner', async () => {
        const [a, b] = [await stage(opened.store, location, 1), await stage(opened.store, location, 1)]
        const settled = await Promise.allSettled([create(a), create(b)])
        const won = settled.findIndex(({ status }) => status === 'fulfilled')
        const lost = settled[1 - won]!
        expect(lost.status === 'rejected' && lost.reason).toMatchObject(conflict)
        expect(await read(a.final)).toEqual([a, b][won]!.bytes)
        // The loser's file is its own business.
        expect(await read([a, b][1 - won]!.key)).toEqual([a, b][1 - won]!.bytes)
      })

      test('S6 versions requested out of order get their final names, or are refused', async () => {
        const staged = []
        for (const version of [1, 2, 3]) staged.push(await stage(opened.store, location, version))
        const settled = await Promise.allSettled(staged.map(create))
        const made = staged.filter((_, i) => settled[i]!.status === 'fulfilled')
        for (const result of settled) {
          if (result.status === 'rejected') expect(result.reason).toMatchObject(conflict)
        }
        expect(made[0]).toBe(staged[0])
        expect(await versionsOf('t')).toEqual(made.map(({ version }) => version))
        for (const { final, bytes } of made) expect(await read(final)).toEqual(bytes)
      })

      test('S17 only the last segment of a path counts, and a manifest is in its own table', async () => {
        const other = await declare('other')
        const elsewhere = await stage(opened.store, other, 1)
        const name = elsewhere.key.split('/').at(-1)!
        for (const path of [elsewhere.manifest_path, elsewhere.key, `../../${name}`, `/etc/${name}`, name]) {
          const call = create({ version: 1, manifest_path: path })
          expect([path, await failure(call)]).toMatchObject([path, badRequest])
        }
        expect(await versionsOf('t')).toEqual([])
        const own = await stage(opened.store, location, 1)
        const asked = `/some/where/../else/${own.key.split('/').at(-1)}`
        expect((await create({ version: 1, manifest_path: asked })).version.manifest_path).toBe(
          `${location}/_versions/18446744073709551614.manifest`,
        )
      })

      test('S17 a file that is not the manifest is refused: missing, another size or version, or not a Lance file', async () => {
        const staged = await stage(opened.store, location, 1)
        const text = await stage(opened.store, location, 1, { bytes: new TextEncoder().encode('no magic') })
        const empty = await stage(opened.store, location, 1, { bytes: new Uint8Array(0) })
        const gone = staged.manifest_path.replace(/.{4}$/, '0000')
        for (const request of [
          { ...staged, manifest_path: gone },
          { ...staged, manifest_size: staged.bytes.length + 1 },
          { ...(await stage(opened.store, location, 2)), version: 1 },
          text,
          empty,
        ]) {
          expect(await failure(create(request))).toMatchObject(badRequest)
        }
        expect(await versionsOf('t')).toEqual([])
        await create(staged)
        const pointer = create({ version: 2, manifest_path: 'somewhere' })
        expect(await failure(pointer)).toMatchObject(badRequest)
      })

      test.runIf(isOnDisk)('S17 a manifest of 65 MB is refused unread', async () => {
        const staged = await stage(opened.store, location, 1, { bytes: new Uint8Array(0) })
        const path = join(location, '_versions', staged.key.split('/').at(-1)!)
        truncateSync(path, 65 * 1024 * 1024)
        const call = create({ version: 1, manifest_path: staged.manifest_path })
        expect(await failure(call)).toMatchObject({
          ...badRequest,
          message: expect.stringContaining('bytes'),
        })
      })

      test.runIf(isOnDisk)('S17 no link is followed, for files and folders', async () => {
        const outside = location.split('/').slice(0, -2).join('/')
        const staged = await stage(opened.store, location, 1)
        const linked = `${staged.manifest_path.slice(0, -12)}${'a'.repeat(12)}`
        symlinkSync(staged.manifest_path, linked)
        expect(await failure(create({ version: 1, manifest_path: linked }))).toMatchObject(badRequest)
        const through = await ops.declareTable({ id: ['u'], location: 'link/u' })
        symlinkSync(location, join(outside, 'link'))
        writeFileSync(join(outside, 'secret'), manifestOf('secret'))
        const call = ops.createTableVersion({ id: ['u'], version: 1, manifest_path: staged.manifest_path })
        const refused = { code: 15, status: 403 }
        expect(await failure(call)).toMatchObject(refused)
        expect(await failure(ops.registerTable({ id: ['v'], location: 'link' }))).toMatchObject(refused)
        expect(await failure(ops.declareTable({ id: ['v'], location: 'link/v' }))).toMatchObject(refused)
        expect(through.location).toContain('link/u')
      })

      test('S6 a manifest committed without the catalog is a version, and a losing caller can read it', async () => {
        await create(await stage(opened.store, location, 1))
        const foreign = await commitPast(opened.store, location, 2)
        const mine = await stage(opened.store, location, 2)
        expect(await failure(create(mine))).toMatchObject(conflict)
        expect(await versionsOf('t')).toEqual([1, 2])
        const { version } = await ops.describeTableVersion({ id: ['t'] })
        expect(version).toMatchObject({ version: 2, manifest_size: foreign.length })
        expect(await read(mine.final)).toEqual(foreign)
        await create(await stage(opened.store, location, 3))
      })

      test('S6 equal bytes under the final name are the same commit', async () => {
        const staged = await stage(opened.store, location, 1)
        await commitPast(opened.store, location, 1, { bytes: staged.bytes })
        expect((await create(staged)).version.version).toBe(1)
        expect(await read(staged.final)).toEqual(staged.bytes)
      })

      test('S6 a version whose writer died before the final name gets it at the next request', async () => {
        const ask: ((ops: Operations) => Promise<unknown>)[] = [
          ops => ops.describeTable({ id: ['t'] }),
          ops => ops.describeTableVersion({ id: ['t'] }),
          ops => ops.listTableVersions({ id: ['t'] }),
          ops => ops.listTableVersions({ id: ['t'], limit: 1, descending: true }),
        ]
        for (const [i, asked] of ask.entries()) {
          const staged = await stage(opened.store, location, i + 1)
          await create(staged)
          await opened.store.delete(staged.final)
          await opened.store.put(staged.key, staged.bytes)
          await asked((await opened.another()).operations)
          expect(await read(staged.final)).toEqual(staged.bytes)
          expect(await read(staged.key)).toBeNull()
        }
      })

      test('S6 another manifest under the final name of a version is an error, and stays', async () => {
        const staged = await stage(opened.store, location, 1)
        await create(staged)
        await opened.store.delete(staged.final)
        const foreign = await commitPast(opened.store, location, 1)
        const later = await opened.another()
        const outside = { code: 19, status: 409, message: expect.stringContaining('outside the catalog') }
        expect(await failure(later.operations.describeTableVersion({ id: ['t'] }))).toMatchObject(outside)
        expect(await failure(later.operations.listTableVersions({ id: ['t'] }))).toMatchObject(outside)
        expect(await read(staged.final)).toEqual(foreign)
      })

      test('S20 old versions that a Lance engine cleaned up are gone from listings', async () => {
        for (const version of [1, 2, 3]) await create(await stage(opened.store, location, version))
        const { versions } = await ops.listTableVersions({ id: ['t'] })
        await opened.store.delete(`${folderOf(location)}/_versions/18446744073709551614.manifest`)
        expect((await ops.listTableVersions({ id: ['t'] })).versions).toEqual(versions.slice(1))
        const call = ops.describeTableVersion({ id: ['t'], version: 1 })
        expect(await failure(call)).toMatchObject(missingVersion)
        const first = await ops.listTableVersions({ id: ['t'], limit: 1 })
        expect(numbersOf(first.versions)).toEqual([])
        const { page_token } = first
        expect(numbersOf((await ops.listTableVersions({ id: ['t'], page_token })).versions)).toEqual([2, 3])
      })

      test('rows cannot be written, and a damaged manifest is reported', async () => {
        await create(await stage(opened.store, location, 1))
        const body = await (await ns.createTable('rows', rows)).query().toIpc()
        for (const call of [
          () => ops.insertIntoTable({ id: ['t'] }, body),
          () => ops.deleteFromTable({ id: ['t'], predicate: 'true' }),
          () => ops.createTable({ id: ['t'], mode: 'Overwrite' }, body),
          () => ops.restoreTable({ id: ['t'], version: 1 }),
        ]) {
          expect(await failure(call())).toMatchObject(unsupported)
        }
        for (const call of [
          () => ops.countTableRows({ id: ['t'] }),
          () => ops.getTableStats({ id: ['t'] }),
        ]) {
          expect(await failure(call())).toMatchObject(damagedManifest)
        }
        expect(await failure(ops.createTable({ id: ['t'] }, body))).toMatchObject(tableExists)
      })
    })

    describe('deleting versions', () => {
      const remove = (id: string, ...ranges: [number, number][]) =>
        ops.batchDeleteTableVersions({
          id: [id],
          ranges: ranges.map(([start_version, end_version]) => ({ start_version, end_version })),
        })

      test('A-137 the end of a range is exclusive, -1 is through the latest, and only existing versions count', async () => {
        await declare('t')
        for (const version of [1, 2, 3, 5, 8]) await pointTo('t', version)
        expect(await remove('t', [2, 3])).toMatchObject({ deleted_count: 1 })
        expect(await versionsOf('t')).toEqual([1, 3, 5, 8])
        expect(await remove('t', [4, 5], [6, 8], [3, 3])).toEqual({ deleted_count: 0 })
        expect(await remove('t', [1, 4], [3, 6])).toMatchObject({ deleted_count: 3 })
        expect(await versionsOf('t')).toEqual([8])
        await pointTo('t', 9)
        expect(await remove('t', [9, -1])).toMatchObject({ deleted_count: 1 })
        expect(await versionsOf('t')).toEqual([8])
        expect(await failure(ops.describeTableVersion({ id: ['t'], version: 9 }))).toMatchObject({
          ...missingVersion,
          message: expect.stringContaining('deleted'),
        })
      })

      test('A-137 invalid ranges are refused', async () => {
        await declare('t')
        await pointTo('t', 1)
        for (const range of [
          [3, 2],
          [-1, 2],
          [0, -2],
          [0.5, 2],
        ] as [number, number][]) {
          expect(await failure(remove('t', range))).toMatchObject(badRequest)
        }
        expect(await failure(ops.batchDeleteTableVersions({ id: ['t'], ranges: [] }))).toMatchObject(
          badRequest,
        )
        expect(await failure(remove('no', [0, -1]))).toMatchObject(missingTable)
        expect(await versionsOf('t')).toEqual([1])
      })

      test('S4 a pointer table may lose all versions, and never uses a number again', async () => {
        await declare('t')
        for (const version of [1, 2, 4]) await pointTo('t', version)
        expect(await remove('t', [0, -1])).toMatchObject({ deleted_count: 3 })
        expect(await versionsOf('t')).toEqual([])
        expect(await failure(ops.describeTableVersion({ id: ['t'] }))).toMatchObject(missingVersion)
        expect(await ops.describeTable({ id: ['t'] })).not.toHaveProperty('version')
        for (const version of [0, 1, 2, 3, 4]) {
          expect(await failure(pointTo('t', version))).toMatchObject(conflict)
        }
        expect((await failure(pointTo('t', 4))).message).toContain('deleted')
        await pointTo('t', 5)
        expect(await versionsOf('t')).toEqual([5])
      })

      test('S4 the newest version of a table with data stays', async () => {
        const sheaf = await ns.createTable('sheaf', rows)
        await sheaf.add([{ id: 4 }])
        expect(await remove('sheaf', [0, -1])).toMatchObject({ deleted_count: 1 })
        expect(await remove('sheaf', [2, 3])).toEqual({ deleted_count: 0 })
        expect(await idsOf(sheaf)).toEqual([1, 2, 3, 4])
        expect(await failure(sheaf.checkout(1))).toMatchObject(missingVersion)
        expect((await sheaf.add([{ id: 5 }])).version).toBe(3)

        const location = await declare('lance')
        for (const version of [1, 2, 3]) {
          await ops.createTableVersion({
            id: ['lance'],
            ...requestOf(await stage(opened.store, location, version)),
          })
        }
        expect(await remove('lance', [0, -1])).toMatchObject({ deleted_count: 2 })
        expect(await versionsOf('lance')).toEqual([3])
        await ops.createTableVersion({ id: ['lance'], ...requestOf(await stage(opened.store, location, 4)) })
        const old = await stage(opened.store, location, 2)
        expect(await failure(ops.createTableVersion({ id: ['lance'], ...requestOf(old) }))).toMatchObject(
          conflict,
        )
      })

      test('A-156 a tag keeps its version, and the error names the tags', async () => {
        const kept = await ns.createTable('t', rows)
        for (const id of [4, 5, 6]) await kept.add([{ id }])
        await kept.tags.create('b', 2)
        await kept.tags.create('a', 2)
        await kept.tags.create('newest', 4)
        expect(await failure(remove('t', [1, 4]))).toMatchObject({
          code: 19,
          status: 409,
          message: expect.stringMatching(/a, b/),
        })
        expect(await versionsOf('t')).toEqual([1, 2, 3, 4])
        expect(await remove('t', [1, 2], [3, -1])).toMatchObject({ deleted_count: 2 })
        expect(await idsOf(await kept.checkout('a'))).toEqual([1, 2, 3, 4])
        await kept.tags.delete('a')
        await kept.tags.update('b', 4)
        expect(await remove('t', [0, -1])).toMatchObject({ deleted_count: 1 })
        expect(await versionsOf('t')).toEqual([4])
      })
    })

    describe('restore', () => {
      test('a tag names the version to restore', async () => {
        const restored = await ns.createTable('t', [{ id: 1 }])
        await restored.tags.create('good', 1)
        await restored.add([{ id: 2 }])
        await restored.restore('good', { idempotencyKey: 'restore-good-0001' })
        expect(await restored.version()).toBe(3)
        expect(await restored.query().toArray()).toEqual([{ id: 1 }])
        expect(await failure(restored.restore('bad'))).toMatchObject({ code: 8 })
      })

      test('an old version is the newest again: rows, row ids and schema; no version in between is lost', async () => {
        const restored = await ns.createTable('t', rows)
        const withIds = async (of: Table) => of.query().withRowId().toArray()
        const first = await withIds(restored)
        await restored.add([{ id: 4 }])
        await restored.delete('id = 1')
        await ns.createTable('t', [{ other: 'x' }], { mode: 'overwrite' })
        await ops.restoreTable({ id: ['t'], version: 1 })
        expect(await restored.version()).toBe(5)
        expect(await withIds(restored)).toEqual(first)
        expect((await restored.schema()).fields.map(({ name }) => name)).toEqual(['id'])
        expect(await restored.countRows()).toBe(3)
        const counts = [3, 4, 3, 1, 3]
        for (const [i, count] of counts.entries()) {
          expect(await (await restored.checkout(i + 1)).countRows()).toBe(count)
        }
        await ops.restoreTable({ id: ['t'], version: 4 })
        expect(await restored.query().toArray()).toEqual([{ other: 'x' }])
      })

      test('S10 rows added later get unused row ids', async () => {
        const restored = await ns.createTable('t', rows)
        await restored.add([{ id: 4 }])
        const before = (await restored.query().withRowId().toArray()).map(row => Number(row._rowid))
        await ops.restoreTable({ id: ['t'], version: 1 })
        await restored.add([{ id: 5 }])
        await restored.delete('id = 2')
        const after = (await restored.query().withRowId().toArray()).map(row => [row.id, row._rowid])
        expect(after.slice(0, 2)).toEqual([
          [1, before[0]],
          [3, before[2]],
        ])
        expect(after[2]![1]).toBeGreaterThan(Math.max(...before))
      })

      test('a missing version cannot be restored', async () => {
        const restored = await ns.createTable('t', rows)
        await restored.add([{ id: 4 }])
        await restored.add([{ id: 5 }])
        await ops.batchDeleteTableVersions({ id: ['t'], ranges: [{ start_version: 1, end_version: 2 }] })
        for (const version of [1, 9]) {
          expect(await failure(ops.restoreTable({ id: ['t'], version }))).toMatchObject(missingVersion)
        }
        expect(await failure(ops.restoreTable({ id: ['no'], version: 1 }))).toMatchObject(missingTable)
        await declare('declared')
        expect(await failure(ops.restoreTable({ id: ['declared'], version: 1 }))).toMatchObject(
          missingVersion,
        )
        await ops.restoreTable({ id: ['t'], version: 3 })
        expect(await versionsOf('t')).toEqual([2, 3, 4])
      })

      test('concurrent restores and appends succeed, or fail with a retryable error', async () => {
        const busy = await ns.createTable('t', rows)
        const restores = Array.from({ length: 4 }, () => ops.restoreTable({ id: ['t'], version: 1 }))
        const appends = await Promise.allSettled([10, 11, 12, 13].map(id => busy.add([{ id }])))
        await Promise.all(restores)
        const landed = appends.filter(({ status }) => status === 'fulfilled').length
        for (const result of appends) {
          if (result.status === 'rejected') expect(result.reason).toMatchObject(conflict)
        }
        expect(await busy.version()).toBe(1 + restores.length + landed)
        const found = await busy.query().withRowId().toArray()
        expect(new Set(found.map(row => row._rowid)).size).toBe(found.length)
        expect(found.slice(0, 3).map(({ id }) => id)).toEqual([1, 2, 3])
      })
    })

    describe('schema metadata and statistics', () => {
      test('the metadata of a schema is replaced as a whole, in a version of its own', async () => {
        const described = await ns.createTable('t', rows)
        const update = (metadata: Record<string, string>) =>
          ops.updateTableSchemaMetadata({ id: ['t'], metadata })
        expect((await update({ a: '1', b: '2' })).metadata).toEqual({ a: '1', b: '2' })
        const second: Record<string, string> = { c: '3', constructor: 'x' }
        expect((await update(second)).metadata).toEqual(second)
        const at = async (version?: number) =>
          (await ops.describeTable({ id: ['t'], ...(version !== undefined && { version }) })).metadata
        expect([await at(1), await at(2), await at(3)]).toEqual([{}, { a: '1', b: '2' }, second])
        expect((await update({})).metadata).toEqual({})
        expect(await at()).toEqual({})
        expect(await described.version()).toBe(4)
        expect(await idsOf(described)).toEqual([1, 2, 3])
        expect((await described.add([{ id: 4 }])).version).toBe(5)
        expect(await failure(update({ a: 1 } as never))).toMatchObject(badRequest)
        await declare('declared')
        const nothing = ops.updateTableSchemaMetadata({ id: ['declared'], metadata: {} })
        expect(await failure(nothing)).toMatchObject(missingVersion)
      })

      test('statistics count live rows and fragments', async () => {
        const counted = await ns.createTable('t', rows)
        await counted.add([{ id: 4 }])
        await counted.delete('id = 1')
        const stats = await ops.getTableStats({ id: ['t'] })
        expect(stats).toMatchObject({ num_rows: 3, num_indices: 0 })
        expect(stats.total_bytes).toBeGreaterThan(0)
        const lengths = { min: 1, max: 2, mean: 1, p25: 1, p50: 1, p75: 2, p99: 2 }
        expect(stats.fragment_stats).toEqual({ num_fragments: 2, num_small_fragments: 2, lengths })
        await counted.delete('true')
        const none = { min: 0, max: 0, mean: 0, p25: 0, p50: 0, p75: 0, p99: 0 }
        expect((await ops.getTableStats({ id: ['t'] })).fragment_stats).toEqual({
          num_fragments: 0,
          num_small_fragments: 0,
          lengths: none,
        })
        expect(await failure(ops.getTableStats({ id: ['no'] }))).toMatchObject(missingTable)
      })
    })

    describe('pages', () => {
      const all = [1, 2, 3, 4, 5, 6, 7, 8, 9]
      beforeEach(async () => {
        await declare('t')
        for (const version of all) await pointTo('t', version)
      })

      test('A-030 A-031 versions come in pages, oldest or newest first', async () => {
        const walk = async (descending: boolean, limit: number) => {
          const found: number[] = []
          let page_token: string | undefined
          do {
            const page = await ops.listTableVersions({
              id: ['t'],
              descending,
              limit,
              ...(page_token !== undefined && { page_token }),
            })
            expect(page.versions.length).toBeLessThanOrEqual(limit)
            found.push(...numbersOf(page.versions))
            page_token = page.page_token
          } while (page_token !== undefined)
          return found
        }
        for (const limit of [1, 2, 4, 9, 100]) {
          expect(await walk(false, limit)).toEqual(all)
          expect(await walk(true, limit)).toEqual([...all].reverse())
        }
      })

      test('A-032 versions created and deleted between two pages neither repeat nor hide others', async () => {
        for (const descending of [false, true]) {
          const id = ['t']
          const one = await ops.listTableVersions({ id, descending, limit: 3 })
          const [from, to] = descending ? [5, 8] : [3, 5]
          await ops.batchDeleteTableVersions({ id, ranges: [{ start_version: from, end_version: to }] })
          await pointTo('t', descending ? 21 : 20)
          const two = await ops.listTableVersions({ id, descending, page_token: one.page_token! })
          const seen = numbersOf([...one.versions, ...two.versions])
          expect(seen).toEqual(descending ? [20, 9, 8, 2, 1] : [1, 2, 3, 5, 6, 7, 8, 9, 20])
        }
      })

      test('A-033 A-034 invalid limits and tokens are refused', async () => {
        const { page_token } = await ops.listTableVersions({ id: ['t'], limit: 1 })
        for (const bad of [
          { limit: 0 },
          { limit: -1 },
          { limit: 1.5 },
          { page_token: 'x' },
          { page_token: '~1.x' },
          { page_token: `${page_token}x` },
        ]) {
          expect([bad, await failure(ops.listTableVersions({ id: ['t'], ...bad }))]).toMatchObject([
            bad,
            badRequest,
          ])
        }
        await ns.createTable('rows', rows)
        expect(await failure(ops.listTables({ id: [], page_token: page_token! }))).toMatchObject(badRequest)
        expect(await failure(ops.listTableTags({ id: ['t'], page_token: page_token! }))).toMatchObject(
          badRequest,
        )
        const whole = await ops.listTableVersions({ id: ['t'], limit: 1_000_000, page_token: '' })
        expect(numbersOf(whole.versions)).toEqual(all)
      })
    })

    describe('batches of versions', () => {
      beforeEach(async () => {
        for (const id of ['a', 'b']) await declare(id)
      })
      const entry = (id: string, version: number, manifest_path = `${id}/${version}`) => ({
        id: [id],
        version,
        manifest_path,
      })

      test('A-133 all versions are created, and answered in request order', async () => {
        const { versions } = await ops.batchCreateTableVersions({
          entries: [entry('b', 2), entry('a', 1), entry('a', 4), entry('b', 3)],
        })
        expect(versions.map(({ version, manifest_path }) => [version, manifest_path])).toEqual([
          [2, 'b/2'],
          [1, 'a/1'],
          [4, 'a/4'],
          [3, 'b/3'],
        ])
        expect(new Set(versions.map(({ timestamp_millis }) => timestamp_millis)).size).toBe(1)
        expect([await versionsOf('a'), await versionsOf('b')]).toEqual([
          [1, 4],
          [2, 3],
        ])
      })

      test('A-134 if one cannot be created, none is, and the error says which', async () => {
        await ops.batchCreateTableVersions({ entries: [entry('a', 1)] })
        await ns.createTable('rows', rows)
        await declare('c')
        const staged = entry('c', 1, '18446744073709551614.manifest-00000000-0000-4000-8000-000000000000')
        const bad = [
          [entry('a', 1), conflict],
          [entry('b', 1), conflict],
          [entry('no', 1), missingTable],
          [entry('rows', 2), unsupported],
          [staged, badRequest],
        ] as const
        for (const [last, error] of bad) {
          const call = ops.batchCreateTableVersions({ entries: [entry('b', 1), entry('a', 2), last] })
          expect([last, await failure(call)]).toMatchObject([
            last,
            { ...error, message: expect.stringContaining('entries[2]') },
          ])
          expect([await versionsOf('a'), await versionsOf('b')]).toEqual([[1], []])
        }
        expect(await failure(ops.batchCreateTableVersions({ entries: [] }))).toMatchObject(badRequest)
      })

      test('S5 a table whose first version is a pointer in a batch stays a pointer table in it', async () => {
        const staged = await stage(opened.store, await locationOf('b'), 9)
        await ops.batchCreateTableVersions({ entries: [entry('b', 1), entry('b', 9, staged.manifest_path)] })
        const { version } = await ops.describeTableVersion({ id: ['b'] })
        expect(version).toMatchObject({ version: 9, manifest_path: staged.manifest_path })
        expect(await opened.store.get(staged.key)).toEqual(staged.bytes)
        expect(await versionsOf('b')).toEqual([1, 9])
      })

      test('S6 staged manifests of a batch all get their final names', async () => {
        const staged = []
        for (const id of ['a', 'b']) {
          const location = await locationOf(id)
          for (const version of [1, 2]) {
            staged.push({ id: [id], ...(await stage(opened.store, location, version)) })
          }
        }
        const { versions } = await ops.batchCreateTableVersions({ entries: staged.map(requestOf) })
        expect(numbersOf(versions)).toEqual([1, 2, 1, 2])
        for (const { final, bytes } of staged) expect(await opened.store.get(final)).toEqual(bytes)
        expect(await versionsOf('b')).toEqual([1, 2])
      })

      test('S6 a batch whose writer died before the final names leaves versions that can all be read', async () => {
        const location = await locationOf('a')
        const staged = [await stage(opened.store, location, 1), await stage(opened.store, location, 2)]
        await ops.batchCreateTableVersions({ entries: staged.map(one => ({ id: ['a'], ...requestOf(one) })) })
        for (const { final, key, bytes } of staged) {
          await opened.store.delete(final)
          await opened.store.put(key, bytes)
        }
        const later = (await opened.another()).operations
        expect(numbersOf((await later.listTableVersions({ id: ['a'] })).versions)).toEqual([1, 2])
        for (const { final, bytes } of staged) expect(await opened.store.get(final)).toEqual(bytes)
      })

      test('A-123 of batches that share one version, one succeeds, and the others leave nothing', async () => {
        const tries = Array.from({ length: 5 }, (_, i) =>
          ops.batchCreateTableVersions({ entries: [entry('b', i + 1, `by ${i}`), entry('a', 1, `by ${i}`)] }),
        )
        const settled = await Promise.allSettled(tries)
        expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
        const { version } = await ops.describeTableVersion({ id: ['a'] })
        const { versions } = await ops.listTableVersions({ id: ['b'] })
        expect(versions.map(({ manifest_path }) => manifest_path)).toEqual([version.manifest_path])
      })
    })

    describe('batches of anything', () => {
      const declaration = (id: string, more = {}) => ({ declare_table: { id: [id], ...more } })
      const version = (id: string, number: number, manifest_path = `${id}/${number}`) => ({
        create_table_version: { id: [id], version: number, manifest_path },
      })
      const deletion = (id: string, start_version: number, end_version: number) => ({
        delete_table_versions: { id: [id], ranges: [{ start_version, end_version }] },
      })
      const departure = (id: string) => ({ deregister_table: { id: [id] } })
      const commit = (...operations: Request<'batchCommitTables'>['operations'][number][]) =>
        ops.batchCommitTables({ operations })

      test('A-138 A-139 later operations see the effects of earlier ones; one result each, in order', async () => {
        await declare('old')
        await pointTo('old', 1)
        const { results } = await commit(
          declaration('t', { properties: { a: '1' } }),
          version('t', 1),
          version('t', 2),
          deletion('t', 1, 2),
          version('old', 2),
          departure('old'),
        )
        expect(results.map(result => Object.keys(result))).toEqual([
          ['declare_table'],
          ['create_table_version'],
          ['create_table_version'],
          ['delete_table_versions'],
          ['create_table_version'],
          ['deregister_table'],
        ])
        expect(results[0]!.declare_table).toMatchObject({ managed_versioning: true, properties: { a: '1' } })
        expect(results[2]!.create_table_version!.version).toMatchObject({ version: 2, manifest_path: 't/2' })
        expect(results[3]!.delete_table_versions).toMatchObject({ deleted_count: 1 })
        expect(results[5]!.deregister_table!.id).toEqual(['old'])
        expect(await versionsOf('t')).toEqual([2])
        expect(await ns.tableNames()).toEqual(['t'])
        await ops.registerTable({ id: ['old'], location: results[5]!.deregister_table!.location })
        expect(await versionsOf('old')).toEqual([1, 2])
      })

      test('A-139 a name freed in the batch can be used again in it', async () => {
        await declare('t')
        await pointTo('t', 1, 'old')
        await commit(departure('t'), declaration('t'), version('t', 1, 'new'))
        const { versions } = await ops.listTableVersions({ id: ['t'] })
        expect(versions.map(({ manifest_path }) => manifest_path)).toEqual(['new'])
      })

      test('A-140 if one fails, nothing is committed, and the error says which', async () => {
        await declare('t')
        await pointTo('t', 1)
        await ns.createTable('rows', rows)
        const table = await ns.openTable('rows')
        await table.add([{ id: 4 }])
        await table.tags.create('kept', 1)
        const bad = [
          [[declaration('t')], tableExists],
          [[declaration('new')], tableExists],
          [[declaration('x', { location: '../x' })], badRequest],
          [[{ declare_table: { id: ['no', 'x'] } }], { code: 1, status: 404 }],
          [[version('t', 2), version('t', 2)], conflict],
          [[version('rows', 3)], unsupported],
          [[departure('no')], missingTable],
          [[departure('t'), version('t', 2)], missingTable],
          [[deletion('rows', 1, 2)], { code: 19, status: 409 }],
          [[deletion('no', 1, 2)], missingTable],
          [[declaration('a', { location: 'l/a' }), declaration('b', { location: 'l/a/b' })], badRequest],
        ] as const
        for (const [operations, error] of bad) {
          const call = commit(declaration('new'), ...operations)
          const last = `operations[${operations.length}]`
          expect([operations, await failure(call)]).toMatchObject([
            operations,
            { ...error, message: expect.stringContaining(last) },
          ])
          expect(await ns.tableNames()).toEqual(['rows', 't'])
          expect([await versionsOf('t'), await versionsOf('rows')]).toEqual([[1], [1, 2]])
        }
      })

      test('A-135 each operation is exactly one of four; both spellings are read', async () => {
        const both = { ...declaration('x'), ...departure('x') }
        for (const operations of [[], [{}], [both], [{ drop_table: { id: ['x'] } }]]) {
          const call = ops.batchCommitTables({ operations } as never)
          expect([operations, await failure(call)]).toMatchObject([operations, badRequest])
        }
        const { results } = await ops.batchCommitTables({
          operations: [{ DeclareTable: { id: ['x'] } }],
        } as never)
        expect(results).toHaveLength(1)
        expect(await ns.tableNames()).toEqual(['x'])
      })

      test('a batch without effect commits nothing', async () => {
        await declare('t')
        expect(await commit(deletion('t', 0, -1))).toEqual({
          results: [{ delete_table_versions: { deleted_count: 0 } }],
        })
      })

      test('S5 a manifest cannot be staged for a table that the batch declares', async () => {
        await declare('t')
        const staged = await stage(opened.store, await locationOf('t'), 1)
        const call = commit(declaration('u'), version('u', 1, staged.manifest_path))
        expect(await failure(call)).toMatchObject(badRequest)
        expect(await ns.tableNames()).toEqual(['t'])
      })

      test('A-143 a reader sees all of a batch or nothing of it', async () => {
        for (const id of ['a', 'b']) await declare(id)
        const reader = await opened.another()
        const seen = async () => {
          const snapshot = await reader.snapshot()
          const lists = await Promise.all(
            ['a', 'b'].map(id => snapshot.operations.listTableVersions({ id: [id] })),
          )
          await snapshot.close()
          return lists.map(({ versions }) => numbersOf(versions))
        }
        let settled = false
        const written = Promise.all(
          Array.from({ length: 15 }, (_, i) =>
            commit(version('a', i + 1), version('b', i + 1)).catch(() => {}),
          ),
        ).finally(() => {
          settled = true
        })
        while (!settled) {
          const [a, b] = await seen()
          expect(a).toEqual(b)
          await systemClock.yield()
        }
        await written
        expect((await seen())[0]!.length).toBeGreaterThan(0)
      })
    })

    describe('transactions', () => {
      /** One commit of every operation that makes one, and the transaction it names. */
      async function everyCommit(): Promise<Record<string, string>> {
        const made: Record<string, string> = {}
        const note = (
          name: string,
          { transaction_id }: { transaction_id?: string | readonly string[] | undefined },
        ) => {
          const ids = [transaction_id].flat()
          expect([name, ids]).toEqual([name, [expect.any(String)]])
          made[name] = ids[0] as string
        }
        const body = await (await ns.createTable('source', rows)).query().toIpc()
        const id = ['t']
        note('createNamespace', await ops.createNamespace({ id: ['n'] }))
        note('declareTable', await ops.declareTable({ id: ['p'] }))
        note(
          'createTableVersion',
          await ops.createTableVersion({ id: ['p'], version: 1, manifest_path: 'x' }),
        )
        note('createTable', await ops.createTable({ id }, body))
        note('insertIntoTable', await ops.insertIntoTable({ id }, body))
        note('overwriting insert', await ops.insertIntoTable({ id, mode: 'Overwrite' }, body))
        note('overwriting create', await ops.createTable({ id, mode: 'Overwrite' }, body))
        note('deleteFromTable', await ops.deleteFromTable({ id, predicate: 'id = 1' }))
        note('restoreTable', await ops.restoreTable({ id, version: 1 }))
        note('createTableTag', await ops.createTableTag({ id, tag: 'a', version: 1 }))
        note('updateTableTag', await ops.updateTableTag({ id, tag: 'a', version: 2 }))
        note('deleteTableTag', await ops.deleteTableTag({ id, tag: 'a' }))
        note('renameTable', await ops.renameTable({ id, new_table_name: 'u' }))
        note(
          'batchCreateTableVersions',
          await ops.batchCreateTableVersions({ entries: [{ id: ['p'], version: 2, manifest_path: 'x' }] }),
        )
        note(
          'batchCommitTables',
          await ops.batchCommitTables({ operations: [{ declare_table: { id: ['q'] } }] }),
        )
        note(
          'batchDeleteTableVersions',
          await ops.batchDeleteTableVersions({ id: ['u'], ranges: [{ start_version: 1, end_version: 2 }] }),
        )
        const gone = await ops.deregisterTable({ id: ['u'] })
        note('deregisterTable', gone)
        note('registerTable', await ops.registerTable({ id: ['u'], location: gone.location }))
        note(
          'overwriting register',
          await ops.registerTable({
            id: ['u'],
            location: gone.location,
            mode: 'Overwrite',
            properties: { a: 'b' },
          }),
        )
        note('dropTable', await ops.dropTable({ id: ['u'] }))
        note('dropNamespace', await ops.dropNamespace({ id: ['n'] }))
        return made
      }

      test('A-151 A-152 every commit can be described and altered by the id in its reply', async () => {
        const made = await everyCommit()
        expect(new Set(Object.values(made)).size).toBe(Object.keys(made).length)
        const describe = async (id: string) => ops.describeTransaction({ id: [id] })
        expect((await describe(made.insertIntoTable!)).properties).toMatchObject({
          operation: 'append',
          version: '2',
          read_version: '1',
          uuid: made.insertIntoTable!.split('-').slice(1).join('-'),
          timestamp_millis: expect.stringMatching(/^\d{13}$/),
          table: expect.any(String),
        })
        expect((await describe(made.createTableVersion!)).properties).toMatchObject({ version: '1' })
        for (const [name, id] of Object.entries(made)) {
          const { properties } = await describe(id)
          expect([name, properties.operation]).toEqual([name, expect.stringMatching(/./)])
          const altered = await ops.alterTransaction({
            id: [id],
            actions: [{ setPropertyAction: { key: 'made by', value: name } }],
          })
          expect(altered).toEqual({ status: 'Succeeded', properties: { ...properties, 'made by': name } })
          expect(await describe(id)).toEqual(altered)
        }
        const later = (await opened.reopen()).operations
        for (const [name, id] of Object.entries(made)) {
          const { properties } = await later.describeTransaction({ id: [id] })
          expect(properties['made by']).toBe(name)
        }
      })

      test('A-110 a delete that matches no row returns the commit that made the version', async () => {
        const kept = await ns.createTable('t', rows)
        const { transaction_id } = await ops.deleteFromTable({ id: ['t'], predicate: 'id = 1' })
        const none = await ops.deleteFromTable({ id: ['t'], predicate: 'id = 1' })
        expect(none).toEqual({ num_deleted_rows: 0, version: 2, transaction_id })
        expect(await kept.version()).toBe(2)
      })

      test('A-144 A-145 all actions are applied, or none; each is exactly one', async () => {
        await declare('t')
        const id = [
          (await ops.createTableVersion({ id: ['t'], version: 1, manifest_path: 'x' })).transaction_id!,
        ]
        const set = (key: string, value: string, mode?: 'Overwrite' | 'Fail' | 'Skip') => ({
          setPropertyAction: { key, value, ...(mode && { mode }) },
        })
        const unset = (key: string, mode?: 'Skip' | 'Fail') => ({
          unsetPropertyAction: { key, ...(mode && { mode }) },
        })
        const alter = (...actions: object[]) => ops.alterTransaction({ id, actions } as never)
        const notes = async () => {
          const { properties } = await ops.describeTransaction({ id })
          return Object.fromEntries(Object.entries(properties).filter(([key]) => /^[abc]$/.test(key)))
        }
        await alter(set('a', '1'), set('b', '2'), set('a', '3'), unset('b'), unset('nothing'))
        expect(await notes()).toEqual({ a: '3' })
        await alter(set('a', '4', 'Skip'), set('b', '5', 'Skip'), set('c', '6', 'Fail'))
        expect(await notes()).toEqual({ a: '3', b: '5', c: '6' })
        const before = await notes()
        const failing = [
          [[set('c', '7', 'Fail')], conflict],
          [[unset('nothing', 'Fail')], conflict],
          [[{ setStatusAction: { status: 'Canceled' } }], conflict],
          [[{ setStatusAction: { status: 'Running' } }], conflict],
          [[set('version', '9')], badRequest],
          [[unset('uuid')], badRequest],
          [[set('b', 'x'.repeat(70_000))], badRequest],
          [[{}], badRequest],
          [[{ ...set('a', '1'), ...unset('b') }], badRequest],
          [[{ setStatusAction: { status: 'Done' } }], badRequest],
        ] as const
        for (const [actions, error] of failing) {
          const call = alter(set('a', 'changed'), unset('b'), ...actions)
          expect([actions, await failure(call)]).toMatchObject([actions, error])
          expect(await notes()).toEqual(before)
        }
        expect(await failure(alter())).toMatchObject(badRequest)
      })

      test('A-146 A-148 the status is read in any spelling, and a final status stays', async () => {
        await declare('t')
        const { transaction_id } = await ops.createTableVersion({ id: ['t'], version: 1, manifest_path: 'x' })
        for (const status of ['Succeeded', 'succeeded', 'SUCCEEDED']) {
          const actions = [{ setStatusAction: { status: status as never } }]
          expect((await ops.alterTransaction({ id: [transaction_id!], actions })).status).toBe('Succeeded')
        }
      })

      test('A-150 an unknown transaction id is 404, in any format', async () => {
        await declare('t')
        const { transaction_id } = await ops.createTableVersion({ id: ['t'], version: 1, manifest_path: 'x' })
        const [slot, ...uuid] = transaction_id!.split('-')
        const next = (Number.parseInt(slot!, 36) - 1).toString(36)
        const ids = [
          'x',
          '0',
          uuid.join('-'),
          `${next}-${uuid.join('-')}`,
          `zzzz-${uuid.join('-')}`,
          `0-${uuid.join('-')}`,
          transaction_id!.toUpperCase(),
          `${transaction_id}0`,
        ]
        for (const id of ids) {
          const gone = { code: 10, status: 404 }
          expect([id, await failure(ops.describeTransaction({ id: [id] }))]).toMatchObject([id, gone])
          const actions = [{ setPropertyAction: { key: 'a', value: 'b' } }]
          expect([id, await failure(ops.alterTransaction({ id: [id], actions }))]).toMatchObject([id, gone])
        }
        expect((await ops.describeTransaction({ id: ['t', transaction_id!] })).status).toBe('Succeeded')
      })
    })

    describe('identifiers', () => {
      test('A-120 a name cannot stand for a path', async () => {
        await ns.createNamespace('a')
        await ns.createNamespace('a$b')
        await ns.createTable('a$b$t', rows)
        for (const id of [['a\0b'], ['a\u001fb'], ['a$b']]) {
          expect([id, await failure(ops.describeNamespace({ id }))]).toMatchObject([id, { status: 404 }])
          expect([id, await failure(ops.dropNamespace({ id, behavior: 'Cascade' }))]).toMatchObject([
            id,
            { status: 404 },
          ])
          expect(await failure(ops.describeTable({ id: [...id, 't'] }))).toMatchObject({ status: 404 })
        }
        expect((await ops.listAllTables({})).tables).toEqual(['a$b$t'])
      })

      test('A-011 a namespace is not a table, and a table not a namespace', async () => {
        await ns.createNamespace('n')
        await ns.createTable('t', rows)
        expect(await failure(ops.describeTable({ id: ['n'] }))).toMatchObject(missingTable)
        expect(await failure(ops.describeNamespace({ id: ['t'] }))).toMatchObject({ code: 1, status: 404 })
        expect(await failure(ops.listTables({ id: ['t'] }))).toMatchObject({ code: 1, status: 404 })
        expect(await failure(ops.describeTable({ id: [] }))).toMatchObject(badRequest)
        await ns.createNamespace('t')
        await ns.createTable('n', rows)
        expect(await ns.tableNames()).toEqual(['n', 't'])
        expect(await ns.namespaceNames()).toEqual(['n', 't'])
      })

      test('creating a table and its namespaces is one call for its idempotency key', async () => {
        const create = () =>
          ns.createTable('a$b$t', rows, { createParents: true, idempotencyKey: 'k', mode: 'create' })
        await create()
        await create()
        expect(await (await ns.openTable('a$b$t')).version()).toBe(1)
      })
    })
  })
}

/** Tables that LanceDB 0.39.0 wrote: 40 rows, a deletion, 10 more rows, an update, a new column, another name. */
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { connectHttp } from '../../adapters/http/client.js'
import { serve } from '../../adapters/http/server.js'
import { connect, ErrorCode } from '../../src/index.js'
import { FileStore } from '../../src/storage/file-store.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'

const golden = join(import.meta.dirname, '../golden/lance-tables')
const freshFolder = temporaryRoots()

const address = (folder: string) => `lance+${pathToFileURL(folder)}`
const first = Array.from({ length: 40 }, (_, id) => id)
const kept = first.filter(id => id % 4 !== 1)
const added = Array.from({ length: 10 }, (_, i) => 100 + i)

describe.each(['plain', 'stable'])('the table %s', name => {
  test('each version has its rows, columns and time', async () => {
    const ns = await connect(address(golden))
    expect(await ns.tableNames()).toEqual(['plain', 'stable'])
    const table = await ns.openTable(name)
    const ids = async (version: number) => {
      const rows = await (await table.checkout(version)).query().select(['id']).orderBy('id').toArray()
      return rows.map(({ id }) => id)
    }
    expect(await ids(1)).toEqual(first)
    expect(await ids(2)).toEqual(kept)
    expect(await ids(3)).toEqual([...kept, ...added])
    expect(await ids(6)).toEqual([...kept, ...added])
    const texts = await table.query().where('id < 5').orderBy('id').toArray()
    expect(texts.map(row => Object.values(row).slice(0, 3))).toEqual([
      [0, 'row 0', { a: 0 }],
      [2, 'new', { a: 2 }],
      [3, 'row 3', { a: 3 }],
      [4, 'row 4', { a: 4 }],
    ])
    expect((await table.schema()).fields.map(field => field.name)).toEqual([
      'id',
      'words',
      's',
      'vector',
      'twice',
    ])
    const versions = await table.versions()
    expect(versions.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6])
    const times = versions.map(each => each.timestamp_millis)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(times.at(-1)).toBeLessThan(Date.now())
    await ns.close()
  })

  test('rows keep their ids only if the table has stable row ids', async () => {
    const ns = await connect(address(join(golden, `${name}.lance`)))
    const table = await ns.openTable(name)
    const rowId = async (version: number) => {
      const [row] = await (await table.checkout(version)).query().where('id = 2').withRowId().toArray()
      return row!._rowid
    }
    expect(await rowId(1)).toBe(2)
    expect(await rowId(6)).toBe(name === 'stable' ? 2 : 2 * 2 ** 32)
    await ns.close()
  })

  test('tags, counts, plans, groups and nearest rows are answered, and writes are refused', async () => {
    const ns = await connect(address(golden))
    const table = await ns.openTable(name)
    expect(await (await table.checkout('first')).countRows()).toBe(40)
    expect(await table.countRows('twice >= 200')).toBe(10)
    expect(await table.query().where('id > 90').explain()).toContain('version 6')
    const near = await table.search([103, 1, 2]).limit(2).toArray()
    expect(near.map(row => [row.id, row._distance])).toEqual([
      [103, 0],
      [expect.any(Number), 1],
    ])
    await expect(table.delete('true')).rejects.toMatchObject({ status: 403 })
    await expect(ns.createTable('more', [{ id: 1 }])).rejects.toMatchObject({ status: 403 })
    await ns.close()
  })

  test('a comparison of versions matches updated rows only if the table has stable row ids', async () => {
    const ns = await connect(address(golden))
    const diff = (await ns.openTable(name)).diff(3, 4)
    const counts = [await diff.added.count(), await diff.removed.count(), await diff.changed.count()]
    expect(counts).toEqual(name === 'stable' ? [0, 0, 1] : [1, 1, 0])
    await ns.close()
  })

  test('a root reads the table at a registered location, also versions that are written later', async () => {
    const folder = freshFolder()
    const ns = await connect(folder)
    const later = '18446744073709551609.manifest'
    cpSync(join(golden, `${name}.lance`), join(folder, 'pets'), {
      recursive: true,
      filter: path => !path.endsWith(later),
    })
    await ns.operations.registerTable({ id: ['pets'], location: 'pets' })
    const table = await ns.openTable('pets')
    expect(await table.version()).toBe(5)
    cpSync(join(golden, `${name}.lance/_versions`, later), join(folder, 'pets/_versions', later))
    expect(await table.countRows("words = 'new'")).toBe(1)
    expect(await ns.operations.getTableStats({ id: ['pets'] })).toMatchObject({ num_rows: 40 })
    await expect(table.delete('true')).rejects.toMatchObject({ status: 406 })
    await ns.close()
  })
})

test('scans return the rows of a version in parts, also over HTTP', async () => {
  const folder = freshFolder()
  await using root = await connect(folder)
  cpSync(join(golden, 'plain.lance'), join(folder, 'plain'), { recursive: true })
  await root.operations.registerTable({ id: ['plain'], location: 'plain' })
  await using local = await connect(address(golden))
  const server = await serve(local, { port: 0 })
  await using remote = await connectHttp(server.url)
  for (const ns of [root, local, remote]) {
    const table = await ns.openTable('plain')
    for (const version of [1, 3, 6]) {
      const at = await table.checkout(version)
      for (const asked of [{ where: 'id > 10' }, { files: true }]) {
        const all = at.query().select(['id'])
        const expected = await (asked.where === undefined ? all : all.where(asked.where)).toArray()
        const scan = await at.scan({ select: ['id'], slices: 3, ...asked })
        const found: unknown[] = []
        for (const slice of scan.slices) {
          // A file of Lance is not a file that a client of Sheaf reads.
          expect(slice.ranges?.some(range => !('token' in range))).not.toBe(true)
          for await (const batch of slice.batches()) found.push(...[...batch].map(({ id }) => ({ id })))
        }
        await scan.close()
        expect(found).toHaveLength(expected.length)
        expect(found).toEqual(expect.arrayContaining([...expected]))
      }
    }
  }
  await server.close()
})

test('in a root, the tags of the log count, and the tags in the folder are listed beside them', async () => {
  const folder = freshFolder()
  const ns = await connect(folder)
  cpSync(join(golden, 'plain.lance'), join(folder, 'pets'), { recursive: true })
  const branchTag = JSON.stringify({ branch: 'trial', version: 2, manifestSize: 1 })
  writeFileSync(join(folder, 'pets/_refs/tags/tried.json'), branchTag)
  await ns.operations.registerTable({ id: ['pets'], location: 'pets' })
  const table = await ns.openTable('pets')
  await table.tags.create('mine', 3)
  const listed = () => ns.operations.listTableTags({ id: ['pets'] })
  expect(await listed()).toMatchObject({
    tags: { mine: { version: 3 } },
    directory_tags: { first: { version: 1 } },
  })
  expect([...(await table.tags.list()).keys()]).toEqual(['mine'])
  expect(await failure(table.checkout('first'))).toMatchObject({
    code: ErrorCode.TagNotFound,
    message:
      'the tag "first" of table "pets" is only in the folder of the table, where LanceDB keeps it, and not in the log of the root',
    hint: 'read version 1, or create the tag in the root for this version',
  })
  expect(await failure(ns.operations.describeTable({ id: ['pets'], tag: 'tried' }))).toMatchObject({
    code: ErrorCode.TagNotFound,
    message: expect.stringContaining('on the branch "trial"'),
  })
  expect(await failure(table.checkout('none'))).toMatchObject({ message: 'table "pets" has no tag "none"' })
  await table.tags.create('first', 1)
  expect(await (await table.checkout('first')).countRows()).toBe(40)
  expect((await listed()).directory_tags).toBeUndefined()
  await ns.close()
})

test('a connection reports a tag of a branch, and an error names the branch', async () => {
  const folder = freshFolder()
  cpSync(golden, folder, { recursive: true })
  const branchTag = JSON.stringify({ branch: 'trial', version: 2, manifestSize: 1 })
  writeFileSync(join(folder, 'plain.lance/_refs/tags/tried.json'), branchTag)
  const warnings: string[] = []
  const ns = await connect(address(folder), { onWarning: message => warnings.push(message) })
  const table = await ns.openTable('plain')
  expect(warnings).toEqual(['tag "tried" of table "plain" is left out'])
  expect([...(await table.tags.list()).keys()]).toEqual(['first'])
  expect(await failure(table.checkout('tried'))).toMatchObject({
    code: ErrorCode.TagNotFound,
    message: expect.stringContaining('on the branch "trial", which Sheaf does not read'),
  })
  await ns.close()
})

test('options that have no meaning for a directory of LanceDB are refused', async () => {
  for (const options of [
    { readOnly: false },
    { create: true },
    { maintenance: 'elsewhere' },
    { storage: {} },
  ] as const) {
    await expect(connect(address(golden), options)).rejects.toMatchObject({ status: 400 })
  }
  await expect(connect(address(join(golden, 'missing')))).rejects.toMatchObject({ status: 404 })
})

test('the statistics of an index of LanceDB are refused as those of a missing index', async () => {
  const ns = await connect(address(golden))
  const request = { id: ['plain'], index_name: 'id_idx' }
  await expect(ns.operations.describeTableIndexStats(request)).rejects.toMatchObject({
    code: ErrorCode.IndexNotFound,
  })
  await ns.close()
})

test('prewarming loads the columns of a table into the cache', async () => {
  const ns = await connect(address(golden))
  const columns = () => ns.stats().memory.partitions.columns!.bytes
  expect(columns()).toBe(0)
  await ns.operations.prewarmTable({ id: ['plain'] })
  const loaded = columns()
  expect(loaded).toBeGreaterThan(0)
  await (await ns.openTable('plain')).query().toArray()
  expect(columns()).toBe(loaded)
  await ns.close()
})

test('Lance engines get the path of a table, and commit to the directory themselves', async () => {
  const ns = await connect(address(join(golden, 'plain.lance')))
  expect(await ns.operations.describeTable({ id: ['plain'] })).toMatchObject({
    location: join(golden, 'plain.lance'),
    managed_versioning: false,
  })
  await ns.close()
})

test('readOnly: true and create: false are accepted, and writes name the way to a root', async () => {
  const ns = await connect(address(golden), { readOnly: true, create: false })
  const table = await ns.openTable('plain')
  expect(await table.countRows()).toBe(40)
  for (const write of [table.delete('true'), ns.dropTable('plain'), ns.optimize()]) {
    expect(await failure(write)).toMatchObject({
      code: ErrorCode.PermissionDenied,
      message: 'a directory of LanceDB is read-only',
      hint: expect.stringContaining('createTable(name, table.query().batches())'),
    })
  }
  await ns.close()
})

test('opening a directory of LanceDB as a root names the address that reads its tables', async () => {
  const folder = freshFolder()
  cpSync(join(golden, 'plain.lance'), join(folder, 'plain.lance'), { recursive: true })
  for (const options of [{ create: false }, { readOnly: true }]) {
    expect(await failure(connect(folder, options))).toMatchObject({
      code: ErrorCode.NamespaceNotFound,
      hint: expect.stringContaining(address(folder)),
    })
  }
  const warnings: string[] = []
  const onWarning = (message: string, cause: unknown) => warnings.push(`${message}; ${cause}`)
  const ns = await connect(folder, { onWarning })
  expect(warnings).toEqual([expect.stringContaining('plain.lance')])
  expect(warnings[0]).toContain(address(folder))
  await ns.createTable('t', [{ id: 1 }])
  await ns.close()
  await (await connect(folder, { onWarning })).close()
  expect(warnings).toHaveLength(1)
})

test('an address without a local directory is refused', async () => {
  expect(await failure(connect('lance+file://host/data'))).toMatchObject({
    code: ErrorCode.InvalidInput,
    message: expect.stringContaining('lance+file://host/data'),
    hint: expect.stringContaining('lance+file:///'),
  })
  expect(await failure(connect(address(join(freshFolder(), 'missing'))))).toMatchObject({
    code: ErrorCode.NamespaceNotFound,
    hint: expect.not.stringContaining('create'),
  })
})

test('a version that LanceDB deletes while it is read is not found', async () => {
  const folder = freshFolder()
  cpSync(join(golden, 'plain.lance'), join(folder, 'plain.lance'), { recursive: true })
  const ns = await connect(address(folder))
  const at = await (await ns.openTable('plain')).checkout(1)
  const { getRange } = FileStore.prototype
  const spy = vi.spyOn(FileStore.prototype, 'getRange').mockImplementation(function (
    this: FileStore,
    ...args
  ) {
    if (args[0].includes('/data/')) {
      rmSync(join(folder, args[0]), { force: true })
      rmSync(join(folder, 'plain.lance/_versions/18446744073709551614.manifest'), { force: true })
    }
    return getRange.apply(this, args)
  })
  try {
    expect(await failure(at.query().toArray())).toMatchObject({
      code: ErrorCode.TableVersionNotFound,
      message: expect.stringContaining('deleted by a Lance engine while it was read'),
    })
  } finally {
    spy.mockRestore()
    await ns.close()
  }
})

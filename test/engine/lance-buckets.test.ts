/** Tables of LanceDB in object storage: answers, requests, and rounds of requests. */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { writeLance } from '../../adapters/files/public.js'
import { ObjectStore } from '../../adapters/object-store/object-store.js'
import { FarBucket, type Objects } from '../../bench/far-bucket.js'
import { connect, type Table } from '../../src/index.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'

const freshFolder = temporaryRoots()
const golden = join(import.meta.dirname, '../golden/lance-tables')

function storeOf(bucket: FarBucket, prefix = ''): ObjectStore {
  return new ObjectStore(bucket, { prefix, timeoutMs: 60_000, retries: 0 })
}

/** Copy a directory into a bucket. */
function objectsOf(directory: string, prefix = ''): Objects {
  const objects: Objects = new Map()
  for (const path of readdirSync(directory, { recursive: true }) as string[]) {
    const file = join(directory, path)
    if (statSync(file).isFile()) objects.set(`${prefix}${path}`, { bytes: readFileSync(file), writer: '' })
  }
  return objects
}

const dim = 64
const count = 100_000
const rows = Array.from({ length: count }, (_, id) => {
  const vector = Float32Array.from({ length: dim }, (_, i) => (id * 7 + i * 13) % 101)
  return { id, text: `row ${id}`, vector }
})

test('a query of a table in a bucket needs few requests in few rounds, and has the answer of the local table', async () => {
  const folder = freshFolder()
  mkdirSync(folder)
  await writeLance(join(folder, 'items.lance'), rows)
  const bucket = new FarBucket(objectsOf(folder), null)
  await using local = await connect(`lance+${pathToFileURL(folder)}`)
  await using far = await connect('lance+s3://bucket/db', { store: storeOf(bucket) })
  const steps: Record<string, [ask: (table: Table) => Promise<unknown>, requests: number, rounds: number]> = {
    count: [table => table.countRows(), 5, 2],
    'filter over a column': [table => table.countRows('id % 1000 = 7'), 7, 4],
    nearest: [
      table => table.search(rows[5]!.vector).select(['id']).limit(10).toArray({ int64: 'bigint' }),
      17,
      2,
    ],
    'nearest again': [
      table => table.search(rows[9]!.vector).select(['id']).limit(10).toArray({ int64: 'bigint' }),
      4,
      1,
    ],
    'one row': [table => table.query().where('id = 77777').select(['id', 'text']).toArray(), 4, 1],
  }
  const note = () => bucket.log.join('\n')
  expect([bucket.requests, bucket.rounds], note()).toEqual([5, 4])
  bucket.reset()
  const table = await far.openTable('items')
  expect(bucket.requests, note()).toBeLessThanOrEqual(10)
  expect(bucket.rounds, note()).toBeLessThanOrEqual(2)
  for (const [name, [ask, requests, rounds]] of Object.entries(steps)) {
    bucket.reset()
    const answer = await ask(table)
    expect(bucket.requests, `${name}\n${note()}`).toBeLessThanOrEqual(requests)
    expect(bucket.rounds, `${name}\n${note()}`).toBeLessThanOrEqual(rounds)
    expect(answer, name).toEqual(await ask(await local.openTable('items')))
  }
  expect(far.stats().store).toBeDefined()
})

test('versions, tags and later versions of a directory in a bucket are read', async () => {
  const objects = objectsOf(golden)
  const newest = 'plain.lance/_versions/18446744073709551609.manifest'
  const later = objects.get(newest)!
  objects.delete(newest)
  await using ns = await connect('lance+gs://bucket/db', { store: storeOf(new FarBucket(objects, 0)) })
  expect(await ns.tableNames()).toEqual(['plain', 'stable'])
  const table = await ns.openTable('plain')
  expect((await table.versions()).map(({ version }) => version)).toEqual([1, 2, 3, 4, 5])
  expect(await (await table.checkout('first')).countRows()).toBe(40)
  objects.set(newest, later)
  expect(await table.countRows("words = 'new'")).toBe(1)
  expect(await ns.operations.describeTable({ id: ['plain'] })).toMatchObject({
    location: 'gs://bucket/db/plain.lance',
  })
  await expect(table.delete('true')).rejects.toMatchObject({ status: 403 })
})

test('the folder of one table in a bucket is a connection with this table', async () => {
  const bucket = new FarBucket(objectsOf(join(golden, 'stable.lance'), 'db/stable.lance/'), 0)
  const store = storeOf(bucket, 'db/stable.lance/')
  await using ns = await connect('lance+az://container/db/stable.lance/', { store })
  expect(await ns.tableNames()).toEqual(['stable'])
  const table = await ns.openTable('stable')
  expect(await table.countRows()).toBe(40)
  expect(await (await table.checkout('first')).countRows()).toBe(40)
  expect(await ns.operations.describeTable({ id: ['stable'] })).toMatchObject({
    location: 'az://container/db/stable.lance',
  })
})

test('folders with more objects than a page of a listing are found', async () => {
  const objects = objectsOf(golden)
  for (let i = 0; i < 2500; i++) {
    for (const table of ['plain', 'other'])
      objects.set(`${table}.lance/_transactions/${i}.txn`, { bytes: new Uint8Array(1), writer: '' })
  }
  await using ns = await connect('lance+s3://bucket', { store: storeOf(new FarBucket(objects, 0)) })
  expect(await ns.tableNames()).toEqual(['plain', 'stable'])
})

test('a root in a bucket reads a registered table', async () => {
  const objects = objectsOf(join(golden, 'plain.lance'), 'pets/')
  await using ns = await connect('s3://bucket/root', { store: storeOf(new FarBucket(objects, 0)) })
  await ns.operations.registerTable({ id: ['pets'], location: 'pets' })
  const table = await ns.openTable('pets')
  expect(await table.countRows('twice >= 200')).toBe(10)
  expect(await (await table.checkout(1)).countRows()).toBe(40)
  expect((await table.search([103, 1, 2]).limit(1).toArray())[0]).toMatchObject({ id: 103, _distance: 0 })
  await expect(table.delete('true')).rejects.toMatchObject({ status: 406 })
})

test('options without a meaning, and addresses of other kinds, are refused', async () => {
  const store = storeOf(new FarBucket(new Map(), 0))
  expect(await failure(connect('lance+s3://bucket/db', { store, cacheDir: '/tmp/cache' }))).toMatchObject({
    status: 400,
    message: expect.stringContaining('cacheDir'),
  })
  expect(await failure(connect('lance+s3://bucket/db', { store, storage: {} }))).toMatchObject({
    status: 400,
    message: expect.stringContaining('the option storage has no effect'),
  })
  expect(await failure(connect('lance+ftp://host/db'))).toMatchObject({
    status: 400,
    message: expect.stringContaining('ftp://host/db'),
  })
})

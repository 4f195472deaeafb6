/** The life of an index, from its request on. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectHttp } from '../../adapters/http/client.js'
import { serve } from '../../adapters/http/server.js'
import type { Table } from '../../src/index.js'
import type { MemoryStore } from '../../src/storage/memory-store.js'
import { failure } from '../support/failure.js'
import { openWithBuilder } from '../support/index-builds.js'
import { keysIn } from '../support/stores.js'

let root: Awaited<ReturnType<typeof openWithBuilder>>
let table: Table
beforeEach(async () => {
  root = await openWithBuilder()
  table = await root.ns.createTable('t', [1, 2, 3, 4].map(rowOf))
})
afterEach(() => root.ns.close())

const rowOf = (n: number) => ({ id: n, text: `row ${n}`, tags: ['a', 'b'], meta: { lang: 'en' } })

async function reopened(store: MemoryStore) {
  await root.ns.close()
  root = await openWithBuilder(store)
  table = await root.ns.openTable('t')
}

/** Name, status and how many rows each has and lacks. */
const shown = async (of: Table = table) =>
  (await of.listIndices()).map(({ name, status, indexedRows, unindexedRows }) => {
    return `${name} ${status} ${indexedRows}+${unindexedRows}`
  })

const transaction = async (id: string | undefined) => {
  const { status, properties } = await root.ops.describeTransaction({ id: [id!] })
  return { status, ...properties }
}

const create = (more: object = {}) =>
  root.ops.createTableIndex({ id: ['t'], column: 'id', index_type: 'BTREE', ...more })

test('A-080 A-081 A-090 an index is requested, built, and described at every step', async () => {
  const { begun, release } = root.builder.hold()
  const { transaction_id, index_name } = await create()
  await begun
  expect(index_name).toBe('id_idx')
  expect(await shown()).toEqual(['id_idx building 0+4'])
  expect(await table.indexStats('id_idx')).toEqual({
    type: 'BTREE',
    distanceType: null,
    status: 'building',
    indexedRows: 0,
    unindexedRows: 4,
    segments: 0,
    progress: { done: 1, total: 4, phase: 'sorting' },
  })
  expect(await transaction(transaction_id)).toMatchObject({ status: 'Running', phase: 'sorting', total: '4' })
  const waiting = table.waitForIndex('id_idx')
  release()
  await waiting
  expect(await transaction(transaction_id)).toMatchObject({ status: 'Succeeded' })
  const [index] = (await root.ops.listTableIndices({ id: ['t'] })).indexes
  expect(index).toEqual({
    index_name: 'id_idx',
    index_uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
    columns: ['id'],
    status: 'ready',
    index_type: 'BTREE',
    num_indexed_rows: 4,
    num_unindexed_rows: 0,
    num_segments: 1,
    size_bytes: expect.any(Number),
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    index_version: 1,
    index_details: '{}',
    type_url: '/lance.table.BTreeIndexDetails',
  })
  expect((await root.ops.getTableStats({ id: ['t'] })).num_indices).toBe(1)
  expect((await table.versions()).map(({ metadata }) => metadata?.operation)).toEqual(['create', 'index'])
})

test('A-081 a job that no process has claimed is pending', async () => {
  const { begun, release } = root.builder.hold()
  await table.createIndex('id')
  await begun
  await table.createIndex('text')
  expect(await shown()).toEqual(['id_idx building 0+4', 'text_idx pending 0+4'])
  release()
  await table.waitForIndex(['id_idx', 'text_idx'], { timeoutMs: 60_000 })
  expect(await shown()).toEqual(['id_idx ready 4+0', 'text_idx ready 4+0'])
})

test('A-091 added and deleted rows are reported per version, builds at no old version', async () => {
  await table.createIndex('id', { waitTimeoutMs: 60_000 })
  await table.add([rowOf(5)])
  await table.delete('id = 2')
  expect(await shown()).toEqual(['id_idx stale 3+1'])
  const { begun, release } = root.builder.hold()
  await table.createIndex('text')
  await begun
  expect(await shown(await table.checkout(1))).toEqual([])
  expect(await shown(await table.checkout(2))).toEqual(['id_idx ready 4+0'])
  expect(await shown(await table.checkout(3))).toEqual(['id_idx stale 4+1'])
  expect(await shown(await table.checkout(4))).toEqual(['id_idx stale 3+1'])
  expect(await shown()).toEqual(['id_idx stale 3+1', 'text_idx building 0+4'])
  release()
})

test('A-092 of a partly indexed fragment, exactly the deleted rows are not counted', async () => {
  root.builder.share = () => 2
  await table.createIndex('id', { waitTimeoutMs: 60_000 })
  expect(await shown()).toEqual(['id_idx stale 2+2'])
  await table.delete('id = 4')
  expect(await shown()).toEqual(['id_idx stale 2+1'])
  await table.delete('id = 1')
  expect(await shown()).toEqual(['id_idx stale 1+1'])
})

test('a failed build is reported with its reason until another replaces it', async () => {
  root.builder.failure = new Error('no room for it')
  const { transaction_id, index_name } = await create({ index_type: 'BITMAP' })
  expect(await failure(table.waitForIndex(index_name))).toMatchObject({
    code: 19,
    message: expect.stringContaining('no room for it'),
  })
  expect(await transaction(transaction_id)).toMatchObject({ status: 'Failed', reason: 'no room for it' })
  const told = async () => {
    const [record] = (await root.ops.listTableIndices({ id: ['t'] })).indexes
    const { status, reason, index_type, index_details } = record!
    expect(JSON.parse(index_details!)).toEqual({ reason })
    return { status, reason, index_type }
  }
  const expected = { status: 'failed', reason: 'no room for it', index_type: 'BITMAP' }
  expect(await told()).toEqual(expected)
  expect(await table.indexStats('id_idx')).toMatchObject({ status: 'failed', reason: 'no room for it' })
  expect(await shown(await table.checkout(1))).toEqual([])
  // In the log, and in a checkpoint.
  await reopened(root.store)
  expect(await told()).toEqual(expected)
  await root.ns.optimize()
  expect(await keysIn(root.store, '_ckpt/')).toHaveLength(1)
  await reopened(root.store)
  expect(await told()).toEqual(expected)
  // With `replace: false` it does not count either.
  await create({ replace: false })
  await table.waitForIndex('id_idx')
  expect(await shown()).toEqual(['id_idx ready 4+0'])
})

test('the index that a failed build was to replace stays, and is reported', async () => {
  await table.createIndex('id', { waitTimeoutMs: 60_000 })
  root.builder.failure = new Error('no room for it')
  await table.createIndex('text', { name: 'id_idx' })
  await failure(table.waitForIndex('id_idx'))
  expect(await table.listIndices()).toMatchObject([
    { status: 'failed', reason: 'no room for it', columns: ['id'], indexedRows: 4, segments: 1 },
  ])
})

test('dropping forgets failed builds, and cancels queued and running ones', async () => {
  root.builder.failure = new Error('no')
  await table.createIndex('id')
  await failure(table.waitForIndex('id_idx'))
  await table.dropIndex('id_idx')
  expect(await shown()).toEqual([])
  expect(await failure(table.dropIndex('id_idx'))).toMatchObject({ code: 6, status: 404 })
  root.builder.failure = null
  const { begun, release } = root.builder.hold()
  const running = (await create()).transaction_id
  await begun
  const queued = (await create({ column: 'text' })).transaction_id
  const waiting = failure(table.waitForIndex(['id_idx', 'text_idx']))
  for (const name of ['id_idx', 'text_idx']) await table.dropIndex(name)
  release()
  expect(await waiting).toMatchObject({ code: 6 })
  for (const id of [running, queued]) {
    expect(await transaction(id)).toMatchObject({ status: 'Canceled', reason: 'its index was dropped' })
  }
  expect(await shown()).toEqual([])
  expect(root.engine.root.state.jobs.size).toBe(0)
})

test('A-094 S27 a drop is a version, says so, and leaves earlier versions unchanged', async () => {
  await table.createIndex('id', { waitTimeoutMs: 60_000 })
  await table.dropIndex('id_idx')
  expect(await table.version()).toBe(3)
  expect((await table.versions()).at(-1)?.metadata).toEqual({ operation: 'index' })
  const { header } = await root.engine.versions.slots.get(root.engine.root.head)
  expect(header.need).toContain('indexes')
  expect(await shown()).toEqual([])
  expect(await shown(await table.checkout(2))).toEqual(['id_idx ready 4+0'])
  await table.restore(2)
  expect(await shown()).toEqual(['id_idx ready 4+0'])
})

test('A-083 an equal definition changes nothing, another one replaces it or is refused', async () => {
  const { begun, release } = root.builder.hold()
  const first = await create({ replace: false })
  await begun
  for (const replace of [undefined, false, true]) expect(await create({ replace })).toEqual(first)
  const other = { column: 'text', name: 'id_idx', index_type: 'BITMAP' }
  for (const replace of [undefined, false]) {
    expect(await failure(create({ ...other, replace }))).toMatchObject({
      code: 7,
      status: 409,
      message: 'table "t" already has an index "id_idx": BTREE on "id"',
    })
  }
  const second = await create({ ...other, replace: true })
  expect(await transaction(first.transaction_id)).toMatchObject({
    status: 'Canceled',
    reason: 'another index takes its name',
  })
  expect(root.engine.root.state.jobs.size).toBe(1)
  release()
  await table.waitForIndex('id_idx')
  expect(await transaction(second.transaction_id)).toMatchObject({ status: 'Succeeded' })
  expect(await table.listIndices()).toMatchObject([{ columns: ['text'], type: 'BITMAP' }])
  const { uuid } = (await table.listIndices())[0]!
  expect(await create({ ...other, replace: false })).toEqual({ index_name: 'id_idx' })
  expect(await failure(create({ name: 'id_idx' }))).toMatchObject({ code: 7 })
  expect((await table.listIndices())[0]!.uuid).toBe(uuid)
  await create({ ...other, replace: true })
  await table.waitForIndex('id_idx')
  expect((await table.listIndices())[0]!.uuid).not.toBe(uuid)
})

test('A-083 in the dialect of Lance an index is replaced, unless the request forbids it', async () => {
  const send = (request: object) =>
    root.ops.createTableIndex(
      { id: ['t'], column: 'id', index_type: 'BTREE', name: 'i', ...request },
      { dialect: 'lance' },
    )
  await send({})
  await send({ column: 'text' })
  await table.waitForIndex('i')
  expect(await table.listIndices()).toMatchObject([{ columns: ['text'] }])
  expect(await failure(send({ replace: false }))).toMatchObject({ code: 7 })
})

test('A-082 an index is named after its column, with a number where another column has that name', async () => {
  await table.addColumns({ meta_lang: "'en'" })
  expect(await table.createIndex('meta.lang')).toEqual({ name: 'meta.lang_idx' })
  await table.createIndex('text', { name: 'meta_lang_idx' })
  expect(await table.createIndex('meta_lang')).toEqual({ name: 'meta_lang_idx_2' })
  expect(await table.createIndex('meta.lang')).toEqual({ name: 'meta.lang_idx' })
  expect((await table.listIndices()).map(({ columns }) => columns)).toEqual([
    ['meta.lang'],
    ['text'],
    ['meta_lang'],
  ])
})

test('a renamed column keeps its index, a dropped column loses it, and a cast makes it useless', async () => {
  for (const column of ['id', 'text', 'meta.lang']) await table.createIndex(column, { waitTimeoutMs: 60_000 })
  await table.alterColumns({ id: { rename: 'key' }, 'meta.lang': { rename: 'language' } })
  const columns = async () =>
    (await table.listIndices()).map(({ columns, indexedRows }) => [...columns, indexedRows])
  expect(await columns()).toEqual([
    ['key', 4],
    ['meta.language', 4],
    ['text', 4],
  ])
  await table.alterColumns({ key: { type: 'string' } })
  await table.dropColumns(['text'])
  expect(await columns()).toEqual([
    ['key', 0],
    ['meta.language', 4],
  ])
  expect(await shown()).toContain('id_idx stale 0+4')
})

test('changes of the table during an index build are not undone by it', async () => {
  const { begun, release } = root.builder.hold()
  await table.createIndex('id')
  await begun
  await table.createIndex('text')
  await table.add([rowOf(5)])
  await table.delete('id = 1')
  await table.alterColumns({ id: { rename: 'key' } })
  await table.dropColumns(['text'])
  release()
  await table.waitForIndex('id_idx')
  expect(await failure(table.waitForIndex('text_idx'))).toMatchObject({ code: 19 })
  expect(await shown()).toEqual(['id_idx stale 3+1', 'text_idx failed 0+4'])
})

test('an index whose column is dropped while it is built fails, and says why', async () => {
  const { begun, release } = root.builder.hold()
  await table.createIndex('text')
  await begun
  await table.dropColumns(['text'])
  release()
  expect(await failure(table.waitForIndex('text_idx'))).toMatchObject({
    code: 19,
    message: expect.stringContaining('was dropped'),
  })
  expect(await shown()).toEqual(['text_idx failed 0+4'])
  expect(await table.query().where('id = 1').select(['id']).toArray()).toEqual([{ id: 1 }])
})

test('an index whose column is renamed during the build exists under the new column name', async () => {
  const { begun, release } = root.builder.hold()
  await table.createIndex('text')
  await begun
  await table.alterColumns({ text: { rename: 'note' } })
  release()
  await table.waitForIndex('text_idx')
  expect(await table.listIndices()).toMatchObject([{ columns: ['note'], status: 'ready' }])
})

test('a failed build of a dropped column can still be dropped', async () => {
  root.builder.failure = new Error('no')
  await table.createIndex('text')
  await failure(table.waitForIndex('text_idx'))
  await table.dropColumns(['text'])
  expect(await table.listIndices()).toMatchObject([{ columns: [], status: 'failed' }])
  await table.dropIndex('text_idx')
  expect(await shown()).toEqual([])
})

test('a wait ends at its timeout or abort signal; the build continues', async () => {
  const { release } = root.builder.hold()
  const late = await failure(table.createIndex('id', { waitTimeoutMs: 1 }))
  expect(late).toMatchObject({ code: 17, message: expect.stringContaining('"id_idx"') })
  const caller = new AbortController()
  const waiting = failure(table.waitForIndex('id_idx', { signal: caller.signal }))
  caller.abort(new Error('enough'))
  expect(await waiting).toMatchObject({ message: 'enough' })
  release()
  await table.waitForIndex('id_idx', { timeoutMs: 60_000 })
  expect(await failure(table.waitForIndex('id_idx', { timeoutMs: Number.NaN }))).toMatchObject({ code: 13 })
})

test('A-093 over HTTP a wait for an index polls, with any index name', async () => {
  const server = await serve(root.ns, { port: 0 })
  const remote = connectHttp(server.url)
  try {
    const far = await remote.openTable('t')
    const name = 'a/b c$%?'
    await far.createIndex('tags', { type: 'LABEL_LIST', name, waitTimeoutMs: 60_000 })
    expect(await far.indexStats(name)).toMatchObject({ type: 'LABEL_LIST', status: 'ready', indexedRows: 4 })
    root.builder.failure = new Error('no room')
    const failed = await failure(far.createIndex('id', { waitTimeoutMs: 60_000 }))
    expect(failed).toMatchObject({ code: 19, message: expect.stringContaining('no room') })
    for (const each of [name, 'id_idx']) await far.dropIndex(each)
    expect(await far.listIndices()).toEqual([])
  } finally {
    await remote.close()
    await server.close()
  }
})

test('in a transaction indexes are listed and dropped, not created', async () => {
  await table.createIndex('id', { waitTimeoutMs: 60_000 })
  await root.ns.transaction(async tx => {
    const within = tx.table('t')
    expect(await failure(within.createIndex('text'))).toMatchObject({ code: 0 })
    await within.add([rowOf(5)])
    expect(await shown(within)).toEqual(['id_idx stale 4+1'])
    await within.dropIndex('id_idx')
    expect(await shown(within)).toEqual([])
  })
  expect([await shown(), await table.countRows()]).toEqual([[], 5])
  expect((await root.engine.versions.slots.get(root.engine.root.head)).header.need).toContain('indexes')
})

test('a transaction that cancels a build runs again if the build ends first', async () => {
  const { begun, release } = root.builder.hold()
  await table.createIndex('id')
  await begun
  let runs = 0
  root.builder.failure = new Error('no')
  const ended = failure(table.waitForIndex('id_idx'))
  await root.ns.transaction(async tx => {
    await tx.table('t').dropIndex('id_idx')
    if (runs++ > 0) return
    release()
    await ended
  })
  expect([runs, await shown()]).toEqual([2, []])
})

test('a change feed does not include index versions', async () => {
  await table.createIndex('id', { waitTimeoutMs: 60_000 })
  await table.dropIndex('id_idx')
  await table.add([rowOf(5)])
  const { value } = await table.changes({ since: 1 }).next()
  expect(value).toMatchObject({ version: 4, previous: 3, operation: 'append' })
})

test('a view can be indexed, and a refresh finds its rows again', async () => {
  const view = await root.ns.createView('v', { source: 't', columns: ['id', 'text'] })
  await view.createIndex('id', { waitTimeoutMs: 60_000 })
  await table.update({ text: 'other' }, 'id = 1')
  await view.refresh()
  expect(await shown(view)).toEqual(['id_idx stale 3+1'])
})

/**
 * What LanceDB's remote client asks again, and what comes of it. It asks again where it is told 409, 429 or 5xx, up to three
 * times, never where the connection ends. The id of the request stays the same but for rows sent: those of an `add` whose reply
 * is lost are there twice, which no server can know.
 */
import type { Connection, Table } from '@lancedb/lancedb'
import { beforeEach, describe, expect, test } from 'vitest'
import { rowsOf } from './both.js'
import { type Fate, type Network, networks } from './faults.js'
import { type Lancedb, releases, type Served, servers } from './peers.js'

const serveRoot = servers()
const standBefore = networks()

const docs = [
  { id: 1, text: 'one', price: 1.5 },
  { id: 2, text: 'two', price: 2.5 },
]
const extra = [{ id: 9, text: 'nine', price: 0 }]

describe.each(releases)('remote client $release', ({ lancedb }) => {
  const changes = Object.entries(changesOf(lancedb))
  let served: Served
  let network: Network
  let db: Connection
  let made: number

  beforeEach(async () => {
    made = 0
    served = await serveRoot()
    network = await standBefore(served.url)
    db = await lancedb.connect('db://sheaf', {
      apiKey: 'key',
      region: 'us-east-1',
      hostOverride: network.url,
      clientConfig: { retryConfig: { backoffFactor: 0.01, backoffJitter: 0.01 } },
    })
  })

  /** A table of two versions and a tag. */
  async function fresh(): Promise<Table> {
    const table = await db.createTable(`t${made++}`, docs)
    await table.add([{ id: 3, text: 'three', price: 3.5 }])
    await (await table.tags()).create('old', 1)
    return table
  }

  /** Version, tags and columns as they are in the server, once indexes are there. */
  async function stateOf({ name }: Table) {
    const { indexes } = await served.ns.operations.listTableIndices({ id: [name] })
    await served.ns.table(name).waitForIndex(indexes.map(({ index_name }) => index_name))
    const { tags } = await served.ns.operations.listTableTags({ id: [name] })
    const versions = Object.entries(tags).map(([tag, { version }]) => [tag, version])
    const { fields } = (await served.ns.operations.describeTable({ id: [name] })).schema!
    return {
      version: await served.ns.table(name).version(),
      tags: versions,
      names: fields.map(field => field.name),
    }
  }

  /** What a change does when nothing goes wrong. */
  async function undisturbed(change: Change) {
    const table = await fresh()
    return { answer: await change(table), state: await stateOf(table) }
  }

  /** How a change went with a table of its own: its answer, what became of the table, and what was sent. */
  async function met(end: string, change: Change, ...fates: Fate[]) {
    const table = await fresh()
    const before = network.sent().length
    network.next(end, ...fates)
    const answer = await change(table).catch((error: Error) => error)
    const sent = network
      .sent()
      .slice(before)
      .filter(({ path }) => path.endsWith(end))
    const ids = new Set(sent.map(({ requestId }) => requestId))
    return { table, answer, sent: sent.length, ids: ids.size, state: await stateOf(table) }
  }

  test.each(changes)('%s is done once, though its reply is lost twice', async (_, [end, change]) => {
    const wanted = await undisturbed(change)
    const { answer, state, sent, ids } = await met(end, change, 503, 500)
    expect({ sent, ids }).toEqual({ sent: 3, ids: 1 })
    expect({ answer, state }).toEqual(wanted)
  })

  test('changes are done once when the server was busy before', async () => {
    for (const [name, [end, change]] of changes) {
      const wanted = await undisturbed(change)
      const { answer, state, sent } = await met(end, change, 'refuse')
      expect({ sent, answer, state }, name).toEqual({ sent: 2, ...wanted })
    }
  })

  test('what a connection took with it is not asked for again, and done once or not at all', async () => {
    for (const [name, [end, change]] of changes) {
      const wanted = await undisturbed(change)
      const cut = await met(end, change, 'cut')
      expect(cut.answer, name).toBeInstanceOf(Error)
      expect({ sent: cut.sent, state: cut.state }, name).toEqual({ sent: 1, state: wanted.state })
      const dropped = await met(end, change, 'drop')
      expect(dropped.sent, name).toBe(1)
      expect(dropped.state, name).toMatchObject({ version: 2, tags: [['old', 1]] })
    }
  })

  test('an index is dropped once, though the reply is lost twice', async () => {
    const table = await fresh()
    await table.createIndex('id', { config: lancedb.Index.btree() })
    await served.ns.table(table.name).waitForIndex('id_idx')
    network.next('/index/id_idx/drop/', 503, 500)
    await table.dropIndex('id_idx')
    const sent = network.sent('/index/id_idx/drop/')
    expect([sent.length, new Set(sent.map(({ requestId }) => requestId)).size]).toEqual([3, 1])
    expect(await table.listIndices()).toEqual([])
  })

  test('rows that are added again under another id are there twice: nothing says that they are the same', async () => {
    const add: Change = table => table.add(extra)
    const lost = await met('/insert/', add, 503)
    expect(lost).toMatchObject({ sent: 2, ids: 2, answer: { version: 4 } })
    expect(await lost.table.countRows('id = 9')).toBe(2)
    const busy = await met('/insert/', add, 'refuse')
    expect(busy).toMatchObject({ sent: 2, answer: { version: 3 } })
    expect(await busy.table.countRows('id = 9')).toBe(1)
    const cut = await met('/insert/', add, 'cut')
    expect(cut).toMatchObject({ sent: 1, state: { version: 3 } })
    expect(await cut.table.countRows('id = 9')).toBe(1)
  })

  test('rows that replace others, or are merged by a key, are there once', async () => {
    const overwrite: Change = table => table.add(extra, { mode: 'overwrite' })
    const replaced = await met('/insert/', overwrite, 503)
    expect(replaced.sent).toBe(2)
    expect(await rowsOf(replaced.table.query(), 'id')).toEqual([[9]])
    const merge: Change = table =>
      table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(extra)
    const merged = await met('/merge_insert/', merge, 503)
    // Told of the second time, which found them.
    expect(merged).toMatchObject({ sent: 2, ids: 2, answer: { numInsertedRows: 0, numUpdatedRows: 1 } })
    expect(await merged.table.countRows('id = 9')).toBe(1)
    expect(await merged.table.countRows()).toBe(4)
  })

  test('reads are answered the third time', async () => {
    const table = await fresh()
    const reads: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['/query/', () => rowsOf(table.query(), 'id')],
      ['/count_rows/', () => table.countRows()],
      ['/describe/', () => table.version()],
      ['/version/list/', () => table.listVersions()],
      ['/tags/list/', async () => (await table.tags()).list()],
      ['/index/list/', () => table.listIndices()],
      ['/stats/', () => table.stats()],
      ['/explain_plan/', () => table.query().explainPlan()],
      ['/v1/table/', () => db.tableNames()],
    ]
    for (const [end, read] of reads) {
      const answer = await read()
      const before = network.sent(end).length
      network.next(end, 'refuse', 'refuse')
      expect(await read(), end).toEqual(answer)
      expect(network.sent(end).length - before, end).toBe(3)
    }
  })

  test('after three times it is enough', async () => {
    const { answer, sent, state } = await met('/update/', changesOf(lancedb).update![1], 503, 503, 503)
    expect(String(answer)).toMatch(/retry limit/i)
    expect({ sent, version: state.version }).toEqual({ sent: 3, version: 3 })
  })

  test('tables and namespaces are made, renamed and dropped without a second try', async () => {
    const table = await fresh()
    const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['/create/', () => db.createTable('u', docs)],
      ['/rename/', () => db.renameTable('u', 'v')],
      ['/create', () => db.createNamespace(['a'])],
      ['/drop', () => db.dropNamespace(['a'])],
      ['/drop/', () => db.dropTable(table.name)],
    ]
    for (const [end, call] of calls) {
      const before = network.sent(end).length
      network.next(end, 503)
      await expect(call(), end).rejects.toThrow(/503/)
      expect(network.sent(end).length - before, end).toBe(1)
    }
    // All of them had been carried out.
    expect(await db.tableNames()).toEqual(['v'])
    expect((await db.listNamespaces([])).namespaces).toEqual([])
  })

  test('what cannot be is told at once: one request is refused, and no other', async () => {
    const table = await fresh()
    const tags = await table.tags()
    const { Index } = lancedb
    await table.createIndex('id', { config: Index.btree() })
    await db.createNamespace(['a'])
    await db.createTable('u', docs)
    const calls: readonly (readonly [() => Promise<unknown>, RegExp])[] = [
      [() => db.createTable('u', docs), /already exists/],
      [() => db.openTable('nowhere'), /not found/],
      [() => db.dropTable('nowhere'), /nowhere/],
      [() => db.renameTable('nowhere', 'x'), /nowhere/],
      [() => db.renameTable('u', table.name), /already exists/],
      [() => db.createNamespace(['a'], { mode: 'create' }), /already exists/],
      [() => db.dropNamespace(['nowhere']), /nowhere/],
      [() => db.createTable('x', docs, ['nowhere']), /nowhere/],
      [() => table.query().where('prise > 1').toArray(), /prise/],
      [() => table.query().select(['prise']).toArray(), /prise/],
      [() => table.countRows('prise > 1'), /prise/],
      [() => table.vectorSearch([1, 2]).toArray(), /vector/],
      [() => table.search('x', 'fts', 'nowhere').toArray(), /nowhere/],
      [() => table.query().where('prise > 1').explainPlan(), /prise/],
      [() => table.update({ where: 'prise > 1', values: { price: 1 } }), /prise/],
      [() => table.update({ valuesSql: { prise: '1' } }), /prise/],
      [() => table.delete('prise > 1'), /prise/],
      [() => table.add([{ id: 1, text: 'x', price: 1, other: 1 }]), /other/],
      [() => table.mergeInsert('prise').whenMatchedUpdateAll().execute(docs), /prise/],
      [() => table.addColumns([{ name: 'text', valueSql: '1' }]), /text/],
      [() => table.addColumns([{ name: 'x', valueSql: 'prise' }]), /prise/],
      [() => table.alterColumns([{ path: 'prise', rename: 'x' }]), /prise/],
      [() => table.dropColumns(['prise']), /prise/],
      [() => table.updateFieldMetadata([{ path: 'prise', metadata: { a: 'b' } }]), /prise/],
      [() => table.createIndex('prise', { config: Index.btree() }), /prise/],
      [() => table.createIndex('text', { config: Index.ivfFlat() }), /text/],
      [() => table.dropIndex('prise'), /prise/],
      [() => tags.create('old', 1), /old/],
      [() => tags.create('new', 99), /99/],
      [() => tags.update('nothing', 1), /nothing/],
      [() => tags.delete('nothing'), /nothing/],
      [() => tags.getVersion('nothing'), /nothing/],
      [() => table.checkout(99), /99|not found/],
      [() => table.checkout('nothing'), /nothing/],
    ]
    for (const [call, words] of calls) {
      served.asked()
      await expect(call(), String(call)).rejects.toThrow(words)
      const refused = served.asked().filter(name => / [45]\d\d$/.test(name))
      expect(refused.length, `${call}: ${refused}`).toBeLessThanOrEqual(1)
    }
  })
})

type Change = (table: Table) => Promise<unknown>

/** Changes whose requests keep their id when they are sent again, and how their paths end. */
function changesOf({ Index }: Lancedb): Readonly<Record<string, readonly [end: string, change: Change]>> {
  return {
    update: ['/update/', table => table.update({ valuesSql: { price: 'price + 1' } })],
    delete: ['/delete/', table => table.delete('id = 1')],
    'adding columns': ['/add_columns/', table => table.addColumns([{ name: 'n', valueSql: 'price * 2' }])],
    'altering columns': ['/alter_columns/', table => table.alterColumns([{ path: 'text', rename: 'title' }])],
    'dropping columns': ['/drop_columns/', table => table.dropColumns(['text'])],
    'metadata of fields': [
      '/update_field_metadata/',
      table => table.updateFieldMetadata([{ path: 'id', metadata: { a: 'b' } }]),
    ],
    'making a tag': ['/tags/create/', async table => (await table.tags()).create('new', 1)],
    'moving a tag': ['/tags/update/', async table => (await table.tags()).update('old', 2)],
    'dropping a tag': ['/tags/delete/', async table => (await table.tags()).delete('old')],
    restoring: [
      '/restore/',
      async table => {
        await table.checkout(1)
        await table.restore()
      },
    ],
    'making an index': [
      '/create_index/',
      async table => {
        await table.createIndex('id', { config: Index.btree() })
        return (await table.listIndices()).length
      },
    ],
  }
}

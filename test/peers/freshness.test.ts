/** Who reads sees what was written before: by itself, by others, through other processes on the same root. */
import { beforeEach, describe, expect, test } from 'vitest'
import { type Network, networks } from './faults.js'
import {
  column,
  connectEngine,
  connectRemote,
  type Lancedb,
  releases,
  type Served,
  servers,
} from './peers.js'

const serveRoot = servers()
const standBefore = networks()

describe.each(releases)('remote client $release', ({ lancedb, release }) => {
  /** Two processes that serve one root. */
  let served: Served
  let other: Served
  let network: Network

  beforeEach(async () => {
    served = await serveRoot()
    other = await serveRoot(served.folder)
    network = await standBefore(other.url)
  })

  const connectFresh = (url: string, readConsistencyInterval?: number) =>
    lancedb.connect('db://sheaf', {
      apiKey: 'key',
      region: 'us-east-1',
      hostOverride: url,
      ...(readConsistencyInterval !== undefined && { readConsistencyInterval }),
    })

  test.each([undefined, 0, 5])(
    'reads through another process see each write (interval %s)',
    async interval => {
      const writer = await (await connectRemote(lancedb, served.url)).createTable('t', [{ id: 0 }])
      const reader = await (await connectFresh(network.url, interval)).openTable('t')
      for (let id = 1; id <= 5; id++) {
        const { version } = await writer.add([{ id }])
        expect(await reader.countRows()).toBe(id + 1)
        expect(await column(reader.query().where(`id = ${id}`), 'id')).toEqual([id])
        expect(await reader.version()).toBe(version)
      }
      const asked = network.sent('/query/').map(({ headers }) => headers['x-lancedb-min-timestamp'])
      expect(asked.every(header => (header !== undefined) === (interval !== undefined))).toBe(true)
    },
  )

  test('who wrote asks for no less than what it wrote, and gets it from any process', async () => {
    const table = await (await connectFresh(network.url)).createTable('t', [{ id: 0 }])
    await table.add([{ id: 1 }])
    await table.update({ where: 'id = 0', values: { id: 5 } })
    expect(await column(table.query(), 'id').then(ids => ids.sort())).toEqual([1, 5])
    expect(network.sent('/query/').at(-1)!.headers).toMatchObject({ 'x-lancedb-min-version': '3' })
    await table.countRows()
    expect(network.sent('/count_rows/').at(-1)!.headers).toMatchObject({ 'x-lancedb-min-read-version': '3' })
  })

  test('the latest is asked for as of now, and past versions without conditions', async () => {
    const table = await (await connectFresh(network.url)).createTable('t', [{ id: 0 }])
    const writer = await (await connectRemote(lancedb, served.url)).openTable('t')
    await writer.add([{ id: 1 }])
    await table.checkout(1)
    expect(await table.countRows()).toBe(1)
    const conditions = () =>
      Object.keys(network.sent('/count_rows/').at(-1)!.headers).filter(name =>
        name.startsWith('x-lancedb-min'),
      )
    expect(conditions()).toEqual([])
    await writer.add([{ id: 2 }])
    await table.checkoutLatest()
    expect(await table.countRows()).toBe(3)
    expect(conditions()).toContain('x-lancedb-min-timestamp')
    await table.checkout(2)
    await table.restore()
    await writer.checkoutLatest()
    expect(await writer.countRows()).toBe(2)
    expect(await table.countRows()).toBe(2)
  })

  test('a version that no process has is not pretended', async () => {
    const table = await (await connectFresh(network.url)).createTable('t', [{ id: 0 }])
    await expect(table.checkout(9)).rejects.toThrow(/9|not found/)
    expect(await table.version()).toBe(1)
  })

  test('tables that others make, rename and drop are seen', async () => {
    const [here, there] = await Promise.all([connectFresh(served.url), connectFresh(network.url)])
    await here.createTable('a', [{ id: 1 }])
    expect(await there.tableNames()).toEqual(['a'])
    await there.renameTable('a', 'b')
    expect(await here.tableNames()).toEqual(['b'])
    expect(await (await here.openTable('b')).countRows()).toBe(1)
    await here.dropTable('b')
    expect(await there.tableNames()).toEqual([])
    await here.createNamespace(['n'])
    expect((await there.listNamespaces([])).namespaces).toEqual(['n'])
    expect((await here.listNamespaces([])).namespaces).toEqual(['n'])
  })

  test('names of databases, prefixes, users and extra header fields are nobody’s business', async () => {
    const uris = ['db://dev', 'db://another-one', 'db://dev/a/b']
    for (const [i, uri] of uris.entries()) {
      const db = await lancedb.connect(uri, {
        apiKey: 'key',
        region: 'us-east-1',
        hostOverride: network.url,
        clientConfig: { extraHeaders: { 'x-custom': 'yes' }, userAgent: 'mine' },
      })
      await db.createTable(`t${i}`, [{ id: i }])
      expect(await db.tableNames()).toHaveLength(i + 1)
    }
    const fields = network.sent('/create/').map(({ headers }) => headers)
    expect(fields.map(headers => headers['x-lancedb-database'])).toEqual(['dev', 'another-one', 'dev'])
    expect(fields[2]).toMatchObject({ 'x-lancedb-database-prefix': 'a/b', 'x-custom': 'yes' })
  })

  test('header fields that a function gives are sent with each request', async () => {
    let count = 0
    const db = await lancedb.connect(
      'db://sheaf',
      { apiKey: 'key', region: 'us-east-1', hostOverride: network.url },
      undefined,
      async () => ({ authorization: `Bearer ${++count}` }),
    )
    await db.tableNames()
    await db.tableNames()
    const sent = network.sent().map(({ headers }) => headers.authorization)
    expect(sent).toEqual(['Bearer 1', 'Bearer 2'])
  })

  test('the engine sees what others commit, at once or when it asks', async () => {
    const writer = await (await connectEngine(lancedb, served.url)).createTable('t', [{ id: 0 }])
    const eager = await openedBy(lancedb, network.url, 0)
    const lazy = await openedBy(lancedb, network.url)
    for (let id = 1; id <= 3; id++) {
      await writer.add([{ id }])
      expect(await eager.countRows()).toBe(id + 1)
    }
    if (release === '0.39') expect(await lazy.countRows()).toBe(1)
    await lazy.checkoutLatest()
    expect(await lazy.countRows()).toBe(4)
    const listed = network.sent('/version/list').filter(({ headers }) => 'x-lancedb-min-timestamp' in headers)
    expect(listed.length).toBeGreaterThan(0)
  })
})

async function openedBy(lancedb: Lancedb, url: string, readConsistencyInterval?: number) {
  const options = readConsistencyInterval === undefined ? {} : { readConsistencyInterval }
  return (await connectEngine(lancedb, url, options)).openTable('t')
}

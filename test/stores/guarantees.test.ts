/** The guarantees of stores and of the commit log on real servers, also while replies are lost and servers are killed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkStore } from '../../adapters/storage/public.js'
import { BlobLog } from '../../src/commit/blob-log.js'
import { connect } from '../../src/index.js'
import { Ambiguous, type BlobStore } from '../../src/storage/blob-store.js'
import { blobStoreSuite } from '../suites/blob-store.js'
import { commitLogSuite } from '../suites/commit-log.js'
import { DroppingProxy } from './dropping-proxy.js'
import { printLatencies } from './latencies.js'
import { providers } from './providers.js'
import { Server } from './server.js'

const sizes = { races: 50, writers: 20, listed: 1100, streamed: 20_000_003 }
const bytes = (text: string) => new TextEncoder().encode(text)

describe.each(providers.filter(({ program }) => program !== null))('$name', provider => {
  let server: Server
  let proxy: DroppingProxy
  let prefixes = 0
  const freshPrefix = () => `roots/r${prefixes++}`
  const open = (url = server.url) => provider.open(url, { prefix: freshPrefix() })

  beforeAll(async () => {
    server = await Server.start(provider.program!)
    await provider.createBucket(server.url)
    proxy = await DroppingProxy.start(server.port)
  })
  afterAll(async () => {
    await proxy?.stop()
    await server?.stop()
  })

  blobStoreSuite(provider.name, () => open(), sizes, provider.longestName)
  commitLogSuite(provider.name, async () => new BlobLog(await open()))

  test('checkStore passes, and prints the latencies', async () => {
    const { passed, checks, latencies } = await checkStore(await open())
    expect(checks.filter(check => !check.passed)).toEqual([])
    expect(passed).toBe(true)
    printLatencies(latencies)
  })

  test('a conditional put whose answer is lost reports its outcome', async () => {
    const store = await open(proxy.url)
    let requests = 0
    proxy.drops = method => /PUT|POST/.test(method) && requests++ % 3 === 0
    try {
      for (let i = 0; i < 30; i++) {
        const outcomes = await Promise.all(
          ['one', 'two'].map(writer => store.putIfAbsent(`k/${i}`, bytes(writer))),
        )
        expect(outcomes.toSorted()).toEqual(['taken', 'won'])
        const winner = outcomes[0] === 'won' ? 'one' : 'two'
        expect(new TextDecoder().decode((await store.get(`k/${i}`))!)).toBe(winner)
      }
    } finally {
      proxy.drops = () => false
    }
    expect(proxy.dropped).toBeGreaterThanOrEqual(20)
  })

  test('a client that repeats requests by itself does not hide that its write succeeded', async () => {
    const store = await provider.openWithClient(proxy.url, freshPrefix())
    let requests = 0
    proxy.drops = method => /PUT|POST/.test(method) && requests++ === 0
    const outcome = await store.putIfAbsent('k', bytes('1'))
    proxy.drops = () => false
    expect([outcome, proxy.dropped > 0]).toEqual(['won', true])
    expect(await store.putIfAbsent('k', bytes('1'))).toBe('taken')
  })

  test('a put of which every answer is lost has its outcome', async () => {
    const store = await open(proxy.url)
    proxy.drops = method => /PUT|POST/.test(method)
    const outcome = await store.putIfAbsent('k', bytes('1'))
    proxy.drops = () => false
    expect(outcome).toBe('won')
  })

  test('a table is created, appended by two connections, searched and reopened', async () => {
    const path = provider.path(freshPrefix())
    const storage = provider.storage(server.url)
    const first = await connect(path, { storage })
    const table = await first.createTable('docs', [
      { id: 1, text: 'sheaves of wheat', vector: [1, 0, 0] },
      { id: 2, text: 'arrows in flight', vector: [0, 1, 0] },
    ])
    const second = await connect(path, { storage })
    const same = await second.openTable('docs')
    for (let i = 0; i < 10; i++) {
      await Promise.all([
        table.add([{ id: 10 + i, text: 'quivers', vector: [0, 0, i] }]),
        same.add([{ id: 20 + i, text: 'barns', vector: [0, 0, -i] }]),
      ])
    }
    expect(await same.countRows()).toBe(22)
    expect(await table.countRows()).toBe(22)
    await table.createIndex('text', { type: 'FTS' })
    await table.waitForIndex(['text_idx'])
    expect(await same.search('arrows').select(['id']).toArray()).toMatchObject([{ id: 2 }])
    const [nearest] = await same.search([0, 0.9, 0]).limit(1).toArray()
    expect(nearest).toMatchObject({ id: 2 })
    await first.close()
    await second.close()
    const reopened = await connect(path, { storage, create: false })
    const again = await reopened.openTable('docs')
    expect(await again.countRows()).toBe(22)
    expect(await again.search('wheat').select(['id']).toArray()).toMatchObject([{ id: 1 }])
    expect((await reopened.verify()).problems).toEqual([])
    await reopened.close()
  })

  test('no commit is lost or made twice while replies are lost', async () => {
    const path = provider.path(freshPrefix())
    const ns = await connect(path, { storage: provider.storage(proxy.url) })
    const table = await ns.createTable('t', [{ id: 0 }])
    let requests = 0
    proxy.drops = () => requests++ % 5 === 0
    try {
      for (let id = 1; id <= 20; id++) await table.add([{ id }])
    } finally {
      proxy.drops = () => false
    }
    const ids = (await table.query().select(['id']).toArray()).map(row => row.id)
    expect(ids.sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 21 }, (_, i) => i))
    await ns.close()
  })

  test.runIf(provider.isDurable)('no acknowledged commit is lost when the server is killed', async () => {
    const path = provider.path(freshPrefix())
    const ns = await connect(path, { storage: provider.storage(server.url) })
    const table = await ns.createTable('t', [{ id: 0 }])
    const acknowledged = [0]
    const writing = (async () => {
      for (let id = 1; id <= 60; id++) {
        await table.add([{ id }]).then(
          () => acknowledged.push(id),
          () => {},
        )
      }
    })()
    for (let i = 0; i < 2; i++) {
      await new Promise(resolve => setTimeout(resolve, 150))
      await server.kill()
      await server.run()
    }
    await writing
    const ids = (await table.query().select(['id']).toArray()).map(row => Number(row.id))
    expect(new Set(ids).size).toBe(ids.length)
    expect(acknowledged.filter(id => !ids.includes(id))).toEqual([])
    expect(acknowledged.length).toBeGreaterThan(40)
    await ns.close()
  })

  test('errors name the bucket and the key, and say what to do', async () => {
    const absent = await provider.open(server.url, { prefix: 'p', bucket: 'no-such-bucket' })
    await expect(absent.put('k', bytes('1'))).rejects.toMatchObject({
      name: 'NamespaceNotFound',
      message: expect.stringMatching(/"p\/k" in .*no-such-bucket/),
      hint: expect.stringContaining('create the bucket'),
    })
    const path = provider.path(freshPrefix())
    await expect(
      connect(path, { create: false, storage: provider.storage(server.url) }),
    ).rejects.toMatchObject({ name: 'NamespaceNotFound' })
    if (provider.intruder === null) return
    await expect(connect(path, { storage: provider.intruder(server.url) })).rejects.toMatchObject({
      name: 'PermissionDenied',
      hint: expect.stringContaining('credentials'),
    })
  })

  test('a server that is not reached is unavailable, and nothing was written', async () => {
    const store: BlobStore = await provider.open('http://127.0.0.1:9', { prefix: 'p' })
    const error = await store.putIfAbsent('k', bytes('1')).catch(reason => reason)
    expect(error).toMatchObject({ name: 'ServiceUnavailable' })
    expect(error).not.toBeInstanceOf(Ambiguous)
  })
})

test.each(providers.filter(({ program }) => program === null))('$name is skipped', ({ name }) => {
  console.log(`stores: ${name} skipped, because its server is not installed`)
})

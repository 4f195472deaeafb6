/** The stores with the oldest clients that the package allows (`peerDependencies`). */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkStore } from '../../adapters/storage/public.js'
import { connect } from '../../src/index.js'
import { DroppingProxy } from './dropping-proxy.js'
import { perClient } from './providers.js'
import { Server } from './server.js'

const bytes = (text: string) => new TextEncoder().encode(text)
const packageOf = (folder: string) => JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))

test('the tested versions are the lower ends of the ranges', () => {
  const { dependencies } = packageOf('test/stores/oldest')
  const { peerDependencies } = packageOf('.')
  for (const [name, version] of Object.entries(dependencies)) {
    expect(peerDependencies[name], name).toBe(`^${version}`)
    expect(packageOf(`test/stores/oldest/node_modules/${name}`).version).toBe(version)
  }
})

describe.each(perClient.filter(({ program }) => program !== null))('$name', provider => {
  let server: Server
  let proxy: DroppingProxy
  beforeAll(async () => {
    server = await Server.start(provider.program!)
    await provider.createBucket(server.url)
    proxy = await DroppingProxy.start(server.port)
  })
  afterAll(async () => {
    await proxy?.stop()
    await server?.stop()
  })

  test('checkStore passes', async () => {
    const store = await provider.open(server.url, { prefix: 'checked' })
    const { checks } = await checkStore(store, { races: 5, calls: 10 })
    expect(checks.filter(check => !check.passed)).toEqual([])
  })

  test('a put whose answers are lost has its outcome', async () => {
    const store = await provider.open(proxy.url, { prefix: 'lost' })
    proxy.drops = method => /PUT|POST/.test(method)
    const outcome = await store.putIfAbsent('k', bytes('1'))
    proxy.drops = () => false
    expect(outcome).toBe('won')
    expect(await store.putIfAbsent('k', bytes('1'))).toBe('taken')
  })

  test('a table is created, appended and reopened', async () => {
    const path = provider.path('root')
    const storage = provider.storage(server.url)
    const ns = await connect(path, { storage, maintenance: { keepOrphansMs: 0 } })
    const table = await ns.createTable('t', [{ id: 1 }])
    await table.add([{ id: 2 }])
    await ns.optimize()
    await ns.close()
    const reopened = await connect(path, { storage, create: false })
    expect(await (await reopened.openTable('t')).countRows()).toBe(2)
    await reopened.close()
  })

  test('errors have their kinds', async () => {
    const absent = await provider.open(server.url, { prefix: 'p', bucket: 'no-such-bucket' })
    await expect(absent.put('k', bytes('1'))).rejects.toMatchObject({ name: 'NamespaceNotFound' })
    const silent = await provider.open('http://127.0.0.1:9', { prefix: 'p' })
    await expect(silent.put('k', bytes('1'))).rejects.toMatchObject({ name: 'ServiceUnavailable' })
    if (provider.intruder === null) return
    const storage = provider.intruder(server.url)
    await expect(connect(provider.path('root'), { storage })).rejects.toMatchObject({
      name: 'PermissionDenied',
    })
  })
})

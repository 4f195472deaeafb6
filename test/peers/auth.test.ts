/** Keys, tokens and databases, as LanceDB's clients send them. */
import type { Connection } from '@lancedb/lancedb'
import { afterEach, describe, expect, test } from 'vitest'
import { databases } from '../../adapters/http/databases.js'
import type { RequestRecord, ServeOptions } from '../../adapters/http/options.js'
import { serve } from '../../adapters/http/server.js'
import { connect } from '../../src/index.js'
import { temporaryRoots } from '../support/roots.js'
import { releases } from './peers.js'

const freshFolder = temporaryRoots()
const ending: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end()
})

const docs = [{ id: 1 }, { id: 2 }]

describe.each(releases)('clients $release', ({ lancedb }) => {
  let log: RequestRecord[]

  async function guarded(options: ServeOptions): Promise<string> {
    log = []
    const ns = await connect(freshFolder())
    ending.push(() => ns.close())
    const server = await serve(ns, { port: 0, logger: record => log.push(record), ...options })
    ending.push(() => server.close())
    return server.url
  }

  const remote = (url: string, apiKey: string, headers: Record<string, string> = {}): Promise<Connection> =>
    lancedb.connect('db://sheaf', {
      apiKey,
      region: 'us-east-1',
      hostOverride: url,
      clientConfig: { extraHeaders: headers },
    })
  const engine = (url: string, headers: Record<string, string>) =>
    lancedb.connectNamespace('rest', { uri: url, headers })

  test('a key lets the remote client in, and none else', async () => {
    const url = await guarded({ auth: { apiKeys: { reader: 'right' } } })
    const table = await (await remote(url, 'right')).createTable('t', docs)
    expect(await table.countRows()).toBe(2)
    expect(log.map(({ principal }) => principal)).toEqual(['reader', 'reader'])
    log = []
    const wrong = await remote(url, 'wrong')
    const calls = [
      () => wrong.tableNames(),
      () => wrong.openTable('t'),
      () => wrong.createTable('u', docs),
      () => wrong.dropTable('t'),
      () => wrong.createNamespace(['a']),
    ]
    for (const call of calls) {
      await expect(call()).rejects.toThrow(/401/)
      await expect(call()).rejects.not.toThrow(/right/)
    }
    // Each once: what is refused so is not asked for again.
    expect(log.map(({ status }) => status)).toEqual(Array(2 * calls.length).fill(401))
    expect(await (await remote(url, 'right')).tableNames()).toEqual(['t'])
  })

  test('a key or a token lets the engine in, and none else', async () => {
    const url = await guarded({ auth: { apiKeys: { a: 'right' }, tokens: { b: 'token' } } })
    const table = await (await engine(url, { 'x-api-key': 'right' })).createTable('t', docs)
    await table.add(docs)
    const bearer = await engine(url, { authorization: 'Bearer token' })
    expect(await (await bearer.openTable('t')).countRows()).toBe(4)
    for (const headers of [{}, { 'x-api-key': 'wrong' }, { authorization: 'Bearer right' }]) {
      const stranger = await engine(url, headers as Record<string, string>)
      await expect(stranger.tableNames()).rejects.toThrow(/unauthenticated|api key|credentials|token/i)
      await expect(stranger.createTable('u', docs)).rejects.toThrow()
    }
    expect(await (await engine(url, { 'x-api-key': 'right' })).tableNames()).toEqual(['t'])
  })

  test('a request without permission is refused once, with a message', async () => {
    const url = await guarded({
      auth: { apiKeys: { reader: 'r', writer: 'w' } },
      authorize: (operation, _id, _identity, { principal }) =>
        principal?.name === 'writer' || /^(query|count|describe|list)/.test(operation),
    })
    await (await remote(url, 'w')).createTable('t', docs)
    const table = await (await remote(url, 'r')).openTable('t')
    expect(await table.countRows()).toBe(2)
    expect(await table.query().toArray()).toHaveLength(2)
    log = []
    await expect(table.add(docs)).rejects.toThrow(/403/)
    await expect(table.delete('true')).rejects.toThrow(/403/)
    await expect(table.mergeInsert('id').whenMatchedUpdateAll().execute(docs)).rejects.toThrow(/403/)
    expect(log.map(({ status }) => status)).toEqual([403, 403, 403])
    expect(await table.countRows()).toBe(2)
  })

  test('databases are those that clients name', async () => {
    log = []
    const all = databases(freshFolder(), { create: true })
    ending.push(() => all.close())
    const server = await serve(all, { port: 0, logger: record => log.push(record) })
    ending.push(() => server.close())
    const named = (uri: string) =>
      lancedb.connect(uri, { apiKey: 'key', region: 'us-east-1', hostOverride: server.url })
    await (await named('db://one')).createTable('t', docs)
    expect(await (await named('db://one')).tableNames()).toEqual(['t'])
    expect(await (await named('db://two')).tableNames()).toEqual([])
    await (await named('db://two')).createTable('t', docs.slice(1))
    expect(await (await (await named('db://one')).openTable('t')).countRows()).toBe(2)
    expect(await (await (await named('db://two')).openTable('t')).countRows()).toBe(1)
    expect(new Set(log.map(({ database }) => database))).toEqual(new Set(['one', 'two']))
  })
})

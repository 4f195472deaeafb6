/** Context and names of requests: what reaches hooks, logs, functions and replies. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readCaller, resolvePrefixes, withHeaders, writeCaller } from '../../../adapters/http/caller.js'
import { connectHttp } from '../../../adapters/http/client.js'
import type { RequestRecord } from '../../../adapters/http/options.js'
import { serve } from '../../../adapters/http/server.js'
import { jobEnded } from '../../../src/client/job-ended.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect, type FunctionCall } from '../../../src/index.js'
import { askJson, sendRaw } from '../../support/http.js'
import { echo } from '../echo.js'
import { servers } from './servers.js'

const start = servers()

const path = '/v1/table/t/describe'

describe('context', () => {
  test('A-021 the prefixes can be chosen, and the first of several counts', async () => {
    const fake = echo()
    const url = await start(fake, { contextPrefixes: ['x-acme-', 'x-sheaf-ctx-'] })
    const headers = {
      'x-sheaf-ctx-a': '1',
      'X-Acme-A': '2',
      'x-acme-b': '3',
      'x-ns-ctx-c': '4',
      'x-acme-': '5',
    }
    await askJson(url, path, {}, headers)
    expect(fake.last.options.context).toEqual({ a: '2', b: '3' })
    const none = await start(fake, { contextPrefixes: [] })
    await askJson(none, path, {}, headers)
    expect(fake.last.options.context).toBeUndefined()
  })

  test.each(['', 'X-Acme-', 'x acme', 'x:', 'é', 7])('%j is not a prefix', async prefix => {
    const contextPrefixes = [prefix] as string[]
    await expect(serve(echo(), { port: 0, contextPrefixes })).rejects.toMatchObject({
      code: ErrorCode.InvalidInput,
      message: expect.stringContaining(JSON.stringify(prefix)),
    })
    expect(() => resolvePrefixes('x-' as unknown as string[])).toThrow('must be an array')
  })

  test('A-022 every header field except credentials is context under header.<name>', () => {
    const headers = {
      'user-agent': 'me',
      'x-api-key': 'secret',
      authorization: 'Bearer secret',
      cookie: 'secret',
      'proxy-authorization': 'secret',
      'set-cookie': ['a', 'b'],
    }
    const context = withHeaders({ tenant: 'T' }, headers)
    expect(context).toEqual({ tenant: 'T', 'header.user-agent': 'me', 'header.set-cookie': 'a, b' })
    expect(readCaller(headers, ['x-', 'auth', 'cook', 'user-']).context).toEqual({ agent: 'me' })
  })

  test('A-023 context arrives as the client wrote it, in lower case', () => {
    const name = fc.stringMatching(/^[a-z0-9-]{1,10}$/)
    const value = fc.stringMatching(/^[!-~]{1,10}$/)
    fc.assert(
      fc.property(fc.dictionary(name, value, { minKeys: 1 }), context => {
        expect(readCaller(writeCaller({ context }), resolvePrefixes()).context).toEqual(context)
      }),
    )
  })

  test('the context of the body counts where the header has none', async () => {
    const fake = echo()
    const url = await start(fake)
    await askJson(url, path, { context: { own: 'x' } })
    expect(fake.last.options.context).toEqual({ own: 'x' })
    await askJson(url, path, { context: { own: 'x' } }, { 'x-ns-ctx-a': '1' })
    expect(fake.last.options.context).toEqual({ a: '1' })
  })

  test('the log has the context and the request id, and the reply has the request id', async () => {
    const records: RequestRecord[] = []
    const url = await start(echo(), { logger: record => records.push(record) })
    const headers = { 'x-request-id': 'r-1', 'x-ns-ctx-tenant': 'T', 'x-lancedb-database': 'any' }
    for (const [at, status] of [
      [path, 200],
      ['/v1/nowhere', 404],
    ] as const) {
      const reply = await askJson(url, at, {}, headers)
      expect([reply.status, reply.headers['x-request-id']]).toEqual([status, 'r-1'])
    }
    const told = { requestId: 'r-1', context: { tenant: 'T' }, database: 'any' }
    expect(records).toMatchObject([told, told])
    expect((await askJson(url, path, {})).headers).not.toHaveProperty('x-request-id')
  })

  test('a request id that no reply can carry is refused', async () => {
    const url = await start(echo())
    const [reply] = await sendRaw(
      url,
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-request-id: caf\u00e9\r\ncontent-length: 0\r\n\r\n`,
    )
    expect(reply!.status).toBe(200)
  })
})

describe('functions', () => {
  /** A table with a column that a function fills, which notes what it is told. */
  async function noted() {
    const calls: Omit<FunctionCall, 'signal'>[] = []
    const ns = await connect('memory://', {
      functions: [
        {
          name: 'note',
          call({ n }, { context, identity }) {
            calls.push({ context, identity })
            return n
          },
        },
      ],
    })
    await ns.createTable('t', [{ n: 1n }])
    const virtual_column = {
      udf_name: 'note',
      input_columns: ['n'],
      data_type: { type: 'int64' },
      auto_backfill: true,
    }
    const { transaction_id } = await ns.operations.alterTableAddColumns({
      id: ['t'],
      new_columns: [{ name: 'm', virtual_column }],
    })
    await jobEnded(ns.operations, transaction_id!, {})
    expect(calls.splice(0)).toEqual([{}])
    return { ns, calls }
  }

  test('get context and identity of the writing caller, in process and over HTTP', async () => {
    const { ns, calls } = await noted()
    const remote = connectHttp(await start(ns))
    const call = { context: { tenant: 'T' }, identity: { api_key: 'k' } }
    for (const each of [ns, remote]) {
      const table = await each.openTable('t')
      await table.add([{ n: 2n }], call)
      await table.update({ n: 3n }, 'n = 2', undefined, call)
      await table
        .mergeInsert('n')
        .whenNotMatchedInsertAll()
        .execute([{ n: 9n }], call)
      expect(calls.splice(0)).toEqual([call, call, call])
      await table.delete('n > 1')
    }
    await ns.operations.updateTable({ id: ['t'], updates: [['n', '5']], ...call })
    expect(calls.splice(0)).toEqual([call])
    await remote.close()
    await ns.close()
  })

  test('that run for no caller get no identity', async () => {
    const { ns, calls } = await noted()
    const table = await ns.openTable('t')
    await table.add([{ n: 4n }])
    expect(calls.splice(0)).toEqual([{}])
    const { jobId } = await table.backfillColumn('m', { context: { tenant: 'T' } })
    await jobEnded(ns.operations, jobId, {})
    expect(calls).toEqual([{}, {}])
    await ns.close()
  })
})

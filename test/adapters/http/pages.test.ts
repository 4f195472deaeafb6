/** Which host names a server answers to, and which web pages may call it. */
import { afterEach, describe, expect, test } from 'vitest'
import type { ServeOptions } from '../../../adapters/http/options.js'
import { serve } from '../../../adapters/http/server.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect, type Namespace } from '../../../src/index.js'
import { ask, sendRaw } from '../../support/http.js'
import { echo } from '../echo.js'
import { servers } from './servers.js'

const opened: Namespace[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map(each => each.close()))
})
const start = servers()

/** A server without authentication, with a table. */
async function startWithTable(options: ServeOptions = {}): Promise<{ ns: Namespace; url: string }> {
  const ns = await connect('memory://')
  opened.push(ns)
  await ns.createTable('docs', [{ id: 1 }])
  return { ns, url: await start(ns, options) }
}

const count = { path: '/v1/table/docs/count_rows', body: '{}' }
const json = { 'content-type': 'application/json' }

describe('host names', () => {
  test('a page whose domain resolves to this machine cannot read or write', async () => {
    const { ns, url } = await startWithTable()
    const { port } = new URL(url)
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '203.0.113.9',
      '',
    ]) {
      const headers = { host, origin: `http://${host}`, ...json }
      for (const each of [count, { path: '/v1/table/docs/drop' }, { method: 'GET', path: '/metrics' }]) {
        const reply = await ask(url, { ...each, headers })
        expect([host, reply.status, reply.json]).toMatchObject([
          host,
          403,
          { code: ErrorCode.PermissionDenied },
        ])
      }
    }
    expect(await (await ns.openTable('docs')).countRows()).toBe(1)
  })

  test('an absolute URL as target names the host, whatever the Host field says', async () => {
    const { url } = await startWithTable()
    const send = (authority: string) =>
      sendRaw(
        url,
        `POST http://${authority}/v1/table/docs/exists HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
      )
    expect((await send('evil.example'))[0]!.status).toBe(403)
    expect((await send('localhost:80'))[0]!.status).toBe(200)
  })

  test('the server answers to the names and addresses of this machine', async () => {
    const { url } = await startWithTable()
    for (const host of [
      'localhost',
      'LOCALHOST:1',
      'localhost.',
      '127.0.0.1:2333',
      '127.0.0.2',
      '[::1]:8080',
    ]) {
      expect([host, (await ask(url, { ...count, headers: { host, ...json } })).status]).toEqual([host, 200])
    }
  })

  test('names that are allowed are answered to, and so is any address where the server listens on all', async () => {
    const { url } = await startWithTable({
      host: '0.0.0.0',
      allowAnonymous: true,
      allowHosts: ['data.example'],
    })
    const local = url.replace('0.0.0.0', '127.0.0.1')
    const statusFor = async (host: string) =>
      (await ask(local, { ...count, headers: { host, ...json } })).status
    expect(
      await Promise.all(['data.example', 'DATA.example:80', '10.1.2.3:80', 'other.example'].map(statusFor)),
    ).toEqual([200, 200, 200, 403])
  })

  test('a server with authentication answers to any name, unless names are given', async () => {
    const auth = { apiKeys: { ann: 'key' } }
    const headers = { host: 'data.example', 'x-api-key': 'key', ...json }
    const any = await startWithTable({ auth })
    expect((await ask(any.url, { ...count, headers })).status).toBe(200)
    const some = await startWithTable({ auth, allowHosts: ['other.example'] })
    expect((await ask(some.url, { ...count, headers })).status).toBe(403)
  })

  test('health and readiness are told under any name', async () => {
    const { url } = await startWithTable()
    for (const path of ['/healthz', '/readyz']) {
      expect((await ask(url, { method: 'GET', path, headers: { host: 'pod-7' } })).status).toBe(200)
    }
  })

  test('two header fields Host are 400', async () => {
    const { url } = await startWithTable()
    const send = (second: string) =>
      sendRaw(
        url,
        `POST /v1/table/docs/exists HTTP/1.1\r\nHost: localhost\r\n${second}connection: close\r\ncontent-length: 0\r\n\r\n`,
      )
    for (const second of ['host: localhost\r\n', 'HOST: evil.example\r\n'])
      expect((await send(second))[0]).toMatchObject({ status: 400, json: { code: ErrorCode.InvalidInput } })
    expect((await send('x-not: host\r\n'))[0]!.status).toBe(200)
  })
})

describe('web pages', () => {
  test('simple requests from a page of another origin change nothing', async () => {
    const { ns, url } = await startWithTable()
    const rows = { path: '/v1/table/docs/create?mode=overwrite', body: new Uint8Array(8) }
    for (const fields of [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      // Another program of this machine.
      { origin: 'http://localhost:1' },
      { origin: url.toUpperCase() },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      const headers = { 'content-type': 'text/plain', ...fields } as Record<string, string>
      for (const each of [{ path: '/v1/table/docs/drop' }, { path: '/v1/table/docs/deregister' }, rows]) {
        const reply = await ask(url, { ...each, headers })
        expect([fields, reply.status, reply.json]).toMatchObject([
          fields,
          403,
          { code: ErrorCode.PermissionDenied },
        ])
        expect(reply.headers['access-control-allow-origin']).toBeUndefined()
      }
    }
    expect(await (await ns.openTable('docs')).countRows()).toBe(1)
  })

  test('same-origin pages, typed addresses and callers that are not browsers are answered', async () => {
    const { url } = await startWithTable()
    const { host } = new URL(url)
    for (const fields of [
      { host, origin: url },
      { host, origin: url, 'sec-fetch-site': 'same-origin' },
      // Behind a proxy that speaks TLS.
      { host: 'localhost', origin: 'https://localhost' },
      { 'sec-fetch-site': 'none' },
      {},
    ]) {
      const reply = await ask(url, { ...count, headers: { ...json, ...fields } as Record<string, string> })
      expect([fields, reply.status]).toEqual([fields, 200])
    }
  })

  test('a page with a key of its own is refused too, unless its origin is allowed', async () => {
    const auth = { apiKeys: { ann: 'key' } }
    const headers = { 'x-api-key': 'key', origin: 'https://app.example', ...json }
    const { url } = await startWithTable({ auth })
    expect((await ask(url, { ...count, headers })).status).toBe(403)
    const open = await startWithTable({ auth, allowOrigins: ['https://app.example'] })
    expect((await ask(open.url, { ...count, headers })).status).toBe(200)
  })

  test('an allowed origin may read replies and errors, by its very name', async () => {
    const origin = 'https://app.example'
    const { url } = await startWithTable({ allowOrigins: [origin, 'http://localhost:5173'] })
    const cross = { origin, 'sec-fetch-site': 'cross-site', 'x-request-id': 'r1', ...json }
    for (const [path, status] of [
      ['/v1/table/docs/count_rows', 200],
      ['/v1/table/none/count_rows', 404],
    ] as const) {
      const { headers, ...reply } = await ask(url, { path, body: '{}', headers: cross })
      expect(reply.status).toBe(status)
      expect(headers['access-control-allow-origin']).toBe(origin)
      expect(headers.vary).toBe('origin')
      expect(headers['access-control-expose-headers']).toContain('x-request-id')
      expect(headers['access-control-allow-credentials']).toBeUndefined()
    }
    for (const other of ['https://app.example.evil', 'http://app.example', 'https://app.example:8443']) {
      const reply = await ask(url, { ...count, headers: { ...cross, origin: other } })
      expect([reply.status, reply.headers['access-control-allow-origin']]).toEqual([403, undefined])
    }
    // A cache must not give one origin the reply of another, nor of none.
    expect((await ask(url, { ...count, headers: json })).headers.vary).toBe('origin')
  })

  test('a preflight request is answered before a key is required', async () => {
    const fake = echo()
    const url = await start(fake, {
      auth: { apiKeys: { ann: 'key' } },
      allowOrigins: ['https://app.example'],
    })
    const preflight = (origin: string) =>
      ask(url, {
        method: 'OPTIONS',
        path: '/v1/table/t/drop',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,x-api-key',
        },
      })
    const { status, headers, text } = await preflight('https://app.example')
    expect([status, text]).toEqual([200, ''])
    expect(headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization,x-api-key',
      'access-control-max-age': '600',
    })
    expect(headers.vary).toContain('access-control-request-headers')
    const refused = await preflight('https://evil.example')
    expect([refused.status, refused.headers['access-control-allow-methods']]).toEqual([403, undefined])
    expect(fake.heard).toEqual([])
  })
})

test.each([
  ['allowHosts', ['http://a.example']],
  ['allowHosts', ['a.example:80']],
  ['allowHosts', ['*.example']],
  ['allowHosts', 'a.example'],
  ['allowOrigins', ['*']],
  ['allowOrigins', ['null']],
  ['allowOrigins', ['app.example']],
  ['allowOrigins', ['https://app.example/']],
  ['allowOrigins', ['https://app.example:443']],
  ['allowOrigins', ['https://*.example']],
  ['allowOrigins', [7]],
])('%s: %j is refused', async (option, value) => {
  const refused = serve(echo(), { port: 0, [option]: value })
  await expect(refused).rejects.toMatchObject({
    code: ErrorCode.InvalidInput,
    message: expect.stringContaining(option),
  })
})

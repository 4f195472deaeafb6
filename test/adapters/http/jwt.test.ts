/** JSON Web Tokens, with keys made here and served from this machine. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Asked, Gate } from '../../../adapters/http/gate.js'
import { type JwtOptions, tokenVerifier } from '../../../adapters/http/jwt.js'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { ErrorCode } from '../../../src/errors.js'
import { askJson } from '../../support/http.js'
import { echo } from '../echo.js'

let ours: CryptoKey
let others: CryptoKey
let keys: Server
/** Where the keys are. */
let jwksUrl: string
let fetched = 0
let server: HttpServer
let asked: Asked | undefined

beforeAll(async () => {
  const [pair, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')])
  ours = pair.privateKey
  others = other.privateKey
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'ES256' }
  keys = createServer((request, response) => {
    fetched++
    if (request.url !== '/keys') return response.writeHead(500).end()
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>(resolve => keys.listen(0, '127.0.0.1', resolve))
  jwksUrl = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/keys`
  const jwt = { jwksUrl, issuer: 'https://issuer.example', audience: 'tables' }
  const authorize = (_: string, __: readonly string[], ___: object, of: Asked) => {
    asked = of
    return true
  }
  server = await serve(echo(), { port: 0, auth: { jwt, tokens: { static: 'a.static.token' } }, authorize })
})

afterAll(async () => {
  await server.close()
  keys.closeAllConnections()
  await new Promise(resolve => keys.close(resolve))
})

const claims = { iss: 'https://issuer.example', aud: 'tables', sub: 'ann' }

function token(payload: Record<string, unknown>, key: CryptoKey = ours, kid = 'k1'): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const all = { ...claims, iat: now, exp: now + 600, ...payload }
  return new SignJWT(JSON.parse(JSON.stringify(all))).setProtectedHeader({ alg: 'ES256', kid }).sign(key)
}

function unsigned(header: object, payload: object = claims): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part(header)}.${part(payload)}.`
}

function call(bearer: string) {
  return askJson(server.url, '/v1/table/t/describe', {}, { authorization: `Bearer ${bearer}` })
}

test('keys are fetched once, at the first token', async () => {
  expect((await call('a.static.token')).status).toBe(200)
  expect(fetched).toBe(0)
  for (let i = 0; i < 3; i++) expect((await call(await token({ role: 'reader' }))).status).toBe(200)
  expect(fetched).toBe(1)
  expect(asked!.principal).toMatchObject({ name: 'ann', claims: { role: 'reader', sub: 'ann' } })
})

test('a token may be in the body', async () => {
  const identity = { auth_token: await token({}) }
  expect((await askJson(server.url, '/v1/table/t/describe', { identity })).status).toBe(200)
})

test('a claim names the databases that a token opens', async () => {
  const verify = await tokenVerifier({ jwksUrl, databasesClaim: 'https://acme.example/databases' })
  const databasesOf = async (claim: unknown) =>
    (await verify(await token({ 'https://acme.example/databases': claim }))).databases
  expect(await databasesOf(['acme', 'acme/test'])).toEqual(['acme', 'acme/test'])
  expect(await databasesOf('acme')).toEqual(['acme'])
  for (const claim of [undefined, null, 7, { acme: true }, [], [['acme']]])
    expect(await databasesOf(claim)).toEqual([])
})

test('a subject with the name of a key’s owner gets none of the grants of that owner', async () => {
  const gate = await Gate.open(
    { apiKeys: { ann: 'key' }, grants: { ann: ['acme'] }, jwt: { jwksUrl } },
    undefined,
  )
  expect(await gate.admit({ api_key: 'key' })).toEqual({ name: 'ann', databases: ['acme'] })
  expect(await gate.admit({ auth_token: await token({}) })).toMatchObject({ name: 'ann', databases: [] })
})

const past = Math.floor(Date.now() / 1000) - 60

test.each<[string, () => string | Promise<string>]>([
  ['is expired', () => token({ exp: past })],
  ['holds only later', () => token({ nbf: past + 600 })],
  ['is of another issuer', () => token({ iss: 'https://other.example' })],
  ['is for another audience', () => token({ aud: ['others'] })],
  ['has no audience', () => token({ aud: undefined })],
  ['names nobody', () => token({ sub: undefined })],
  ['has an empty subject', () => token({ sub: '' })],
  ['has an object as subject', () => token({ sub: { name: 'ann' } })],
  ['never expires', () => token({ exp: undefined })],
  ['is signed by another', () => token({}, others)],
  ['names a key there is not', () => token({}, others, 'k2')],
  ['was changed', async () => (await token({})).replace(/\.[^.]+\./, `.${unsigned({}).split('.')[1]}.`)],
  ['is not signed', () => unsigned({ alg: 'none' })],
  [
    'is signed with a secret that both share',
    () =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
        .sign(Buffer.from('the public key is no secret, 32 B')),
  ],
  ['is none', () => 'a.b.c'],
  ['is no three parts', () => 'abc'],
])('a token that %s is refused, and not shown', async (_, make) => {
  const bearer = await make()
  const reply = await call(bearer)
  expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer'])
  expect(reply.json).toMatchObject({ code: ErrorCode.Unauthenticated })
  for (const part of bearer.split('.').filter(part => part.length > 3)) expect(reply.text).not.toContain(part)
})

test('if the keys cannot be fetched, the token is not blamed', async () => {
  for (const url of [jwksUrl.replace('/keys', '/nowhere'), 'http://127.0.0.1:1/keys']) {
    const verify = await tokenVerifier({ jwksUrl: url })
    await expect(verify(await token({}))).rejects.toMatchObject({ code: ErrorCode.ServiceUnavailable })
  }
})

test('without configured issuer and audience any value is accepted', async () => {
  const verify = await tokenVerifier({ jwksUrl })
  expect(await verify(await token({ iss: 'x', aud: 'y' }))).toMatchObject({ name: 'ann' })
})

test('the error names the missing claim', async () => {
  const missing = () => Promise.reject(new Error('ERR_MODULE_NOT_FOUND'))
  await expect(tokenVerifier({ jwksUrl }, missing)).rejects.toMatchObject({
    code: ErrorCode.InvalidInput,
    message: expect.stringContaining('"jose"'),
    hint: 'npm install jose',
  })
  await expect(tokenVerifier({ jwksUrl: 'file:///keys' } satisfies JwtOptions)).rejects.toMatchObject({
    code: ErrorCode.InvalidInput,
  })
})

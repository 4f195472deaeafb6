/** Requests that the documented configurations of load balancers repeat on another node, and requests that they do not repeat. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectHttp } from '../../../adapters/http/client.js'
import { type OperationEntry, operations } from '../../../src/protocol/operations.js'
import { failure } from '../../support/failure.js'
import { ask } from '../../support/http.js'
import { Balancer, kinds } from './balancer.js'
import { FakeNodes } from './fake-node.js'

let nodes: FakeNodes
let balancer: Balancer

describe.each(kinds.filter(({ program }) => program !== null))('behind $name', kind => {
  beforeAll(async () => {
    nodes = await FakeNodes.start(2)
    balancer = await Balancer.start(kind, nodes.ports)
  })
  afterAll(async () => {
    await balancer?.stop()
    await nodes?.stop()
  })

  /** Send a request whose first attempt fails. Returns the status and the number of attempts. */
  async function attempts(test: string, line: string, headers: Readonly<Record<string, string>> = {}) {
    const [method, route] = line.split(' ') as [string, string]
    const path = route.replace(/\{\w+\}/g, 'x')
    const body = method === 'GET' ? '' : '{}'
    const { status } = await ask(balancer.url, {
      method,
      path,
      headers: { 'x-test': test, ...headers },
      body,
    })
    return [status, nodes.attempts.get(test)]
  }

  const routes = Object.entries(operations as Readonly<Record<string, OperationEntry>>).flatMap(
    ([name, { access, routes = [] }]) => routes.map(route => ({ name, access, route })),
  )

  test('every read, and every write with a key, is repeated on another node', async () => {
    nodes.behave = (response, attempt) => (attempt === 0 ? response.destroy() : response.end('ok'))
    for (const { name, access, route } of routes) {
      const keyed = await attempts(`keyed ${route}`, route, { 'idempotency-key': 'k' })
      expect([name, ...keyed]).toEqual([name, 200, 2])
      if (access === 'write') continue
      expect([name, ...(await attempts(`plain ${route}`, route))]).toEqual([name, 200, 2])
      // The routes of LanceDB's clients end in a slash.
      expect([name, ...(await attempts(`slash ${route}`, `${route}/`))]).toEqual([name, 200, 2])
    }
  })

  test('no write without a key is repeated', async () => {
    nodes.behave = response => response.destroy()
    // Envoy answers 503.
    const failed = expect.toBeOneOf([502, 503])
    for (const { name, route } of routes.filter(({ access }) => access === 'write'))
      expect([name, ...(await attempts(`once ${route}`, route))]).toEqual([name, failed, 1])
  })

  test('a node that answers 503 is busy or closing, so another node answers the read', async () => {
    nodes.behave = (response, attempt) => response.writeHead(attempt === 0 ? 503 : 200).end('ok')
    expect(await attempts('busy', 'POST /v1/table/{id}/query')).toEqual([200, 2])
  })

  test('a query with 2 MB of vectors is repeated whole', async () => {
    const body = JSON.stringify({ vector: { multi_vector: [Array.from({ length: 400_000 }, () => 0.12)] } })
    expect(body.length).toBeGreaterThan(2e6)
    nodes.behave = (response, attempt, bytes) =>
      attempt === 0 ? response.destroy() : response.end(`${bytes}`)
    const headers = { 'content-type': 'application/json', 'x-test': 'large' }
    const reply = await ask(balancer.url, { path: '/v1/table/x/query', headers, body })
    expect([reply.status, reply.text, nodes.attempts.get('large')]).toEqual([200, `${body.length}`, 2])
  })

  test('an answer that breaks off after it began is an error of the client, not a shorter answer', async () => {
    nodes.behave = response => {
      response.writeHead(200, { 'content-type': 'application/vnd.apache.arrow.file', 'x-table-version': '1' })
      response.write('ARROW1')
      setTimeout(() => response.destroy(), 50)
    }
    await expect(
      ask(balancer.url, { path: '/v1/table/x/query', headers: { 'x-test': 'broken' } }),
    ).rejects.toThrow()
    expect(nodes.attempts.get('broken')).toBe(1)
    const client = connectHttp(balancer.url, { headers: { 'x-test': 'client' } })
    expect(await failure(client.operations.queryTable({ id: ['x'], k: 1, vector: null }))).toMatchObject({
      code: 17,
      message: expect.stringContaining('no reply from'),
    })
    await client.close()
  })

  test('requests for one table get to one node, however its name is written', async () => {
    nodes.behave = response => response.end('ok')
    const nodeOf = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
      (await ask(balancer.url, { path, headers: { 'x-test': 'place', ...headers } })).headers['x-node']
    const found = new Set<unknown>()
    for (let i = 0; i < 40; i++) {
      const node = await nodeOf(`/v1/table/shop$t${i}/query`)
      found.add(node)
      // Envoy hashes the path as it was sent.
      if (kind.name !== 'Envoy') expect(await nodeOf(`/v1/table/shop%24t${i}/insert`)).toBe(node)
      expect(await nodeOf(`/v1/table/shop$t${i}/query/?delimiter=$`)).toBe(node)
    }
    expect(found.size).toBe(2)
    const shards = await Promise.all(
      Array.from({ length: 20 }, (_, i) => nodeOf('/v1/table/t/query', { 'x-sheaf-shard': `t/${i}` })),
    )
    expect(new Set(shards).size).toBe(2)
  })
})

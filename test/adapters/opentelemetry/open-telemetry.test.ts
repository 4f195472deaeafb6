import { describe, expect, test } from 'vitest'
import { connectHttp, serve } from '../../../adapters/http/public.js'
import { ObjectStore } from '../../../adapters/object-store/object-store.js'
import { headersOver, tracingOver } from '../../../adapters/opentelemetry/open-telemetry.js'
import { openTelemetry, traceHeaders } from '../../../adapters/opentelemetry/public.js'
import { connect } from '../../../src/index.js'
import { MemoryBucket } from '../object-store/memory-bucket.js'
import { recordingApi } from './recording-api.js'

const settings = { prefix: '', timeoutMs: 1000, retries: 0 }

async function opened(path = 'memory://', options: object = {}) {
  const { api, spans } = recordingApi()
  const tracing = tracingOver(api)
  const ns = await connect(path, { tracing, ...options })
  return { api, spans, tracing, ns }
}

test('openTelemetry and traceHeaders say which package to install', async () => {
  const missing = { code: 13, hint: 'npm install @opentelemetry/api' }
  await expect(openTelemetry()).rejects.toMatchObject(missing)
  await expect(traceHeaders()).rejects.toMatchObject(missing)
})

describe('connect with tracing', () => {
  test('records a span for each operation, with the names of the conventions for databases', async () => {
    const { spans, ns } = await opened()
    await ns.createNamespace('shop')
    await ns.createTable(['shop', 'orders'], [{ id: 1 }])
    const table = await ns.openTable(['shop', 'orders'])
    await table.add([{ id: 3 }])
    spans.length = 0
    await table.add([{ id: 2 }])
    await table.query().where('id > 0').toArray()
    await ns.tableNames('shop')
    expect(spans.map(({ name }) => name)).toEqual([
      'insertIntoTable orders',
      'queryTable orders',
      'listTables',
    ])
    expect(spans[1]).toEqual({
      name: 'queryTable orders',
      kind: 0,
      parent: undefined,
      failed: false,
      attributes: {
        'db.system.name': 'sheaf',
        'db.operation.name': 'queryTable',
        'db.namespace': 'shop',
        'db.collection.name': 'orders',
      },
    })
    await ns.close()
  })

  test('records each read by key once', async () => {
    const { spans, ns } = await opened()
    const table = await ns.createTable('t', [{ id: 1 }, { id: 2 }])
    for (let i = 0; i < 5; i++) await table.get(1)
    spans.length = 0
    for (let i = 0; i < 5; i++) expect(await table.get(2)).toEqual({ id: 2 })
    expect(spans.map(({ name }) => name)).toEqual(Array(5).fill('queryTable t'))
    await ns.close()
  })

  test('marks the span of a failed operation with the name of the error', async () => {
    const { spans, ns } = await opened()
    await ns.openTable('absent').catch(() => {})
    expect(spans.at(-1)).toMatchObject({ failed: true, attributes: { 'error.type': 'TableNotFound' } })
    await ns.close()
  })

  test('records operations of transactions and snapshots', async () => {
    const { spans, ns } = await opened()
    await ns.createTable('t', [{ id: 1 }])
    spans.length = 0
    await ns.transaction(async tx => {
      await tx.table('t').add([{ id: 2 }])
    })
    const snapshot = await ns.snapshot()
    await snapshot.table('t').countRows()
    expect(spans.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['insertIntoTable t', 'countTableRows t']),
    )
    await snapshot.close()
    await ns.close()
  })

  test('records the requests to object storage with their rounds within the operation', async () => {
    const store = new ObjectStore(new MemoryBucket(), settings)
    const { spans, ns } = await opened('bucket', { store })
    const requestsIn = (name: string) => spans.filter(span => span.parent === name)
    expect(requestsIn('connect').length).toBeGreaterThan(0)
    await ns.createTable('t', [{ id: 1 }])
    spans.length = 0
    const before = store.meter.stats().requests
    await ns.table('t').query().toArray()
    const after = store.meter.stats().requests
    const requests = requestsIn('queryTable t')
    expect(requests).toHaveLength(after.get + after.range - before.get - before.range)
    expect(requests[0]).toMatchObject({ name: 'store get', kind: 2, attributes: { 'sheaf.round': 1 } })
    expect(spans.find(({ name }) => name === 'queryTable t')?.attributes).toMatchObject({
      'sheaf.requests': requests.length,
      'sheaf.rounds': expect.any(Number),
    })
    await ns.close()
  })

  test('records no request outside of an operation', async () => {
    const store = new ObjectStore(new MemoryBucket(), settings)
    const { spans, ns } = await opened('bucket', { store })
    await ns.createTable('t', [{ id: 1 }])
    await ns.optimize()
    expect(spans.filter(({ name, parent }) => name.startsWith('store') && parent === undefined)).toEqual([])
    await ns.close()
  })
})

describe('serve with tracing', () => {
  test('continues the trace of the client, and its operations are within the span of the request', async () => {
    const { api, spans, tracing, ns } = await opened()
    await ns.createTable('t', [{ id: 1 }])
    const server = await serve(ns, { port: 0, tracing })
    const client = connectHttp(server.url, { headers: () => headersOver(api) })
    spans.length = 0
    await tracing.run({ name: 'caller', kind: 'internal', attributes: {} }, () =>
      client.table('t').countRows(),
    )
    await client.close()
    await server.close()
    const route = 'POST /v1/table/{id}/count_rows'
    expect(spans.map(({ name, kind, parent }) => ({ name, kind, parent }))).toEqual(
      expect.arrayContaining([
        { name: 'countTableRows t', kind: 0, parent: route },
        { name: route, kind: 1, parent: 'caller' },
      ]),
    )
    expect(spans.find(({ name }) => name === route)?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/table/{id}/count_rows',
      'http.response.status_code': 200,
    })
    await ns.close()
  })
})

/** Every operation once over HTTP on a real namespace: what it replies is as both documents have it, theirs and ours. */
import { tableFromArrays, tableToIPC } from 'apache-arrow'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApi } from '../../../adapters/http/openapi.js'
import { findRoute } from '../../../adapters/http/routes.js'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { connect, type Namespace } from '../../../src/index.js'
import {
  type OperationEntry,
  type OperationName,
  operationNames,
  operations,
} from '../../../src/protocol/operations.js'
import { jobEnd, viewRequest } from '../../suites/views.js'
import { blobRows } from '../../support/blobs.js'
import { ask, type RawReply } from '../../support/http.js'
import { DocumentSchemas, pascalCase, specification } from '../../support/openapi.js'

let ns: Namespace
let server: HttpServer

beforeAll(async () => {
  ns = await connect('memory://')
  server = await serve(ns, { port: 0 })
})
afterAll(async () => {
  await server.close()
  await ns.close()
})

const ours = new DocumentSchemas(openApi(''))
const theirs = specification === null ? null : new DocumentSchemas(specification)

/** Operations that were called, with the statuses they answered. */
const seen = new Map<string, number[]>()

/** The JSON of the reply, once it was found to be as described; `GET ` before the path where it is no POST. */
async function call(target: string, body?: unknown): Promise<Record<string, never>> {
  const [, method = 'POST', path] = /^(GET )?(.*)$/.exec(target)!.map(part => part?.trim())
  const found = findRoute(method, `/v1/${path!.split('?')[0]}`)
  if (found.kind !== 'operation') throw new Error(`${target} is no operation`)
  const isArrow = body instanceof Uint8Array
  const reply = await ask(server.url, {
    method,
    path: `/v1/${path}`,
    headers: { 'content-type': isArrow ? 'application/vnd.apache.arrow.stream' : 'application/json' },
    ...(body !== undefined && { body: isArrow ? body : JSON.stringify(body) }),
  })
  seen.set(found.name, [...(seen.get(found.name) ?? []), reply.status])
  const complaints = reply.status < 400 ? ofReply(found.name, reply) : ofError(reply)
  expect(complaints, `${target}: ${reply.text}`).toEqual([])
  return reply.json as Record<string, never>
}

function ofError({ json }: RawReply): string[] {
  return [
    ours.complaint('/components/schemas/Error', json),
    theirs?.complaint('/components/schemas/ErrorResponse', json) ?? null,
  ].filter(complaint => complaint !== null)
}

function ofReply(name: OperationName, { status, json }: RawReply): string[] {
  const { reply, routes }: OperationEntry = operations[name]
  if (reply === 'arrow' || reply === 'empty') return []
  const complaints = [ours.complaint(`/components/schemas/${pascalCase(name)}Response`, json)]
  for (const route of routes) {
    const [method, path] = route.split(' ') as [string, string]
    const described = specification?.paths[path]?.[method.toLowerCase()]
    if (described === undefined) continue
    // A view is created with 200 here.
    const expected = described.responses[status] === undefined ? 201 : status
    const steps = ['', 'paths', path, method.toLowerCase(), 'responses', expected]
    const place = described.responses[expected].$ref?.slice(1) ?? steps.map(escaped).join('/')
    complaints.push(theirs!.complaint(`${place}/content/application~1json/schema`, json))
  }
  return complaints.filter(complaint => complaint !== null)
}

/** As a step of a JSON pointer in a URI. */
function escaped(step: string | number): string {
  return encodeURIComponent(String(step).replaceAll('/', '~1'))
}

const rows = (from: number) =>
  tableToIPC(
    tableFromArrays({ id: Int32Array.of(from, from + 1), x: Float64Array.of(1, 2), text: ['a b', 'c'] }),
    'stream',
  )

test('every operation replies as both documents say', async () => {
  await call('namespace/n/create', { properties: { a: 'b' } })
  await call('namespace/n$m/create', {})
  await call('GET namespace/n/list')
  await call('namespace/n/describe', {})
  await call('namespace/n/exists', {})

  await call('table/n$t/create', rows(1))
  await call('table/n$t/insert', rows(3))
  await call(
    'table/n$t/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true',
    rows(4),
  )
  await call('table/n$t/update', { updates: [['x', 'x + 1']], predicate: 'id = 1' })
  await call('table/n$t/delete', { predicate: 'id = 1' })
  expect(await call('table/n$t/count_rows', {})).toBe(4)
  const query = { vector: { single_vector: [] }, k: 2, filter: 'id > 1' }
  await call('table/n$t/query', query)
  await call('table/n$t/explain_plan', { query })
  await call('table/n$t/analyze_plan', query)

  await call('table/n$t/describe', { with_table_uri: true, load_detailed_metadata: true })
  await call('table/n$t/exists', {})
  await call('table/n$t/stats', {})
  await call('table/n$t/add_columns', { new_columns: [{ name: 'y', expression: 'x * 2' }] })
  await call('table/n$t/add_columns', { new_columns: [{ name: 'z', computed: 'x + 1' }] })
  await call('table/n$t/alter_columns', { alterations: [{ path: 'y', rename: 'w' }] })
  await call('table/n$t/update_field_metadata', { updates: [{ path: 'x', metadata: { a: 'b' } }] })
  await call('table/n$t/schema_metadata/update', { a: 'b' })
  const backfill = await call('table/n$t/backfill_column', { column: 'z' })
  await jobEnd(ns.operations, backfill.job_id!)
  await call('table/n$t/drop_columns', { columns: ['w'] })

  const index = await call('table/n$t/create_index', { column: 'text', index_type: 'FTS' })
  await call('table/n$t/create_scalar_index', { column: 'id', index_type: 'BTREE' })
  await ns.table('n$t').waitForIndex(['text_idx', 'id_idx'])
  await call('table/n$t/index/list', {})
  await call('table/n$t/index/text_idx/stats', {})
  await call('table/n$t/index/text_idx/prewarm')
  await call('table/n$t/page_cache/prewarm', { columns: ['x'] })
  await call('table/n$t/get_lsm_write_spec', {})
  await call('table/n$t/get_lsm_stats', {})
  await call('table/blobs/create', blobRows([new Uint8Array(3)]))
  await call('table/blobs/fetch_blobs', { column: 'image', row_ids: [0] })
  const { upload_id } = await call('table/n$t/multipart_write/create', {})
  const part = `upload_id=${encodeURIComponent(upload_id!)}&upload_part_id=a`
  await call(`table/n$t/insert?${part}`, rows(5))
  await call('table/n$t/multipart_write/describe', { upload_id })
  await call('table/n$t/multipart_write/complete', { upload_id })
  const given = await call('table/n$t/multipart_write/create', {})
  await call('table/n$t/multipart_write/abort', { upload_id: given.upload_id })
  const begun: { session?: string; slices?: readonly { token: string }[] } = await call(
    'table/n$t/read_session/create',
    { slices: 1 },
  )
  await call('table/n$t/read_session/read', { token: begun.slices![0]!.token })
  await call('table/n$t/read_session/close', { session: begun.session })
  await call('jobs/list', {})
  await call('jobs/describe', { job_id: index.transaction_id })
  await call('jobs/cancel', { job_id: index.transaction_id })
  await call('table/n$t/index/text_idx/drop')

  await call('table/n$t/tags/create', { tag: 'old', version: 1 })
  await call('table/n$t/tags/update', { tag: 'old', version: 2 })
  await call('table/n$t/tags/version', { tag: 'old' })
  await call('table/n$t/tags/list', {})
  await call('table/n$t/tags/delete', { tag: 'old' })
  await call('table/n$t/version/list', null)
  await call('table/n$t/version/describe', { version: 1 })
  await call('table/n$t/restore', { version: 1 })

  await call('table/p/declare', {})
  const created = await call('table/p/version/create', { version: 1, manifest_path: 'x', manifest_size: 1 })
  await call('table/version/batch-create', { entries: [{ id: ['p'], version: 2, manifest_path: 'x' }] })
  await call('table/p/version/delete', { ranges: [{ start_version: 1, end_version: 2 }] })
  await call('table/batch-commit', { operations: [{ declare_table: { id: ['q'] } }] })
  const transaction = `transaction/${created.transaction_id}`
  await call(`${transaction}/describe`, {})
  const note = { setPropertyAction: { key: 'by', value: 'me' } }
  await call(`${transaction}/alter`, { actions: [note] })
  const { location } = await call('table/q/deregister', {})
  await call('table/r/register', { location })

  await ns.createTable('t', [{ id: 1n, n: 20n }])
  const { id: _, ...view } = viewRequest()
  await call('materialized_view/v/create', view)
  const refresh = await call('materialized_view/v/refresh', {})
  await jobEnd(ns.operations, refresh.job_id!)
  await call('materialized_view/v/describe')
  await call('GET namespace/$/materialized_view/list')
  const filled = await call('materialized_view/w/create', { query: 'SELECT * FROM t', with_no_data: false })
  await jobEnd(ns.operations, filled.job_id!)
  await call('materialized_view/w/drop')
  await call('table/n$t/rename', { new_table_name: 'u', to_root: true })
  await call('GET namespace/$/table/list')
  await call('GET table')
  await call('table/u/drop')
  await call('namespace/n/drop', { behavior: 'Cascade' })

  for (const asked of ['list', 'create', 'delete']) await call(`table/t/branches/${asked}`, { name: 'b' })

  expect([...seen.keys()].sort()).toEqual([...operationNames].sort())
  const refused = [...seen].filter(([, statuses]) => statuses.some(status => status >= 400))
  expect(refused.map(([name]) => name)).toEqual([
    'listTableBranches',
    'createTableBranch',
    'deleteTableBranch',
  ])
})

test('every refusal is an error as both documents have it', async () => {
  await call('table/no/describe', {})
  await call('table/t/count_rows', { predicate: 'nn > 1' })
  await call('table/t/update', {})
  await call('namespace/t$x/create', {})
  await call('jobs/describe', { job_id: 'no' })
  await call('table/t/index/no/prewarm')
})

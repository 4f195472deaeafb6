/** A Lance engine that asks for a table whose rows Sheaf stores is given a location that it cannot open. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectHttp } from '../../../adapters/http/client.js'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { connect, type Namespace } from '../../../src/index.js'
import { askJson } from '../../support/http.js'

let ns: Namespace
let server: HttpServer
let folder: string
let uuid: string

beforeAll(async () => {
  ns = await connect('memory://')
  await ns.createTable('t', [{ id: 1 }])
  await ns.operations.declareTable({ id: ['engine'] })
  const described = await ns.operations.describeTable({ id: ['t'] })
  folder = described.location
  uuid = described.uuid!
  server = await serve(ns, { port: 0 })
})
afterAll(async () => {
  await server.close()
  await ns.close()
})

const describeAs = async (path: string) =>
  (await askJson(server.url, path, {})).json as Record<string, unknown>

test('the location of a table is hidden, and no versions are managed', async () => {
  const described = await describeAs('/v1/table/t/describe?with_table_uri=true')
  expect(described).not.toHaveProperty('managed_versioning')
  expect(described).toMatchObject({
    location: `sheaf-stores-the-rows-of-this-table--query-it-over-http-or-export-it://${uuid}`,
    table_uri: expect.stringContaining(uuid),
  })
})

test('a table that engines may write has its folder', async () => {
  const described = await describeAs('/v1/table/engine/describe')
  expect(described).toMatchObject({ managed_versioning: true, location: expect.stringContaining('tables/') })
})

test('the client of Sheaf and clients that send queries are shown the folder', async () => {
  const client = connectHttp(server.url)
  expect(await client.operations.describeTable({ id: ['t'] })).toMatchObject({ location: folder })
  await client.close()
  expect(await describeAs('/v1/table/t/describe/')).toMatchObject({
    location: folder,
    managed_versioning: true,
  })
})

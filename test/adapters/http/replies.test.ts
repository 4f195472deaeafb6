/** Every operation once over HTTP on a real namespace: what it replies is as both documents have it, theirs and ours. */
import { tableFromArrays, tableToIPC } from 'apache-arrow'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApi } from '../../../adapters/http/openapi.js'
import { findRoute } from '../../../adapters/http/routes.js'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { connect, type Namespace } from '../../../src/index.js'
import { type OperationEntry, operationNames, operations } from '../../../src/protocol/operations.js'
import { jobEnd, viewRequest } from '../../suites/views.js'
import { ask, type RawReply } from '../../support/http.js'
import { DocumentSchemas, specification, withoutSpecification } from '../../support/openapi.js'

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

/** The operation, its reply, and what is wrong with it. */
async function called(path: string, body?: unknown): Promise<{ name: string; reply: RawReply }> {
  const [method, route] = path.startsWith('GET ') ? ['GET', path.slice(4)] : ['POST', path]
  const found = findRoute(method, `/v1/${route.split('?')[0]}`)
  if (found.kind !== 'operation') throw new Error(`${path} is no operation`)
  const entry: OperationEntry = operations[found.name]
  const isArrow = body instanceof Uint8Array
  const reply = await ask(server.url, {
    method,
    path: `/v1/${route}`,
    headers: { 'content-type': isArrow ? 'application/vnd.apache.arrow.stream' : 'application/json' },
    ...(body !== undefined && { body: isArrow ? body : JSON.stringify(body) }),
  })
  const isError = reply.status >= 400
  if (isError || (entry.reply !== 'arrow' && entry.reply !== 'empty')) {
    const schema = isError ? 'Error' : `${found.name[0]!.toUpperCase()}${found.name.slice(1)}Response`
    expect(ours.complaint(`/components/schemas/${schema}`, reply.json), `${path}: ${reply.text}`).toBeNull()
    const complaint = isError
      ? theirs?.complaint('/components/schemas/ErrorResponse', reply.json)
      : theirs?.complaint(theirPlace(entry), reply.json)
    expect(complaint ?? null, `${path}: ${reply.text}`).toBeNull()
  }
  return { name: found.name, reply }
}

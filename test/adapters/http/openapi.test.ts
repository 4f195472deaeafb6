/** The document that a server gives of itself: it is valid, and says what is sent. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { openApi } from '../../../adapters/http/openapi.js'
import { serve } from '../../../adapters/http/server.js'
import { SheafError } from '../../../src/errors.js'
import { errorBody } from '../../../src/protocol/errors-wire.js'
import { type OperationEntry, operationNames, operations } from '../../../src/protocol/operations.js'
import { writeReply, writeRequest } from '../../../src/protocol/wire.js'
import { ask } from '../../support/http.js'
import { type Document, DocumentSchemas, pascalCase } from '../../support/openapi.js'
import { echo } from '../echo.js'
import { samplesOf } from '../samples.js'

const document: Document = openApi('')

test('the document is valid as OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(openApi('/base') as Document)
  expect(errors).toBeUndefined()
  expect(valid).toBe(true)
})

test('its schemas are valid JSON Schemas, and all named ones exist', () => {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true })
  ajv.addVocabulary(['openapi', 'info', 'servers', 'security', 'paths', 'components'])
  ajv.addSchema({ $id: 'document', ...document })
  for (const name of Object.keys(document.components.schemas)) {
    expect(() => ajv.compile({ $ref: `document#/components/schemas/${name}` }), name).not.toThrow()
  }
})

test('the document is served below the base path, which it names', async () => {
  for (const basePath of ['', '/some/base']) {
    const server = await serve(echo(), { port: 0, basePath })
    const reply = await ask(server.url, { method: 'GET', path: `${basePath}/openapi.json` })
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json'])
    expect(reply.json).toEqual({ ...document, servers: [{ url: basePath || '/' }] })
    await server.close()
  }
})

test('the document has every route, each under a unique name', () => {
  const ids: string[] = []
  for (const name of operationNames) {
    for (const route of operations[name].routes) {
      const [method, path] = route.split(' ') as [string, string]
      const { operationId, parameters } = document.paths[path][method.toLowerCase()]
      expect(operationId.replace(/\d$/, '')).toBe(name)
      ids.push(operationId)
      const inPath = parameters.filter((each: Document) => each.in === 'path')
      const placeholders = [...path.matchAll(/\{(\w+)\}/g)].map(([, placeholder]) => placeholder)
      expect(inPath.map((each: Document) => each.name)).toEqual(placeholders)
    }
  }
  expect(new Set(ids).size).toBe(ids.length)
})

describe('requests and replies are as documented', () => {
  const schemas = new DocumentSchemas(document)

  test.each(operationNames)('%s', name => {
    const entry: OperationEntry = operations[name]
    const [method, path] = entry.routes[0].split(' ') as [string, string]
    const parameters = document.paths[path][method.toLowerCase()].parameters
    const known = parameters.map((parameter: Document) => parameter.name)
    for (const { request, reply } of samplesOf(name, 10)) {
      const sent = writeRequest(entry, request)
      for (const key of new URL(sent.path, 'http://host').searchParams.keys()) expect(known).toContain(key)
      if (sent.body !== null) check(`${pascalCase(name)}Request`, JSON.parse(sent.body))
      if (entry.response === null) continue
      check(`${pascalCase(name)}Response`, JSON.parse(JSON.stringify(writeReply(entry, reply))))
    }
  })

  function check(schema: string, body: unknown): void {
    expect(schemas.complaint(`/components/schemas/${schema}`, body)).toBeNull()
    const { properties } = document.components.schemas[schema]
    if (properties !== undefined)
      expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(body!)))
  }

  test('errors', () => {
    const error = new SheafError(13, 'm', { hint: 'h', at: { offset: 1, length: 2 }, transactionId: 'x' })
    const body = errorBody(error, '/v1/table')
    expect(schemas.complaint('/components/schemas/Error', body)).toBeNull()
    expect(schemas.complaint('/components/schemas/Error', { ...body, code: 'x' })).toContain(
      'must be integer',
    )
    expect(Object.keys(body).sort()).toEqual(Object.keys(document.components.schemas.Error.properties).sort())
  })
})

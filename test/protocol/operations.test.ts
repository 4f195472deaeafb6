import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dataPath } from '../../scripts/data.js'
import { type OperationEntry, operationNames, operations } from '../../src/protocol/operations.js'
import type { Field, Fields, Shape } from '../../src/protocol/shape.js'
import { unservedRoutes } from '../../src/protocol/unserved-routes.js'
import { scanOperations, scanSchemas } from '../support/openapi-scan.js'

const entries: (readonly [string, OperationEntry])[] = operationNames.map(name => [name, operations[name]])
const specified = entries.filter(([, { origin }]) => origin === 'specification')
const routes = entries.flatMap(([name, entry]) => entry.routes.map(route => [route, name] as const))

test('A-001 the twenty operations of the specification answer POST at their paths', () => {
  const table = [
    'query',
    'analyze_plan',
    'create_index',
    'index/list',
    'index/{index_name}/stats',
    'index/{index_name}/drop',
  ]
  table.push(
    'add_columns',
    'alter_columns',
    'update',
    'delete',
    'rename',
    'exists',
    'version/create',
    'version/describe',
  )
  table.push('tags/update', 'tags/version', 'refresh')
  const paths = table.map(path => `POST /v1/table/{id}/${path}`)
  paths.push(
    'POST /v1/table/version/batch-create',
    'POST /v1/table/batch-commit',
    'POST /v1/transaction/{id}/alter',
  )
  expect(paths).toHaveLength(20)
  for (const path of paths) expect(routes.map(([route]) => route)).toContain(path)
})

test('there are the 54 operations of the specification, and seven that clients of LanceDB ask for', () => {
  const lancedb = entries.filter(([, { origin }]) => origin === 'lancedb').map(([name]) => name)
  expect(lancedb).toEqual([
    'listJobs',
    'describeJob',
    'cancelJob',
    'prewarmTableIndex',
    'prewarmTable',
    'getTableLsmWriteSpec',
    'getTableLsmStats',
  ])
  expect(specified).toHaveLength(54)
})

test('no route leads to two operations, and none to one and to nowhere', () => {
  const all = [...routes.map(([route]) => route), ...unservedRoutes]
  expect(new Set(all).size).toBe(all.length)
})

test('A-165 success is 200, and 202 where a job was started', () => {
  expect(entries.filter(([, entry]) => entry.status === 202).map(([name]) => name)).toStrictEqual([
    'alterTableBackfillColumns',
    'refreshMaterializedView',
  ])
})

describe.each(entries)('%s', (_, entry) => {
  const fields = entry.request.fields

  test('has a place for every field', () => {
    for (const name of entry.query) expect(fields).toHaveProperty([name])
    const inPath = ['id', 'index_name', 'identity', 'context']
    if (entry.body === 'arrow') {
      const left = Object.keys(fields).filter(name => !inPath.includes(name) && !entry.query.includes(name))
      expect(left).toStrictEqual([])
    }
    if (entry.bare !== undefined) {
      expect(fields).toHaveProperty([entry.bare])
      expect(entry.response?.kind === 'object' && entry.response.fields).toHaveProperty([entry.bare])
    }
    expect('id' in fields).toBe(entry.target !== 'none')
    expect('index_name' in fields).toBe(entry.routes[0].includes('{index_name}'))
  })

  test('A-024 takes identity and context', () => {
    expect(fields).toHaveProperty('identity')
    expect(fields).toHaveProperty('context')
  })

  test('has a response where its reply has content', () => {
    const expected = {
      json: 'object',
      integer: 'integer',
      text: 'string',
      arrow: undefined,
      empty: undefined,
    }
    expect(entry.response?.kind).toBe(expected[entry.reply])
  })

  test('describes itself and every field in a sentence', () => {
    const docs = [
      entry.doc,
      ...docsOf(entry.request),
      ...(entry.response === null ? [] : docsOf(entry.response)),
    ]
    for (const doc of docs) expect(doc).toMatch(/^.+[^.]\.$/)
  })
})

function docsOf(shape: Shape, seen = new Set<string>()): string[] {
  switch (shape.kind) {
    case 'object':
    case 'choice':
      return Object.values<Field>(shape.fields).flatMap(field => [field.doc, ...docsOf(field.shape, seen)])
    case 'array':
      return docsOf(shape.item, seen)
    case 'record':
      return docsOf(shape.value, seen)
    case 'nullable':
    case 'accept':
      return docsOf(shape.shape, seen)
    case 'named':
      if (seen.has(shape.name)) return []
      seen.add(shape.name)
      return docsOf(shape.shape(), seen)
    default:
      return []
  }
}

describe('the OpenAPI document of the Lance Namespace', () => {
  const path = dataPath('../spec/lance-namespace-0.11.1.yaml')
  const yaml = path === null ? '' : readFileSync(path, 'utf8')
  const absent = path === null

  test('lists the same operations, methods and paths', context => {
    context.skip(absent, 'the OpenAPI document is not on this machine')
    const scanned = scanOperations(yaml)
    expect(scanned).toHaveLength(54)
    for (const { operationId, method, path: template } of scanned) {
      expect(routes).toContainEqual([`${method} ${template}`, camelCase(operationId)])
    }
  })

  test('has no request field that is not accepted, and requires none that is optional here', context => {
    context.skip(absent, 'the OpenAPI document is not on this machine')
    const schemas = scanSchemas(yaml)
    for (const [name, entry] of specified) {
      const schema = schemas.get(`${modelNames[name] ?? pascalCase(name)}Request`)!
      const lacking = without(schema.properties, namesOf(entry.request.fields))
      // A query may lack a vector beside a filter; a list of all tables is of no namespace.
      expect({ name, lacking }).toStrictEqual({ name, lacking: name === 'listAllTables' ? ['id'] : [] })
      for (const field of without(schema.required, ['vector'])) {
        expect([name, field, entry.request.fields[field]!.required]).toStrictEqual([name, field, true])
      }
    }
  })

  test('has no reply field that replies lack', context => {
    context.skip(absent, 'the OpenAPI document is not on this machine')
    const schemas = scanSchemas(yaml)
    for (const [name, entry] of specified) {
      if (entry.response?.kind !== 'object') continue
      const model = name === 'listAllTables' ? 'ListTables' : pascalCase(name)
      const schema = schemas.get(`${model}Response`)!
      const lacking = without(schema.properties, ['context', ...namesOf(entry.response.fields)])
      expect({ name, lacking }).toStrictEqual({
        name,
        lacking: name === 'getTableTagVersion' ? ['branch'] : [],
      })
      for (const field of schema.required)
        expect(entry.response.fields[field]).toMatchObject({ required: true })
    }
  })
})

/** Operations whose request has the model of another. */
const modelNames: Readonly<Record<string, string>> = {
  listAllTables: 'ListTables',
  createTableScalarIndex: 'CreateTableIndex',
}

function without(names: readonly string[], known: readonly string[]): string[] {
  return names.filter(name => !known.includes(name))
}

function namesOf(fields: Fields): string[] {
  return Object.entries(fields).flatMap(([name, field]) => [name, ...field.also])
}

function camelCase(name: string): string {
  return name[0]!.toLowerCase() + name.slice(1)
}

function pascalCase(name: string): string {
  return name[0]!.toUpperCase() + name.slice(1)
}

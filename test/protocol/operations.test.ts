import { describe, expect, test } from 'vitest'
import { type OperationEntry, operationNames, operations } from '../../src/protocol/operations.js'
import type { Field, Shape } from '../../src/protocol/shape.js'
import { unservedRoutes } from '../../src/protocol/unserved-routes.js'

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

test('there are the 54 operations of the specification, and eighteen that clients of LanceDB ask for', () => {
  const lancedb = entries.filter(([, { origin }]) => origin === 'lancedb').map(([name]) => name)
  expect(lancedb).toEqual([
    'createTableUpload',
    'describeTableUpload',
    'completeTableUpload',
    'abortTableUpload',
    'createTableReadSession',
    'readTableSlice',
    'closeTableReadSession',
    'describeMaterializedView',
    'listMaterializedViews',
    'dropMaterializedView',
    'listJobs',
    'describeJob',
    'cancelJob',
    'prewarmTableIndex',
    'prewarmTable',
    'fetchTableBlobs',
    'getTableLsmWriteSpec',
    'getTableLsmStats',
  ])
  expect(specified).toHaveLength(54)
})

test('no route is listed twice, served or unserved', () => {
  const bytesRoutes = entries.flatMap(([, { bytesRoute }]) => bytesRoute ?? [])
  const all = [...routes.map(([route]) => route), ...bytesRoutes, ...unservedRoutes]
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

  test('has a response if its reply has content', () => {
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

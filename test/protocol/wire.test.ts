import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type OperationEntry,
  type OperationName,
  operationNames,
  operations,
} from '../../src/protocol/operations.js'
import { parse } from '../../src/protocol/parse.js'
import { readReply, readRequest, type WireParts, writeReply, writeRequest } from '../../src/protocol/wire.js'
import { arbitraryOf } from '../support/shape-arbitrary.js'

const bad = expect.objectContaining({ code: 13, status: 400 })

function read(name: OperationName, { path = {}, query = '', body }: Sent): Record<string, unknown> {
  return readRequest(operations[name], { segments: path, query: new URLSearchParams(query), body })
}

interface Sent {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: unknown
}

/** The parts of what a client wrote, as a server takes them apart. */
function partsOf(entry: OperationEntry, path: string, body: string | null): WireParts {
  const url = new URL(path, 'http://localhost')
  const template = entry.routes[0].split(' ')[1]!
  const pattern = new RegExp(`^${template.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
  const segments = pattern.exec(url.pathname)?.groups ?? {}
  return { segments, query: url.searchParams, body: body === null ? undefined : JSON.parse(body) }
}

describe('reading a request', () => {
  test('A-006 the id is decoded once and split at the delimiter', () => {
    expect(read('describeTable', { path: { id: 'a%24b' } })).toStrictEqual({ id: ['a', 'b'] })
    expect(read('describeTable', { path: { id: 'a.b' }, query: 'delimiter=.' }).id).toStrictEqual(['a', 'b'])
    expect(() => read('describeTable', { path: { id: 'a%b' } })).toThrowError(bad)
  })

  test('A-007 an empty delimiter is refused', () => {
    expect(() => read('describeTable', { path: { id: 'a' }, query: 'delimiter=' })).toThrowError(bad)
  })

  test('A-008 the delimiter alone, or no id in the path, is the root', () => {
    expect(read('listNamespaces', { path: { id: '$' } }).id).toStrictEqual([])
    expect(read('listNamespaces', { path: { id: '.' }, query: 'delimiter=.' }).id).toStrictEqual([])
    expect(read('listNamespaces', { query: 'delimiter=.' }).id).toStrictEqual([])
    expect(read('listNamespaces', {}).id).toStrictEqual([])
  })

  test('A-012 path and body must name the same object', () => {
    expect(() => read('describeTable', { path: { id: 'a' }, body: { id: ['b'] } })).toThrowError(bad)
    expect(read('describeTable', { path: { id: 'a$b' }, body: { id: ['a$b'] } }).id).toStrictEqual(['a$b'])
    expect(read('describeTable', { path: { id: 'a' }, body: { id: null } }).id).toStrictEqual(['a'])
  })

  test('A-012 an invalid body id is left for validation', () => {
    expect(read('describeTable', { path: { id: 'a' }, body: { id: 'a' } }).id).toBe('a')
  })

  test('A-014 so must they the same index', () => {
    const path = { id: 't', index_name: 'my%20idx%2F1' }
    expect(read('dropTableIndex', { path }).index_name).toBe('my idx/1')
    expect(read('dropTableIndex', { path, body: { index_name: 'my idx/1' } }).index_name).toBe('my idx/1')
    expect(() => read('dropTableIndex', { path, body: { index_name: 'other' } })).toThrowError(bad)
    expect(() => read('dropTableIndex', { path: { id: 't', index_name: '%' } })).toThrowError(bad)
  })

  test('A-035 limit and page_token as query parameters or in the body, which wins', () => {
    const path = { id: 't' }
    expect(read('listTableIndices', { path, query: 'limit=5&page_token=x' })).toMatchObject({
      limit: 5,
      page_token: 'x',
    })
    expect(read('listTableTags', { path, query: 'limit=5', body: { limit: 6 } })).toMatchObject({ limit: 6 })
    expect(read('listTableTags', { path, query: 'limit=5', body: { limit: null } })).toMatchObject({
      limit: 5,
    })
  })

  test.each(['0', '-1', '5.5', 'ten', '', '1e3', '5&limit=6'])('A-033 limit=%s is refused', limit => {
    const request = read('listTableTags', { path: { id: 't' }, query: `limit=${limit}` })
    expect(() => parse(operations.listTableTags.request, request, 'listTableTags')).toThrow(
      /listTableTags: limit must be an integer >= 1/,
    )
  })

  test('A-033 a limit above 10,000 is 10,000', () => {
    const request = read('listTableTags', { path: { id: 't' }, query: 'limit=10001' })
    expect(parse(operations.listTableTags.request, request, 'listTableTags').limit).toBe(10_000)
  })

  test('A-150 the path names a transaction, whatever table the body names', () => {
    expect(read('describeTransaction', { path: { id: '1a-x' }, body: { id: ['ns', 't'] } }).id).toStrictEqual(
      ['1a-x'],
    )
  })

  test('no body, null and an empty object are the same', () => {
    for (const body of [undefined, null, {}]) {
      expect(read('listTableVersions', { path: { id: 't' }, query: 'descending=true', body })).toStrictEqual({
        id: ['t'],
        descending: true,
      })
    }
  })

  test('a body that is not an object is refused', () => {
    for (const body of [[], 'text', 5, true]) {
      expect(() => read('updateTable', { path: { id: 't' }, body })).toThrowError(bad)
    }
  })

  test('the requests of a merge and a create are in the query string', () => {
    const merge =
      'on=id&on=cat&when_matched_update_all=true&when_not_matched_by_source_delete=false&timeout=30s'
    expect(read('mergeInsertIntoTable', { path: { id: 't' }, query: merge })).toStrictEqual({
      id: ['t'],
      on: ['id', 'cat'],
      when_matched_update_all: true,
      when_not_matched_by_source_delete: false,
      timeout: '30s',
    })
    const create = `mode=exist_ok&properties=${encodeURIComponent('{"user":"alice"}')}`
    expect(
      parse(
        operations.createTable.request,
        read('createTable', { path: { id: 't' }, query: create }),
        'createTable',
      ),
    ).toStrictEqual({
      id: ['t'],
      mode: 'ExistOk',
      properties: { user: 'alice' },
    })
  })

  test('text that is not a value is refused by validation, with its path', () => {
    const request = (query: string) => () =>
      parse(operations.createTable.request, read('createTable', { path: { id: 't' }, query }), 'createTable')
    expect(request('properties={')).toThrow('createTable: properties must be an object, got "{"')
    expect(request('mode=a&mode=b')).toThrow('createTable: mode must be one of')
    const merge = read('mergeInsertIntoTable', { path: { id: 't' }, query: 'on=a&use_index=yes' })
    expect(() => parse(operations.mergeInsertIntoTable.request, merge, 'merge')).toThrow(
      'merge: use_index must be true or false, got "yes"',
    )
  })

  test('a bare body is the one field it is', () => {
    expect(read('updateTableSchemaMetadata', { path: { id: 't' }, body: { id: 'x' } })).toStrictEqual({
      metadata: { id: 'x' },
      id: ['t'],
    })
  })

  test('__proto__ in a body reaches no prototype', () => {
    const request = read('describeTable', {
      path: { id: 't' },
      body: JSON.parse('{"__proto__":{"version":5}}'),
    })
    expect(request.version).toBeUndefined()
  })
})

describe('writing and reading are inverses', () => {
  test.each(operationNames)('%s', name => {
    const entry: OperationEntry = operations[name]
    fc.assert(
      fc.property(arbitraryOf(entry.request), value => {
        const {
          identity: _,
          context: __,
          ...request
        } = parse(entry.request, value, name) as Record<string, unknown>
        const wire = writeRequest(entry, request)
        const back = readRequest(entry, partsOf(entry, wire.path, wire.body))
        expect(parse(entry.request, back, name)).toStrictEqual(request)
      }),
      { numRuns: 60 },
    )
  })

  test.each(operationNames)('the reply of %s', name => {
    const entry: OperationEntry = operations[name]
    if (entry.response === null) return expect(readReply(entry, undefined, name)).toBeUndefined()
    const response = entry.response
    fc.assert(
      fc.property(arbitraryOf(response), value => {
        const reply = parse(response, value, name)
        const body = JSON.parse(JSON.stringify(writeReply(entry, reply)))
        expect(readReply(entry, body, name)).toStrictEqual(
          entry.bare === undefined ? reply : bareOnly(entry, reply),
        )
      }),
      { numRuns: 40 },
    )
  })
})

function bareOnly(entry: OperationEntry, reply: unknown): unknown {
  return { [entry.bare!]: (reply as Record<string, unknown>)[entry.bare!] }
}

describe('writing', () => {
  test('uses the first route and omits the default delimiter', () => {
    expect(writeRequest(operations.countTableRows, { id: ['a b', 'é'], predicate: 'x > 1' })).toStrictEqual({
      method: 'POST',
      path: '/v1/table/a%20b%24%C3%A9/count_rows',
      body: '{"predicate":"x > 1"}',
    })
    expect(writeRequest(operations.listTables, { id: [], limit: 3 })).toStrictEqual({
      method: 'GET',
      path: '/v1/namespace/%24/table/list?limit=3',
      body: null,
    })
  })

  test('A-010 chooses a delimiter that no name contains', () => {
    expect(writeRequest(operations.dropTable, { id: ['a$b', 't'] }).path).toBe(
      '/v1/table/a%24b%1Ft/drop?delimiter=%1F',
    )
  })

  test('typed arrays become arrays', () => {
    const request = {
      id: ['t'],
      k: 1,
      vector: { multi_vector: [new Float32Array([0.5]), new Uint8Array([2])] },
    }
    expect(writeRequest(operations.queryTable, request).body).toBe(
      '{"k":1,"vector":{"multi_vector":[[0.5],[2]]}}',
    )
  })

  test('a reply is sent under all names of its fields', () => {
    expect(writeReply(operations.updateTable, { updated_rows: 4, version: 2 })).toStrictEqual({
      updated_rows: 4,
      rows_updated: 4,
      version: 2,
    })
    expect(writeReply(operations.countTableRows, 5)).toBe(5)
    expect(
      writeReply(operations.updateTableSchemaMetadata, { metadata: { a: 'b' }, transaction_id: 'x' }),
    ).toStrictEqual({
      a: 'b',
    })
  })

  test('a reply that does not match its shape is refused', () => {
    expect(() => readReply(operations.countTableRows, { count: 5 }, 'countTableRows')).toThrow(
      /the reply of countTableRows must be an integer/,
    )
  })
})

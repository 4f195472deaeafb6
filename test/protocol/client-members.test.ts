/**
 * Every name that published clients put into requests is declared, so none of them is refused. `client-members.json` holds the
 * names by route. `generated`: the models of the clients generated from the Lance Namespace document, lance-namespace-apache-client
 * 0.7.7 (Java), lance-namespace-urllib3-client 0.13.0 (Python) and lance-namespace-reqwest-client 0.13.0 (Rust; pylance and
 * lance-ray send their requests through it). `lancedb`: what lancedb 0.40.0 (Python) sent while its own tests ran against a
 * server. Names of columns are left out. LanceDB's Node clients are run against the server in test/peers.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type OperationEntry, operationNames, operations } from '../../src/protocol/operations.js'
import { parse } from '../../src/protocol/parse.js'
import type { Shape } from '../../src/protocol/shape.js'

interface Names {
  readonly query?: readonly string[]
  readonly members?: readonly string[]
}

const recorded: Record<'generated' | 'lancedb', Record<string, Names>> = JSON.parse(
  readFileSync('test/protocol/client-members.json', 'utf8'),
)

/** Stand in the path as well, or nowhere else. */
const inPath = ['id', 'index_name']

/** LanceDB's form of a text query is converted before it is read: `textQueries` below has its names. */
const convertedForm = /(^|\.)full_text_query\.query(\.|$)/

function has(shape: Shape, path: readonly string[]): boolean {
  const [name, ...rest] = path
  if (name === undefined) return true
  switch (shape.kind) {
    case 'object':
    case 'choice':
      return Object.entries(shape.fields).some(
        ([own, field]) => [own, ...field.also].includes(name) && has(field.shape, rest),
      )
    case 'either':
      return shape.alternatives.some(each => has(each.shape, path))
    case 'array':
      return has(shape.item, path)
    case 'tuple':
      return shape.items.some(item => has(item, path))
    case 'record':
      return has(shape.value, rest)
    case 'nullable':
      return has(shape.shape, path)
    case 'accept':
      return has(shape.shape, path) || (shape.other !== undefined && has(shape.other.shape, path))
    case 'named':
      return has(shape.shape(), path)
    case 'json':
      return true
    default:
      return false
  }
}

/** What is not declared of the names of a group. */
function undeclared(routes: Record<string, Names>): string[] {
  return Object.entries(routes).flatMap(([route, { query = [], members = [] }]) => {
    const name = operationNames.find(each => (operations[each].routes as readonly string[]).includes(route))
    if (name === undefined) return [route]
    const entry: OperationEntry = operations[name]
    return [
      ...query.filter(each => !entry.query.includes(each)).map(each => `${route} ?${each}`),
      ...members
        .filter(each => !inPath.includes(each) && !convertedForm.test(each))
        .filter(each => !has(entry.request, each.split('.')))
        .map(each => `${route} ${each}`),
    ]
  })
}

describe('names that published clients send are declared', () => {
  test('by the generated clients: all of them', () => {
    expect(Object.keys(recorded.generated).length).toBeGreaterThan(50)
    expect(undeclared(recorded.generated)).toEqual([])
  })

  test('by LanceDB: all but those of what is not offered', () => {
    expect(Object.keys(recorded.lancedb).length).toBeGreaterThan(30)
    expect(undeclared(recorded.lancedb)).toEqual(['POST /v1/table/{id}/clone'])
  })

  const match = {
    boost: 1,
    column: 'text',
    fuzziness: 0,
    max_expansions: 50,
    operator: 'Or',
    prefix_length: 0,
    terms: 'word',
  }
  const textQueries = [
    { match },
    { phrase: { column: 'text', slop: 0, terms: 'two words' } },
    { boost: { negative: { match }, negative_boost: 0.5, positive: { match } } },
    { boolean: { must: [{ match }], must_not: [], should: [] } },
    { multi_match: { boost: [1, 2], columns: ['text', 'title'], query: 'word' } },
  ]

  test.each(textQueries)('by LanceDB in a text query: %o', query => {
    const named = new Set(recorded.lancedb['POST /v1/table/{id}/query']!.members)
    expect(named).toContain(`full_text_query.query.${Object.keys(query)[0]}`)
    const request = { id: ['t'], k: 10, vector: [], full_text_query: { query } }
    expect(() => parse(operations.queryTable.request, request, 'queryTable')).not.toThrow()
  })
})

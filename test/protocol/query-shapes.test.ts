import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Request } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { explainRequest, queryRequest } from '../../src/protocol/query-shapes.js'
import { arbitraryOf } from '../support/shape-arbitrary.js'

function query(fields: Record<string, unknown>): Request<'queryTable'> {
  return parse(queryRequest, { id: ['t'], k: 3, vector: [1, 2], ...fields }, 'queryTable')
}

describe('A-038 k', () => {
  test.each([undefined, null, -1, 1.5, '3', Number.NaN])('%s is refused', k => {
    expect(() => query({ k })).toThrow(/^queryTable(: k must be| needs k:) an integer >= 0/)
  })

  test('0 is accepted, and 2^63 - 1 means all', () => {
    expect(query({ k: 0 }).k).toBe(0)
    expect(query(JSON.parse('{"k": 9223372036854775807}')).k).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('A-039 vector', () => {
  test.each([
    ['the specification, one', { single_vector: [1, 2] }, { single_vector: [1, 2] }],
    ['the specification, several', { multi_vector: [[1], [2]] }, { multi_vector: [[1], [2]] }],
    ['one with null for the other', { single_vector: [1], multi_vector: null }, { single_vector: [1] }],
    ['a bare vector', [1, 2], { single_vector: [1, 2] }],
    [
      'bare vectors',
      [
        [1, 2],
        [3, 4],
      ],
      {
        multi_vector: [
          [1, 2],
          [3, 4],
        ],
      },
    ],
    ['a typed array', new Float32Array([1, 2]), { single_vector: new Float32Array([1, 2]) }],
    ['an empty array', [], null],
    ['an empty vector', { single_vector: [] }, null],
    ['an empty batch', { multi_vector: [] }, null],
    ['null', null, null],
  ])('%s', (_, given, normal) => {
    const { vector } = query({ vector: given })
    expect(vector).toStrictEqual(normal)
    expect(query({ vector }).vector).toStrictEqual(normal)
  })

  test('both is refused', () => {
    expect(() => query({ vector: { single_vector: [1], multi_vector: [[1]] } })).toThrow(
      'queryTable: vector needs exactly one of single_vector, multi_vector, got single_vector and multi_vector',
    )
  })

  test('absent is refused alone and accepted beside a filter or a text', () => {
    expect(() => query({ vector: undefined })).toThrow(/queryTable needs vector/)
    expect(query({ vector: undefined, filter: 'a > 1' }).vector).toBeUndefined()
    expect(query({ vector: undefined, full_text_query: { query: 'a' } }).vector).toBeUndefined()
  })

  test.each([
    ['an empty object', {}],
    ['nulls', { single_vector: null, multi_vector: null }],
    ['empty lists', { single_vector: [], multi_vector: [] }],
  ])('%s, as generated clients write it, is no vector', (_, vector) => {
    expect(query({ vector }).vector).toBeNull()
  })

  test('an empty list next to a vector counts as absent', () => {
    expect(query({ vector: { single_vector: [1], multi_vector: [] } }).vector).toEqual({ single_vector: [1] })
    expect(query({ vector: { single_vector: [], multi_vector: [[1]] } }).vector).toEqual({
      multi_vector: [[1]],
    })
  })

  test.each([['text'], [5], [{ vector: [1] }], [[null]], [[[1], 2]], [{ multi_vector: [1, 2] }]])(
    '%j is refused',
    vector => {
      expect(() => query({ vector })).toThrow(/queryTable: vector/)
    },
  )

  test('A-041 NaN and infinities are refused, with their position', () => {
    expect(() => query({ vector: [1, Number.NaN] })).toThrow(
      'queryTable: vector[1] must be a finite number, got NaN',
    )
    expect(() => query({ vector: { single_vector: new Float32Array([Number.POSITIVE_INFINITY]) } })).toThrow(
      'queryTable: vector.single_vector[0] must be a finite number, got Infinity',
    )
    expect(() => query({ vector: [[1], [Number.NEGATIVE_INFINITY]] })).toThrow('vector[1][0]')
  })
})

describe('columns', () => {
  test.each([
    ['names', { column_names: ['a', 'b'] }, { column_names: ['a', 'b'] }],
    ['aliases', { column_aliases: { x: 'a + 1' } }, { column_aliases: { x: 'a + 1' } }],
    ['null for the other', { column_names: ['a'], column_aliases: null }, { column_names: ['a'] }],
    ['a bare array', ['a', 'b'], { column_names: ['a', 'b'] }],
    ['a bare object', { x: 'a + 1' }, { column_aliases: { x: 'a + 1' } }],
    ['an output named like the field', { column_names: 'a' }, { column_aliases: { column_names: 'a' } }],
    ['null', null, undefined],
    ['names, and no aliases', { column_names: ['a'], column_aliases: {} }, { column_names: ['a'] }],
    [
      'aliases, and no names',
      { column_names: [], column_aliases: { x: 'a' } },
      { column_aliases: { x: 'a' } },
    ],
    ['neither', { column_names: [], column_aliases: {} }, undefined],
    ['null for both', { column_names: null, column_aliases: null }, undefined],
    ['an object of nothing', {}, undefined],
    ['an empty array', [], { column_names: [] }],
  ])('%s', (_, given, normal) => {
    const { columns } = query({ columns: given })
    expect(columns).toStrictEqual(normal)
    expect(query({ columns }).columns).toStrictEqual(normal)
  })

  test('A-060 a name twice is refused', () => {
    expect(() => query({ columns: ['a', 'a'] })).toThrow('columns must not contain "a" twice')
  })

  test('A-062 both are refused', () => {
    expect(() => query({ columns: { column_names: ['a'], column_aliases: { b: 'c' } } })).toThrow(
      /exactly one of/,
    )
  })
})

describe('full_text_query', () => {
  const match = { match: { terms: 'a', operator: 'And' } }

  test.each([
    [
      'a string',
      { string_query: { query: 'a', columns: ['t'] } },
      { string_query: { query: 'a', columns: ['t'] } },
    ],
    ['a bare string', { query: 'a', columns: ['t'] }, { string_query: { query: 'a', columns: ['t'] } }],
    ['no columns', { query: 'a', columns: [] }, { string_query: { query: 'a' } }],
    ['operators', { structured_query: { query: match } }, { structured_query: { query: match } }],
    ['bare operators', { query: match }, { structured_query: { query: match } }],
    ['null', null, undefined],
  ])('%s', (_, given, normal) => {
    const full_text_query = query({ full_text_query: given }).full_text_query
    expect(full_text_query).toStrictEqual(normal)
    expect(query({ full_text_query }).full_text_query).toStrictEqual(normal)
  })

  test('A-065 both are refused, an empty object is not a query', () => {
    expect(query({ full_text_query: {}, vector: [] })).not.toHaveProperty('full_text_query')
    expect(() =>
      query({ full_text_query: { string_query: { query: 'a' }, structured_query: { query: match } } }),
    ).toThrow(/exactly one of/)
  })

  test('multi_match as parallel lists', () => {
    const wire = { multi_match: { query: 'a b', columns: ['t', 'u'], boost: [2, 1] } }
    expect(query({ full_text_query: { query: wire } }).full_text_query).toStrictEqual({
      structured_query: {
        query: {
          multi_match: {
            match_queries: [
              { terms: 'a b', column: 't', boost: 2 },
              { terms: 'a b', column: 'u', boost: 1 },
            ],
          },
        },
      },
    })
  })

  test('the last word of a match may be a prefix', () => {
    const wire = { match: { terms: 'green ener', prefix: true } }
    expect(query({ full_text_query: { query: wire } }).full_text_query).toStrictEqual({
      structured_query: { query: wire },
    })
    expect(() => query({ full_text_query: { query: { match: { terms: 'a', prefix: 1 } } } })).toThrow(
      'prefix',
    )
  })

  test('A-066 operators nest, with exactly one per object and null for absent; for fuzziness null means automatic', () => {
    const wire = {
      boolean: {
        must: [{ match: { terms: 'a', column: null, fuzziness: null, operator: 'or' } }],
        must_not: [{ phrase: { terms: 'b c', slop: 1 }, match: null }],
        should: [{ boost: { positive: match, negative: match, negative_boost: 0.2 } }],
      },
    }
    expect(query({ full_text_query: { query: wire } }).full_text_query).toStrictEqual({
      structured_query: {
        query: {
          boolean: {
            must: [{ match: { terms: 'a', fuzziness: null, operator: 'Or' } }],
            must_not: [{ phrase: { terms: 'b c', slop: 1 } }],
            should: [{ boost: { positive: match, negative: match, negative_boost: 0.2 } }],
          },
        },
      },
    })
    expect(() => query({ full_text_query: { query: { ...match, phrase: { terms: 'a' } } } })).toThrow(
      'full_text_query.query needs exactly one of',
    )
  })

  test('unbounded nesting is refused', () => {
    let deep: Record<string, unknown> = match
    for (let i = 0; i < 10_000; i++) deep = { boolean: { must: [deep] } }
    expect(() => query({ full_text_query: { query: deep } })).toThrow(/nested deeper than 100 levels/)
  })
})

test('A-044 the metric, under either name and in any case', () => {
  expect(query({ metric_type: 'COSINE' }).distance_type).toBe('cosine')
  expect(() => query({ distance_type: 'dot', metric_type: 'l2' })).toThrow(/distance_type and metric_type/)
  expect(() => query({ distance_type: 'manhattan' })).toThrow(/one of l2, cosine, dot, hamming/)
})

test('a query as the LanceDB client sends it', () => {
  const wire =
    '{"k":9223372036854775807,"prefilter":true,"vector":[],"version":null,"lower_bound":null,"upper_bound":null,' +
    '"ef":null,"refine_factor":null,"nprobes":20,"minimum_nprobes":20,"maximum_nprobes":0,"use_lsm":true,' +
    '"order_by":[{"column_name":"a","ascending":false,"nulls_first":true}],"approx_mode":"x"}'
  expect(parse(queryRequest, { id: ['t'], ...JSON.parse(wire) }, 'queryTable')).toStrictEqual({
    id: ['t'],
    k: Number.MAX_SAFE_INTEGER,
    prefilter: true,
    vector: null,
    nprobes: 20,
    minimum_nprobes: 20,
    maximum_nprobes: 0,
    order_by: [{ column_name: 'a', ascending: false, nulls_first: true }],
  })
})

test('A-025 a branch other than main is unsupported, not ignored', () => {
  expect(query({ branch: 'main' }).branch).toBe('main')
  expect(query({ branch: null }).branch).toBeUndefined()
  expect(() => query({ branch: 'exp' })).toThrowError(expect.objectContaining({ code: 0, status: 406 }))
})

test('an explained query is checked like any other', () => {
  const explain = (inner: unknown) =>
    parse(explainRequest, { id: ['t'], query: inner, verbose: true }, 'explain')
  expect(explain({ k: 1, vector: [1] })).toStrictEqual({
    id: ['t'],
    query: { k: 1, vector: { single_vector: [1] } },
    verbose: true,
  })
  expect(() => explain({ k: 1 })).toThrow('explain: query needs vector')
})

test('the normal form of any query is accepted and kept', () => {
  fc.assert(
    fc.property(arbitraryOf(queryRequest), value => {
      const normal = parse(queryRequest, value, 'queryTable')
      expect(parse(queryRequest, normal, 'queryTable')).toStrictEqual(normal)
    }),
    { numRuns: 300 },
  )
})

/** Types of columns as text. */
import { describe, expect, expectTypeOf, test } from 'vitest'
import { typeName } from '../../src/arrow/type-name.js'
import { typeFromText } from '../../src/arrow/type-text.js'
import { type RowOf, schema } from '../../src/index.js'

const read = (text: string) => {
  const { type, nullable } = typeFromText(text, 'here')
  return `${typeName(type)}${nullable ? '' : ' not null'}`
}

test.each([
  ['int64', 'int64'],
  ['int64!', 'int64 not null'],
  [' string ', 'utf8'],
  ['STRING', 'utf8'],
  ['string[]', 'list<utf8>'],
  ['string![][]!', 'list<list<utf8>> not null'],
  ['date', 'date32'],
  ['timestamp', 'timestamp(ms)'],
  ['timestamp(us)', 'timestamp(us)'],
  ['timestamp( us , Europe/Berlin )', 'timestamp(us, Europe/Berlin)'],
  ['time(ns)', 'time(ns)'],
  ['duration', 'duration(ms)'],
  ['binary', 'binary'],
  ['binary(16)', 'fixed_size_binary[16]'],
  ['decimal(10, 2)', 'decimal128(10, 2)'],
  ['decimal(50)', 'decimal256(50, 0)'],
  ['vector(3)', 'fixed_size_list<float32>[3]'],
  ['vector(3, int8)!', 'fixed_size_list<int8>[3] not null'],
  ['map(string, int64[])', 'map<utf8, list<int64>>'],
])('%s is %s', (text, expected) => {
  expect(read(text)).toBe(expected)
})

test.each([
  ['int', /"int" is not a type of Sheaf.*write int32 or int64/],
  ['text', /write string/],
  ['number', /write float64 or float32/],
  ['jsonb', /is not a type/],
  ['strin', /did you mean "string"/],
  ['vector', /vector\(768\)/],
  ['vector(0)', /vector\(768\)/],
  ['vector(3, string)', /vector\(768\)/],
  ['decimal(99)', /decimal\(10, 2\)/],
  ['timestamp(min)', /timestamp\(us\)/],
  ['timestamp(us', /"\(" without "\)"/],
  ['string[', /"\[" without "\]"/],
  ['string!!', /"!" twice/],
  ['string(5)', /has arguments/],
  ['string nulls', /unexpected text "nulls"/],
  ['fixed_size_list:float32:3', /vector\(768\)/],
  ['', /is not a type/],
])('%s is refused', (text, expected) => {
  const error = (() => {
    try {
      return typeFromText(text, 'schema: column "a"')
    } catch (error) {
      return error as { message: string; hint?: string }
    }
  })()
  expect(error).toMatchObject({ code: 13 })
  const { message, hint } = error as { message: string; hint?: string }
  expect(message).toContain('schema: column "a"')
  expect(`${message}; ${hint}`).toMatch(expected)
})

describe('schema', () => {
  test('has structs and lists of structs, and the types of their rows', () => {
    const docs = schema({
      id: 'int64!',
      title: 'string',
      tags: 'string[]!',
      v: 'vector(768)!',
      half: 'vector(2, float64)',
      at: 'timestamp',
      exact: 'timestamp(us, UTC)!',
      price: 'decimal(10, 2)!',
      meta: { lang: 'string!' },
      parts: [{ from: 'int32!' }],
      by: 'map(string, int64)',
    })
    expect(docs.fields.map(({ name, type, nullable }) => `${name} ${typeName(type)} ${nullable}`)).toEqual([
      'id int64 false',
      'title utf8 true',
      'tags list<utf8> false',
      'v fixed_size_list<float32>[768] false',
      'half fixed_size_list<float64>[2] true',
      'at timestamp(ms) true',
      'exact timestamp(us, UTC) false',
      'price decimal128(10, 2) false',
      'meta struct<lang: utf8> true',
      'parts list<struct<from: int32>> true',
      'by map<utf8, int64> true',
    ])
    expectTypeOf<RowOf<typeof docs>>().toEqualTypeOf<{
      readonly id: number
      readonly title: string | null
      readonly tags: readonly (string | null)[]
      readonly v: Float32Array
      readonly half: Float64Array | null
      readonly at: Date | null
      readonly exact: Date | bigint
      readonly price: string
      readonly meta: { readonly lang: string } | null
      readonly parts: readonly ({ readonly from: number } | null)[] | null
      readonly by: readonly (readonly [string, number | null])[] | null
    }>()
    expectTypeOf<RowOf<typeof docs, bigint>['id']>().toEqualTypeOf<bigint>()
  })

  test.each([
    [{ a: 7 }, /column "a": expected an object of columns, got 7/],
    [{ a: ['string', 'int64'] }, /column "a": a list must have exactly one type/],
    ['string', /got "string"/],
    [{ meta: { lang: 'txt' } }, /column "meta": column "lang": "txt"/],
  ])('refuses %j', (columns, expected) => {
    expect(() => schema(columns as never)).toThrow(expected)
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonReader } from '../../../src/sql/functions/json.js'
import { tableOf, testCases, testErrors, typeOf, types, valuesOf } from './function-table.js'
import { jsonCases, jsonErrors } from './json-function-cases.js'

describe('functions of JSON', () => {
  testCases(jsonCases)
  testErrors(jsonErrors)

  test('a constant path may be wrong before there are rows', () => {
    expect(() => typeOf("json_extract(s, '$[')", tableOf({ s: types.utf8 }, []))).toThrow(/not a JSON path/)
  })
})

describe('JSON text', () => {
  const reader = new JsonReader()

  test('is parsed as by JSON.parse, with any white space', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space)
        expect(reader.read(` ${text}\r\n`)).toBe(true)
        expect(JSON.parse(reader.compact(0))).toEqual(JSON.parse(text))
        expect(reader.compact(0)).not.toMatch(/[\n\t]/)
      }),
    )
  })

  test('is invalid if JSON.parse says so', () => {
    const piece = fc.constantFrom(...['{', '}', '[', ']', ':', ',', '"', '\\', 'a', '1', '-', '.', 'e', '0'])
    const word = fc.constantFrom(
      '"a"',
      '"a":',
      'null',
      'true',
      '1',
      ' ',
      '[]',
      '{}',
      '"\\u00e9"',
      '"\\x"',
      '\u0001',
    )
    const isJson = (text: string) => {
      try {
        JSON.parse(text)
        return true
      } catch {
        return false
      }
    }
    const text = fc.array(fc.oneof(piece, word), { maxLength: 9 }).map(parts => parts.join(''))
    fc.assert(
      fc.property(text, text => {
        expect(reader.read(text)).toBe(isJson(text))
      }),
      { numRuns: 2000 },
    )
  })

  test('may be nested as deep as its length', () => {
    const depth = 200_000
    const text = ['[{"a":'.repeat(depth), '1', '}]'.repeat(depth)].join('')
    expect(reader.read(text)).toBe(true)
    expect(reader.compact(0)).toBe(text)
    expect(reader.read(text.slice(0, -1))).toBe(false)
  })

  test('members and elements are found as in the values they stand for', () => {
    const key = fc.constantFrom('a', 'b', 'é"\\', '')
    const value = fc.dictionary(key, fc.array(fc.integer(), { maxLength: 3 }))
    fc.assert(
      fc.property(value, key, fc.integer({ min: 0, max: 3 }), (object, name, index) => {
        const table = tableOf({ json: types.utf8, key: types.utf8 }, [
          { json: JSON.stringify(object), key: name },
        ])
        const list = Object.hasOwn(object, name) ? object[name] : undefined
        expect(valuesOf('json_get(json, key)', table)).toEqual([
          list === undefined ? null : JSON.stringify(list),
        ])
        const element = list?.[index]
        expect(valuesOf(`json_get_int(json_get(json, key), '${index}')`, table)).toEqual([
          element === undefined ? null : BigInt(element),
        ])
      }),
    )
  })
})

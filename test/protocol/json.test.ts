import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readJson } from '../../src/protocol/json.js'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const bad = expect.objectContaining({ code: 13, status: 400, kind: 'bad-request' })

test('A-003 what is not JSON is refused', () => {
  for (const text of ['', '{', '{"a":1,}', 'nul', "{'a':1}", '"\u0001"', '[1] x', 'NaN']) {
    expect(() => readJson(bytesOf(text), 100)).toThrowError(bad)
  }
})

test('A-003 bytes that are not UTF-8 are refused', () => {
  expect(() => readJson(new Uint8Array([0x22, 0xff, 0x22]), 100)).toThrowError(bad)
  expect(() => readJson(new Uint8Array([0x22, 0xc3, 0x22]), 100)).toThrowError(bad)
})

test('any JSON value is parsed unchanged', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false, maxDepth: 6 }), value => {
      expect(readJson(bytesOf(JSON.stringify(value)), 1e6)).toStrictEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('A-037 a body above the limit is 413', () => {
  expect(readJson(bytesOf('[1]'), 3)).toStrictEqual([1])
  expect(() => readJson(bytesOf('[1] '), 3)).toThrowError(expect.objectContaining({ code: 13, status: 413 }))
})

test('depth is bounded outside of strings only', () => {
  const nested = (depth: number) => bytesOf('['.repeat(depth) + ']'.repeat(depth))
  expect(() => readJson(nested(129), 1e7)).toThrowError(bad)
  expect(() => readJson(bytesOf('['.repeat(5e6)), 1e7)).toThrowError(bad)
  expect(() => readJson(nested(128), 1e7)).not.toThrow()
  expect(readJson(bytesOf(JSON.stringify(`"\\${'['.repeat(1000)}`)), 1e7)).toHaveLength(1002)
  expect(readJson(bytesOf(JSON.stringify([...'x'.repeat(1000)].map(() => []))), 1e7)).toHaveLength(1000)
})

test('members of objects are counted before parsing, per object and in total', () => {
  const most = { inAll: 5, inOne: 3 }
  const read = (text: string) => readJson(bytesOf(text), 100, most)
  expect(read('[{"a":1,"b":{"c":":,:"},"d":2},{"e":1}]')).toHaveLength(2)
  const refused = (what: string) =>
    expect.objectContaining({ code: 13, status: 413, message: `the body has more than ${what}` })
  expect(() => read('{"a":1,"b":2,"c":3,"d":4}')).toThrowError(refused('3 members in one object'))
  expect(() => read('[{"a":1,"b":2},{"a":1,"b":2},{"a":1,"b":2}]')).toThrowError(refused('5 members in all'))
})

test('A-036 an integer above 2^53 - 1 never comes out as one that is not', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n }), value => {
      expect(readJson(bytesOf(String(value)), 100)).toBeGreaterThan(Number.MAX_SAFE_INTEGER)
    }),
  )
})

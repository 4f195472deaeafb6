import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Parameters, readParameters, writeParameters } from '../../src/protocol/parameters.js'
import { parse } from '../../src/protocol/parse.js'
import { container } from '../../src/protocol/shape.js'

const scalar = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.double(),
  fc.string(),
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }),
  fc.date({ noInvalidDate: true }),
  fc.uint8Array(),
)
const value = fc.oneof(scalar, fc.array(scalar))

const through = (parameters: Parameters) =>
  readParameters(JSON.parse(JSON.stringify(writeParameters(parameters))))

test('every value survives JSON', () => {
  fc.assert(
    fc.property(fc.oneof(fc.array(value), fc.dictionary(fc.string(), value)), parameters => {
      expect(through(parameters)).toEqual(Array.isArray(parameters) ? parameters : { ...parameters })
    }),
  )
  expect(through([Number.NaN, Number.POSITIVE_INFINITY, [Number.NEGATIVE_INFINITY, -0]])).toEqual([
    Number.NaN,
    Number.POSITIVE_INFINITY,
    [Number.NEGATIVE_INFINITY, -0],
  ])
})

test.each([
  [new Float64Array([1.5, Number.NaN, -0]), [1.5, Number.NaN, -0]],
  [new Float32Array([0.5]), [0.5]],
  [new BigInt64Array([-(2n ** 63n), 1n]), [-(2n ** 63n), 1n]],
  [new BigUint64Array([2n ** 64n - 1n]), [2n ** 64n - 1n]],
  [new Int32Array([-1, 2]), [-1, 2]],
  [new Int8Array([]), []],
])('%o is a list', (array, list) => {
  expect(through([array])).toEqual([list])
})

test('a long list of numbers is written and read in one pass', () => {
  const ids = Array.from({ length: 100_000 }, (_, i) => i)
  expect(through([ids])).toEqual([ids])
})

describe('a value that no filter accepts', () => {
  test.each([
    ['undefined', undefined],
    ['a function', () => 1],
    ['an invalid Date', new Date(Number.NaN)],
    ['{"a":1}', { a: 1 }],
    ['a huge bigint', 10n ** 400n],
  ])('%s is named', (text, bad) => {
    expect(() => writeParameters([1, bad as never])).toThrow(
      expect.objectContaining({
        code: 13,
        message: expect.stringContaining(`parameter 2 is ${text}`),
        hint: expect.stringContaining('pass a number'),
      }),
    )
    expect(() => writeParameters({ p: [1, bad as never] })).toThrow(
      expect.objectContaining({ code: 13, message: expect.stringContaining(`element 1 of :p is ${text}`) }),
    )
  })

  test.each([
    { $int: '1.5' },
    { $float: '1' },
    { $timestamp: 'x' },
    { $timestamp: 8.64e15 + 1 },
    { $binary: 1 },
    { $other: 1 },
    { $int: '1', x: 1 },
    [[1]],
  ])('%j is refused where it arrives', bad => {
    expect(() => readParameters({ p: bad })).toThrow(expect.objectContaining({ code: 13 }))
  })

  test('A-036 a whole number beyond 2^53 keeps its value on the wire, not as a JSON number', () => {
    for (const value of [2 ** 53, -(2 ** 60), 1e300, Number.MAX_VALUE]) {
      const written = writeParameters([value, [1, value]])
      expect(written).toEqual([{ $float: String(value) }, [1, { $float: String(value) }]])
      expect(readParameters(written)).toEqual([value, [1, value]])
      expect(() => parse(container, [value], 'these')).toThrow(
        expect.objectContaining({ code: 13, hint: expect.stringContaining('$int') }),
      )
      expect(parse(container, written, 'these')).toEqual(written)
    }
    expect(writeParameters([Number.MAX_SAFE_INTEGER, 0.1])).toEqual([Number.MAX_SAFE_INTEGER, 0.1])
  })

  test('a list in a list, a cycle and deeply nested lists are refused without following them', () => {
    const cycle: unknown[] = []
    cycle.push(cycle)
    let tower: unknown[] = []
    for (let i = 0; i < 100_000; i++) tower = [tower]
    for (const bad of [[[1]], cycle, tower]) {
      const refused = expect.objectContaining({ code: 13, hint: 'pass a list of single values' })
      expect(() => writeParameters([bad as never])).toThrow(refused)
      expect(() => readParameters([bad as never])).toThrow(refused)
    }
  })

  test('parameters are an array or an object', () => {
    expect(() => writeParameters('x' as never)).toThrow(expect.objectContaining({ code: 13 }))
  })
})

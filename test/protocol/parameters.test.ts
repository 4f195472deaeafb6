import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Parameters, readParameters, writeParameters } from '../../src/protocol/parameters.js'

const scalar = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => (value === 0 ? 0 : value)),
  fc.string(),
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }),
  fc.date({ noInvalidDate: true }),
  fc.uint8Array(),
)
const value = fc.oneof(scalar, fc.array(scalar))

test('every value survives JSON', () => {
  const through = (parameters: Parameters) =>
    readParameters(JSON.parse(JSON.stringify(writeParameters(parameters))))
  fc.assert(
    fc.property(fc.oneof(fc.array(value), fc.dictionary(fc.string(), value)), parameters => {
      expect(through(parameters)).toEqual(Array.isArray(parameters) ? parameters : { ...parameters })
    }),
  )
})

test('a value no filter can hold is named', () => {
  for (const bad of [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    undefined,
    () => 1,
    new Date(Number.NaN),
    { a: 1 },
  ]) {
    expect(() => writeParameters([1, bad as never])).toThrow(
      expect.objectContaining({ code: 13, message: expect.stringMatching(/^parameter 2 is /) }),
    )
  }
  for (const bad of [
    { $int: '1.5' },
    { $timestamp: 'x' },
    { $binary: 1 },
    { $other: 1 },
    { $int: '1', x: 1 },
  ]) {
    expect(() => readParameters({ p: bad })).toThrow(expect.objectContaining({ code: 13 }))
  }
  expect(() => writeParameters('x' as never)).toThrow(expect.objectContaining({ code: 13 }))
})

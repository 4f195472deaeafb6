import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readGuessed } from '../../../adapters/files/csv-guess.js'

const item = { name: 'item', type: { kind: 'float', bits: 64 }, nullable: true } as const
const type = { kind: 'list', large: false, child: item } as const

/** Read short numbers without exponents one by one. */
function oracle(text: string): number[] | undefined {
  const parts = /^\[(.+)\]$/s.exec(text)?.[1]?.split(',') ?? []
  const read = parts.map(part => (/^\s*-?(0|[1-9]\d*)(\.\d+)?\s*$/.test(part) ? Number(part) : Number.NaN))
  return read.length > 0 && !read.some(Number.isNaN) ? read : undefined
}

test('arrays of numbers in cells are read as their numbers one by one', () => {
  const part = fc.string({ unit: fc.constantFrom('0', '1', '9', '.', '-', ' ', '\n', '\t'), maxLength: 5 })
  const number = fc.oneof(fc.integer({ min: -999, max: 999 }).map(String), part)
  const cell = fc
    .tuple(
      fc.constantFrom('[', '', '[[', ' ['),
      fc.array(number, { maxLength: 4 }),
      fc.constantFrom(']', '', ']]'),
    )
    .map(([open, parts, close]) => open + parts.join(',') + close)
  fc.assert(
    fc.property(cell, text => {
      expect(readGuessed(text, type)).toEqual(oracle(text))
    }),
    { numRuns: 2000 },
  )
})

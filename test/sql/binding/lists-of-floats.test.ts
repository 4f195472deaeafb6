/** A long list of doubles is one constant; what it finds is what a short one does, whose elements are bound one by one. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import type { DataType } from '../../../src/arrow/types.js'
import { SheafError } from '../../../src/errors.js'
import { bindFilter } from '../../../src/sql/binding/bind.js'
import { selectRows } from '../../../src/sql/evaluate.js'

const pool = [
  Number.NaN,
  0,
  -0,
  0.1,
  Math.fround(0.1),
  0.5,
  -2.5,
  1,
  7,
  1024,
  65_504,
  65_520,
  2 ** 24 + 1,
  2 ** 31,
  2 ** 53,
  2 ** 53 + 2,
  1e300,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
]
const whole = [0n, 1n, 7n, 1024n, 65_504n]

const kinds: readonly (readonly [string, DataType, readonly unknown[]])[] = [
  ['float16', { kind: 'float', bits: 16 }, [...pool.filter(value => !(Math.abs(value) > 65_504)), Infinity]],
  ['float32', { kind: 'float', bits: 32 }, pool.map(Math.fround)],
  ['float64', { kind: 'float', bits: 64 }, pool],
  ['int32', { kind: 'int', bits: 32, signed: true }, whole.map(Number)],
  ['int64', { kind: 'int', bits: 64, signed: true }, [...whole, 2n ** 53n, 2n ** 53n + 1n]],
  ['uint64', { kind: 'int', bits: 64, signed: false }, whole],
  ['decimal', { kind: 'decimal', precision: 20, scale: 2, bits: 128 }, ['0.10', '0.50', '-2.50', '7.00']],
  ['utf8', { kind: 'utf8', large: false }, ['0.1', '7']],
]

test.each(kinds)('%s', (_, type, values) => {
  const schema = { fields: [{ name: 'x', type, nullable: true }] }
  const batch = rowsToBatch(
    [...values, null].map(x => ({ x })),
    schema,
  )
  const found = (list: unknown) => {
    try {
      const filter = bindFilter('x IN $1', schema, { parameters: [list as number[]] })
      return Array.from(selectRows(filter, batch).toIndices())
    } catch (error) {
      if (error instanceof SheafError) return error.code
      throw error
    }
  }
  fc.assert(
    fc.property(fc.uniqueArray(fc.constantFrom(...pool), { minLength: 1 }), some => {
      const many = Float64Array.from({ length: 100 }, (_, i) => some[i % some.length]!)
      expect(found(many)).toEqual(found(some))
    }),
  )
})

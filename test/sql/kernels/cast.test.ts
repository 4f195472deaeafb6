import { describe, expect, test } from 'vitest'
import type { Batch } from '../../../src/arrow/column.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import type { DataType } from '../../../src/arrow/types.js'
import { columnValues } from '../../../src/arrow/values.js'
import { SheafError } from '../../../src/errors.js'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import { evaluate } from '../../../src/sql/evaluate.js'
import { writeText } from '../../../src/sql/kernels/cast-text.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { formatInstant } from '../../../src/sql/values/temporal.js'
import { scalarAt } from '../../../src/sql/values/vector.js'
import { castCases, noCasts } from './cast-cases.js'

const nothing: Batch = { schema: { fields: [] }, length: 1, columns: [] }

/** The one value of an expression as text. */
function show(text: string, from = nothing): string | null {
  const column = evaluate(bindExpression(parseExpression(text), from.schema), from)
  const value = scalarAt(column, 0)
  const { type } = column
  if (value === null) return null
  if (type.kind === 'date' || type.kind === 'timestamp') {
    return formatInstant(value as bigint, type) ?? '(beyond the calendar)'
  }
  return writeText(value, type)
}

/** The same value in a column, so that nothing is folded. */
function columnOf(value: string): Batch {
  const column = evaluate(bindExpression(parseExpression(value), { fields: [] }), nothing)
  return {
    schema: { fields: [{ name: 'x', type: column.type, nullable: true }] },
    length: 1,
    columns: [column],
  }
}

describe('CAST', () => {
  test.each(castCases)('of %s to %s is %j', (value, to, result) => {
    const from = columnOf(value)
    for (const [text, batch] of [
      [value, nothing],
      ['x', from],
    ] as const) {
      expect(show(`TRY_CAST(${text} AS ${to})`, batch)).toBe(result)
      if (result !== null || value === 'null') {
        expect(show(`CAST(${text} AS ${to})`, batch)).toBe(result)
        expect(show(`(${text})::${to}`, batch)).toBe(result)
      } else {
        expect(() => show(`CAST(${text} AS ${to})`, batch)).toThrow(SheafError)
      }
    }
  })

  test.each(noCasts)('of %s to %s has no meaning', (value, to) => {
    expect(() => show(`TRY_CAST(${value} AS ${to})`)).toThrow(/cannot cast/)
  })

  test('of a number with more digits than any type is null under TRY_CAST', () => {
    for (const number of ['1'.repeat(77), `-${'1'.repeat(80)}`, '1e400']) {
      for (const to of ['int', 'bigint', 'decimal(38, 0)', 'string']) {
        expect(show(`TRY_CAST(${number} AS ${to})`)).toBe(null)
        expect(() => show(`CAST(${number} AS ${to})`)).toThrow('fits no type')
      }
    }
  })

  test('of a number literal uses all its digits', () => {
    const text = '1.1000000000000000000001'
    expect(show(`CAST(${text} AS decimal(23, 22))`)).toBe(text)
    expect(() => show(`CAST(${text} AS decimal(22, 21))`)).toThrow('is not a value of decimal128(22, 21)')
    expect(show('CAST(9007199254740993.7 AS bigint)')).toBe('9007199254740993')
    expect(show('CAST(18446744073709551615.0 AS bigint unsigned)')).toBe('18446744073709551615')
  })

  test('of a column keeps nulls and casts every row', () => {
    const dictionary: DataType = {
      kind: 'dictionary',
      index: { kind: 'int', bits: 8, signed: true },
      value: { kind: 'utf8', large: false },
      ordered: false,
    }
    const schema = { fields: [{ name: 's', type: dictionary, nullable: true }] }
    const from = rowsToBatch([{ s: '1' }, { s: null }, { s: 'x' }, { s: '1' }], schema)
    const column = evaluate(bindExpression(parseExpression('TRY_CAST(s AS smallint)'), schema), from)
    expect(columnValues(column)).toEqual([1, null, null, 1])
    expect(column.type).toEqual({ kind: 'int', bits: 16, signed: true })
  })
})

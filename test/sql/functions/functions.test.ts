import { describe, expect, test } from 'vitest'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import type { DataType, Schema } from '../../../src/arrow/types.js'
import { columnValues } from '../../../src/arrow/values.js'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import { evaluate } from '../../../src/sql/evaluate.js'
import { functionNamed, functionNames } from '../../../src/sql/functions/functions.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { functionCases } from './function-cases.js'

const utf8: DataType = { kind: 'utf8', large: false }
const types: Readonly<Record<string, DataType>> = {
  s: { kind: 'utf8', large: true },
  e: utf8,
  i: { kind: 'int', bits: 64, signed: true },
  i8: { kind: 'int', bits: 8, signed: true },
  f: { kind: 'float', bits: 32 },
  b: { kind: 'bool' },
  l: { kind: 'list', large: false, child: { name: 'item', type: utf8, nullable: true } },
  v: {
    kind: 'fixed_size_list',
    size: 2,
    child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: true },
  },
}
const schema: Schema = {
  fields: Object.entries(types).map(([name, type]) => ({ name, type, nullable: true })),
}
const batch = rowsToBatch(
  [
    { s: 'Straße Éa', e: '🎉x', i: -7n, i8: 3, f: -2.5, b: false, l: ['a', null, 'b'], v: [1, 2] },
    { s: null, e: '', i: null, i8: 4, f: null, b: null, l: [''], v: null },
  ],
  schema,
)

describe('functions', () => {
  test.each(functionCases)('%s', (text, ...expected) => {
    const bound = bindExpression(parseExpression(text), schema)
    const column = evaluate(bound, batch)
    expect(column.type).toEqual(bound.type)
    const values = columnValues(column, { int64: 'bigint' })
    // A double of -0 is a double of 0 to everyone but Object.is.
    expect(values.map(value => (value === 0 ? 0 : value))).toEqual(expected)
  })

  test('names match in any case, and every one is a function', () => {
    expect(functionNamed('LOWER')?.name).toBe('lower')
    expect(functionNamed('character_length')?.name).toBe('length')
    expect(functionNames.every(name => functionNamed(name) !== undefined)).toBe(true)
    expect(functionNames).not.toContain('||')
  })

  test('the least int64 has no absolute value', () => {
    const text = 'abs(CAST(-9223372036854775808 AS bigint) + i8 - i8)'
    expect(() => evaluate(bindExpression(parseExpression(text), schema), batch)).toThrow(
      /int64 overflow in abs\(/,
    )
  })
})

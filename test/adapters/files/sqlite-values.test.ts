import { expect, test } from 'vitest'
import type { SqliteValue } from '../../../adapters/files/sqlite-driver.js'
import { convertValue, declaredType, typeOfValues } from '../../../adapters/files/sqlite-values.js'
import { typeName } from '../../../src/arrow/type-name.js'
import { typeFromText } from '../../../src/arrow/type-text.js'

const field = (text: string) => ({ name: 'a', ...typeFromText(text, 'a') })

test.each([
  ['INTEGER', 'int64'],
  ['BIGINT UNSIGNED', 'int64'],
  ['VARCHAR(20)', 'string'],
  ['NVARCHAR', 'string'],
  ['BLOB', 'binary'],
  ['DOUBLE PRECISION', 'float64'],
  ['BOOLEAN', 'bool'],
  ['DECIMAL(10,2)', 'float64'],
])('a column declared as %s is %s', (declared, type) => {
  expect(declaredType(declared)).toEqual(typeFromText(type, 'a').type)
})

test('a declaration without an affinity leaves the type to the values', () => {
  for (const declared of [null, '', 'DATETIME', 'JSON']) expect(declaredType(declared)).toBeNull()
  const name = (values: SqliteValue[]) => {
    const type = typeOfValues(values)
    return type && typeName(type)
  }
  expect(name([null, 1n])).toBe(typeName(field('int64').type))
  expect(name([1n, 0.5])).toBe(typeName(field('float64').type))
  expect(name(['a'])).toBe(typeName(field('string').type))
  expect(name([new Uint8Array(1)])).toBe(typeName(field('binary').type))
  expect(name([1n, 'a'])).toBeNull()
})

test('values are converted without loss', () => {
  expect(convertValue(2n ** 63n - 1n, field('int64'), 'a')).toBe(2n ** 63n - 1n)
  expect(convertValue(1n, field('bool'), 'a')).toBe(true)
  expect(convertValue(3n, field('float64'), 'a')).toBe(3)
  expect(convertValue('2024-02-03', field('date'), 'a')).toEqual(new Date('2024-02-03'))
  const vector = convertValue(new Uint8Array(new Float32Array([1, 2]).buffer), field('vector(2)'), 'a')
  expect(vector).toEqual(new Float32Array([1, 2]))
})

test.each<[SqliteValue, string]>([
  [1.5, 'int64'],
  ['1', 'int64'],
  [300n, 'int8'],
  [2n, 'bool'],
  [2n ** 53n + 1n, 'float64'],
  [1n, 'string'],
  ['a', 'binary'],
  ['yesterday', 'date'],
  [new Uint8Array(7), 'vector(2)'],
  [null, 'int64!'],
])('%s is no value of %s', (value, type) => {
  let thrown: unknown
  try {
    convertValue(value, field(type), 'row 3, column "a"')
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({
    name: 'SchemaValidation',
    message: expect.stringContaining('row 3, column "a" must'),
  })
})

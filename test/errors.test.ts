import { expect, test } from 'vitest'
import { columnNotFound, ErrorCode, quote, SheafError, statusOf } from '../src/errors.js'

test('A-028 every code has its HTTP status', () => {
  const expected: Record<number, number[]> = {
    400: [13, 20],
    401: [16],
    403: [15],
    404: [1, 4, 6, 8, 10, 11, 12, 22],
    406: [0],
    409: [2, 3, 5, 7, 9, 14, 19, 23],
    429: [21],
    500: [18],
    503: [17],
  }
  for (const code of Object.values(ErrorCode)) expect(expected[statusOf(code)]).toContain(code)
})

test('an unknown column names the nearest one, if it is near', () => {
  const known = ['title', 'year', 'vector']
  expect(columnNotFound('titel', known)).toMatchObject({
    code: 12,
    status: 404,
    hint: 'did you mean "title"?',
  })
  expect(columnNotFound('zzzzzz', known).hint).toBeUndefined()
  expect(columnNotFound('titel', known).message).toContain('columns: title, year, vector')
})

test('a value in a message stays on one short line', () => {
  expect(quote('a\nb')).toBe('"a\\nb"')
  expect(quote('x'.repeat(500)).length).toBeLessThanOrEqual(120)
  expect(quote(12n)).toBe('12n')
})

test('the cause is kept', () => {
  const cause = new Error('disk')
  expect(new SheafError(ErrorCode.Internal, 'could not read', { cause }).cause).toBe(cause)
})

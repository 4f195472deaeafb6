import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { concatBytes } from '../src/arrow/concat-bytes.js'
import { concatChunks } from '../src/arrow/encode-ipc.js'
import {
  columnNotFound,
  cut,
  ErrorCode,
  nearestName,
  quote,
  SheafError,
  shortList,
  statusOf,
} from '../src/errors.js'

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

test('a huge value in a message is cut before it is written out', () => {
  const cycle: unknown[] = []
  cycle.push(cycle)
  let tower: unknown[] = []
  for (let i = 0; i < 100_000; i++) tower = [tower]
  const huge = 'x'.repeat(2 ** 28)
  for (const value of [
    huge,
    [huge, huge],
    new Array(1e9),
    new Uint8Array(1e8),
    1n << 10_000_000n,
    cycle,
    tower,
  ]) {
    expect(quote(value).length).toBeLessThanOrEqual(120)
  }
  expect(quote(new Float64Array(2))).toBe('Float64Array of 16 bytes')
})

test('a text is cut between characters', () => {
  expect(cut('abcdefgh', 8)).toBe('abcdefgh')
  expect(cut('abcdefghi', 8)).toBe('abcde...')
  expect(cut('abcd🎉fghi', 8)).toBe('abcd...')
})

test('of many names the first are shown', () => {
  expect(shortList(['a', 'b'])).toBe('a, b')
  expect(shortList(['a', 'b', 'c', 'd'], 2, ' and ')).toBe('a and b and 2 more')
  expect(shortList(['x'.repeat(1000)]).length).toBe(80)
})

test('only names that a user could type are compared for a hint', () => {
  const long = 'x'.repeat(2 ** 24)
  expect(nearestName(long, ['x', `${long}y`])).toBeUndefined()
  expect(nearestName('titel', [long, 'title'])).toBe('title')
  expect(nearestName('dlb', ['abc', 'dbl'])).toBe('dbl')
  expect(columnNotFound(long, [long]).message.length).toBeLessThan(300)
})

test('a printed error has the place of its code in the documents of the package', () => {
  const error = columnNotFound('prise', ['price'])
  expect(error.docs).toBe('sheaf/docs/errors.md#columnnotfound')
  expect(inspect(error)).toContain("docs: 'sheaf/docs/errors.md#columnnotfound'")
})

test('a promise in a message asks for await', () => {
  expect(quote(Promise.resolve(1))).toBe('a promise (is await missing?)')
})

test('the cause is kept', () => {
  const cause = new Error('disk')
  expect(new SheafError(ErrorCode.Internal, 'could not read', { cause }).cause).toBe(cause)
})

test('bytes that no array can hold are refused, and the error says what to do', () => {
  const chunk = { length: 2 ** 52 } as Uint8Array
  for (const join of [concatBytes, concatChunks]) {
    expect(() => join([chunk, chunk])).toThrow(
      expect.objectContaining({
        code: 13,
        message: 'cannot allocate 9007199254740992 bytes in one array',
        hint: 'ask for fewer rows with limit, or read them with batches()',
      }),
    )
    expect(join([Uint8Array.of(1), Uint8Array.of(2, 3)])).toEqual(Uint8Array.of(1, 2, 3))
  }
})

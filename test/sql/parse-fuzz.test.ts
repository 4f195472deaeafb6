import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SheafError } from '../../src/errors.js'
import { bindExpression } from '../../src/sql/bind.js'
import { parseExpression } from '../../src/sql/parse.js'
import { condition, wideSchema } from '../support/sql-generators.js'

/** Parses and binds; anything but a result or a SheafError with a place inside the text is a bug. */
function survives(text: string): void {
  try {
    bindExpression(parseExpression(text), wideSchema, { parameters: [1, 'a', null, [1, 2]] })
  } catch (error) {
    if (!(error instanceof SheafError)) throw error
    expect([0, 12, 13, 20]).toContain(error.code)
    if (error.at === undefined) return
    expect(error.at.offset).toBeGreaterThanOrEqual(0)
    expect(error.at.offset + error.at.length).toBeLessThanOrEqual(text.length)
  }
}

const token = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(...'( ) [ ] , . + - * / % || = == <> != < <= > >= :: ; ? $1 :p'.split(' ')),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      ...'AND OR NOT IS IN BETWEEN LIKE ILIKE ESCAPE NULL TRUE FALSE CAST TRY_CAST AS ARRAY date timestamp int'.split(
        ' ',
      ),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      'i8',
      'i64',
      'u64',
      'f64',
      's',
      'flag',
      'day',
      'labels',
      'st',
      'st.n',
      '`s`',
      '"s"',
      '"zz"',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '0',
      '1',
      '9223372036854775808',
      '1.5',
      '1e400',
      "'a'",
      "'2020-01-01'",
      "X'ff'",
      "'",
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'lower',
      'abs',
      'coalesce',
      'array_has',
      'array_has_any',
      '--',
      '/*',
      '*/',
      '`',
      '"',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
)

describe('no text makes parser or binder do anything but answer or refuse', () => {
  test('token soup', () => {
    const soup = fc
      .array(token, { maxLength: 30 })
      .chain(tokens => fc.constantFrom(tokens.join(' '), tokens.join('')))
    fc.assert(fc.property(soup, survives), { numRuns: 10_000 })
  })

  test('valid texts with pieces cut, doubled and put in', () => {
    const mutated = fc
      .tuple(condition, fc.nat(), fc.nat(), fc.oneof(token, fc.string({ unit: 'binary', maxLength: 2 })))
      .map(([text, from, size, piece]) => {
        const at = from % (text.length + 1)
        return text.slice(0, at) + piece + text.slice(at + (size % 5))
      })
    fc.assert(fc.property(mutated, survives), { numRuns: 10_000 })
  })

  test.each([
    ['quotes', "'".repeat(1_000_001)],
    ['doubled quotes', `'${"''".repeat(1_000_000)}'`],
    ['comments', '/**/'.repeat(500_000)],
    ['dashes', '-'.repeat(1_000_000)],
    ['line comments', '--\n'.repeat(500_000)],
    ['digits', '9'.repeat(1_000_000)],
    ['zeros', '0'.repeat(1_000_000)],
    ['decimals', `0.${'1'.repeat(1_000_000)}`],
    ['a name', 'é'.repeat(1_000_000)],
    ['fields', `a${'.a'.repeat(300_000)}`],
    ['arguments', `f(${'a,'.repeat(300_000)}a)`],
    ['closing brackets', `a${')'.repeat(1_000_000)}`],
    ['list members', `i64 in (${'1,'.repeat(300_000)}1)`],
    ['conditions', `flag${' or flag'.repeat(100_000)}`],
    ['question marks', '?'.repeat(300_000)],
  ])('a million %s take seconds at worst', (_, text) => {
    const started = process.cpuUsage()
    survives(text)
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(10)
  })
})

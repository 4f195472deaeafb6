import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import { compileRegexp } from '../../../src/sql/functions/regexp.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { tableOf, testCases, testErrors, types, valuesOf } from './function-table.js'
import { regexpCases, regexpErrors, regexpRowCases, regexpRows } from './regexp-function-cases.js'

describe('functions of regular expressions', () => {
  testCases(regexpCases)
  testErrors(regexpErrors)

  const columns = { str: types.utf8, pattern: types.utf8, start: types.int32, flags: types.utf8 }
  const table = tableOf(columns, regexpRows)

  test.each(regexpRowCases)('%s in every row', (text, values) => {
    expect(valuesOf(text, table)).toEqual(values)
  })

  test('an invalid constant pattern is refused before any row is read', () => {
    const none = tableOf(columns, [])
    expect(() => bindExpression(parseExpression("str ~ '('"), none.schema)).toThrow(
      /not a regular expression/,
    )
  })

  test('a pattern that is too long or too deep is refused', () => {
    expect(() => compileRegexp('a.'.repeat(20_000), '')).toThrow(/too long/)
    expect(() => compileRegexp('('.repeat(5000).padEnd(10_000, ')'), '')).toThrow(/not a regular expression/)
  })

  test('takes linear time where backtracking would not end', () => {
    const text = 'a'.repeat(20_000)
    expect(compileRegexp('(a*)*(a|aa)+(a*)*b', '').test(text)).toBe(false)
  })

  test('\\w and \\s follow Unicode, in classes and outside of them', () => {
    const patterns = [
      [String.raw`^\w$`, /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u],
      [String.raw`^[\W]$`, /^[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u],
      [String.raw`^\s$`, /^\p{White_Space}$/u],
      [String.raw`^[\S]$`, /^\P{White_Space}$/u],
      [String.raw`^\d$`, /^\p{Nd}$/u],
    ] as const
    const compiled = patterns.map(([pattern, plain]) => [compileRegexp(pattern, ''), plain] as const)
    // Characters given out after either side's version of Unicode are no letters there.
    for (let point = 0; point < 0x2fa20; point += point < 0x3000 ? 1 : 7) {
      const character = String.fromCodePoint(point)
      if (/[\p{Cn}\p{Cs}\n]/u.test(character)) continue
      for (const [regexp, plain] of compiled) {
        if (regexp.test(character) !== plain.test(character)) {
          expect.fail(`U+${point.toString(16)} and ${plain}`)
        }
      }
    }
  })

  test('agree with JavaScript where both mean the same', () => {
    const piece = fc.constantFrom(
      'a',
      'b',
      'é',
      '💯',
      '.',
      '[ab]',
      '[^a]',
      '(a|b)',
      '(é)',
      'a*',
      'b+?',
      'a{1,2}',
      '^',
      '$',
    )
    const pattern = fc.array(piece, { minLength: 1, maxLength: 5 }).map(pieces => pieces.join(''))
    const text = fc
      .array(fc.constantFrom('a', 'b', 'é', '💯', '-'), { maxLength: 8 })
      .map(parts => parts.join(''))
    fc.assert(
      fc.property(fc.array(fc.record({ text, pattern }), { minLength: 1, maxLength: 10 }), rows => {
        const table = tableOf({ text: types.utf8, pattern: types.utf8 }, rows)
        const js = rows.map(row => new RegExp(row.pattern, 'u'))
        expect(valuesOf('text ~ pattern', table)).toEqual(rows.map((row, i) => js[i]!.test(row.text)))
        const firsts = rows.map((row, i) => js[i]!.exec(row.text))
        const groups = firsts.map(first =>
          first === null ? null : first.length > 1 ? first.slice(1) : [first[0]],
        )
        expect(valuesOf('regexp_match(text, pattern)', table)).toEqual(
          groups.map(found => found?.filter(group => group !== undefined) ?? null),
        )
        expect(valuesOf("regexp_replace(text, pattern, '<$0>')", table)).toEqual(
          rows.map((row, i) => row.text.replace(js[i]!, '<$&>')),
        )
      }),
    )
  })
})

describe('one match after the other', () => {
  const linear = [
    'a',
    'ab|cd',
    '\\w+',
    '[a-z]+|[0-9]+',
    'a.*b',
    '"[^"]*"',
    'https?://\\S+',
    '(a+)',
    'x(\\d{1,3})?',
    '(a|b)c*',
  ]
  const rescanning = [
    'a.*b|a',
    'a(.*b)?',
    '(a|aa)*c|a',
    '(\\w+@|\\w)',
    '(\\d+|\\w+)x',
    '(?:ab)+',
    'a+$|a',
    '(a*b){0,3}',
  ]

  test.each(linear)('%s does not scan a text again and again', pattern => {
    expect(compileRegexp(pattern, '').mayRescan).toBe(false)
    const text = 'ab "a1'.repeat(10_000)
    const table = tableOf({ s: types.utf8 }, [{ s: text }])
    const js = text.match(new RegExp(pattern, 'g'))?.length ?? 0
    expect(valuesOf(`regexp_count(s, '${pattern}')`, table)).toEqual([BigInt(js)])
  })

  test.each(rescanning)('%s may, and is stopped', pattern => {
    expect(compileRegexp(pattern, '').mayRescan).toBe(true)
    const few = tableOf({ s: types.utf8 }, [{ s: 'a1 '.repeat(500) }])
    const js = 'a1 '.repeat(500).match(new RegExp(pattern, 'g'))?.length ?? 0
    expect(valuesOf(`regexp_count(s, '${pattern}')`, few)).toEqual([BigInt(js)])
  })

  test('work quadratic in the text is an error', () => {
    const table = tableOf({ s: types.utf8 }, [{ s: 'a '.repeat(4000) }])
    expect(() => valuesOf("regexp_replace(s, 'a.{0,9}b|a', 'x', 'g')", table)).not.toThrow()
    expect(() => valuesOf("regexp_count(s, 'a[^c]*b|a')", table)).toThrow(
      /too many matches of a regular expression/,
    )
  })
})

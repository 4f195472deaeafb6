import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tableOf, testCases, testErrors, types, valuesOf } from './function-table.js'
import { hashCases, hashErrors, textCases, textErrors } from './text-function-cases.js'

describe('functions of texts', () => {
  testCases([...textCases, ...hashCases])
  testErrors([...textErrors, ...hashErrors])
})

describe('functions of texts are what JavaScript makes of the characters', () => {
  const columns = { s: types.utf8, t: types.utf8, n: types.int64 }
  const text = fc.stringMatching(/^[ab é💯ß]{0,6}$/u)
  const row = fc.record({
    s: fc.option(text),
    t: fc.option(text),
    n: fc.option(fc.integer({ min: -8, max: 8 })),
  })
  type Row = { s: string | null; t: string | null; n: number | null }

  /** What the function gives, and the plain function of characters it is compared with. */
  const pairs: readonly (readonly [text: string, plain: (s: string, t: string, n: number) => unknown])[] = [
    ['length(s || t)', (s, t) => [...s, ...t].length],
    ['strpos(s, t)', (s, t) => (s.includes(t) ? [...s.slice(0, s.indexOf(t))].length + 1 : 0)],
    ['left(s || t, n)', (s, t, n) => [...s, ...t].slice(0, n).join('')],
    ['right(s || t, n)', (s, t, n) => (n === 0 ? '' : [...s, ...t].slice(-n).join(''))],
    ['reverse(s || t)', (s, t) => [...s, ...t].reverse().join('')],
    ['replace(s, t, t || t)', (s, t) => (t === '' ? s : s.replaceAll(t, () => t + t))],
    ['repeat(s || t, n)', (s, t, n) => (s + t).repeat(Math.max(0, n))],
    ['substr(s || t, n)', (s, t, n) => [...s, ...t].slice(Math.max(0, n - 1)).join('')],
    ['split_part(s || t, t, 1)', (s, t) => (t === '' ? s : (s + t).split(t)[0])],
    ["btrim(s || t, 'a ')", (s, t) => (s + t).replace(/^[a ]+|[a ]+$/g, '')],
    ["translate(s, 'ab💯', 'é')", s => s.replaceAll('a', 'é').replace(/[b💯]/gu, '')],
    ['contains_tokens(s, t)', (s, t) => words(t).every(word => words(s).includes(word))],
  ]
  const words = (s: string): readonly string[] => s.match(/[\p{L}\p{N}]+/gu) ?? []

  test.each(pairs)('%s', (expression, plain) => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 40 }), rows => {
        const expected = rows.map(({ s, t, n }: Row) => {
          const isNull = { s: s === null, t: t === null, n: n === null }
          const usesNull = (['s', 't', 'n'] as const).some(
            name => isNull[name] && new RegExp(`\\b${name}\\b`).test(expression),
          )
          return usesNull ? null : plain(s ?? '', t ?? '', n ?? 0)
        })
        expect(valuesOf(expression, tableOf(columns, rows))).toEqual(expected)
      }),
    )
  })
})

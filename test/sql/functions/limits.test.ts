/** What a filter could exhaust memory or time with is done in linear time or refused by a typed error with a way out. */
import { describe, expect, test } from 'vitest'
import { columnValues } from '../../../src/arrow/values.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import { evaluate } from '../../../src/sql/evaluate.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { tableOf, types, valuesOf } from './function-table.js'

const mebibyte = 2 ** 20
const a = (count: number) => 'a'.repeat(count)

/** One row of texts under their names. */
function rowOf(texts: Readonly<Record<string, string>>) {
  return tableOf(Object.fromEntries(Object.keys(texts).map(name => [name, types.utf8])), [texts])
}

function refusal(expression: string, texts: Readonly<Record<string, string>> = { s: 'a' }): SheafError {
  try {
    valuesOf(expression, rowOf(texts))
  } catch (error) {
    if (error instanceof SheafError) return error
    throw error
  }
  throw new Error(`${expression} was not refused`)
}

const huge = a(16 * mebibyte + 1)

const refused: readonly (readonly [
  expression: string,
  message: RegExp,
  texts?: Readonly<Record<string, string>>,
])[] = [
  ["repeat(s, 134217728) = ''", /a text of 134217728 bytes or more in one row, but at most 1048576/],
  ["lpad(s, 134217728) = ''", /bytes or more in one row/],
  ["replace(s, 'a', repeat('b', 1000)) = ''", /bytes or more in one row/, { s: a(mebibyte) }],
  [
    `length(${'concat(s, s, '.repeat(8)}s${')'.repeat(8)}) > 0`,
    /more than 128 MiB in one batch/,
    { s: a(12 * mebibyte) },
  ],
  [`length(concat_ws(',', ${Array(200).fill('s').join(', ')})) > 0`, /more than 128 MiB/, { s: a(mebibyte) }],
  ["encode(s || s, 'hex') = ''", /more than 128 MiB/, { s: a(40 * mebibyte) }],
  ["s LIKE repeat('_', 32769)", /a LIKE pattern of 32769 characters is too long/],
  ["s LIKE repeat('%a', 500000)", /a LIKE pattern of 1000000 characters is too long/],
  ["s ~ repeat('a', 32769)", /a regular expression of 32769 characters is too long/],
  ["s LIKE '%a' || repeat('_', 1024) || 'a%'", /has _ among 1026 characters between two %/],
  ["json_exists('[1]', '$' || repeat(' ', 300000) || 'x')", /a JSON path of 300002 characters/],
  [`json_exists('{}', '$["' || repeat('a', 500000) || '"]')`, /a JSON path of 500005 characters/],
  ["translate(s, repeat('a', 32769), 'b') = ''", /32769 characters are too many for translate/],
  ["regexp_replace(s, 'a', repeat('$1', 60000)) = ''", /a replacement of 120000 characters/],
  ["regexp_replace(s, 'a', repeat('$1', 257)) = ''", /a replacement with 257 groups/],
  ["regexp_like(s, 'a', repeat('i', 65))", /65 flags/],
  ["s ~ '(ab?){1000}$'", /of \d+ parts is too large for a text of 1000000 characters/, { s: a(1_000_000) }],
  ["regexp_instr(s, 'a$') > 0", /a text of 16777217 bytes/, { s: huge }],
  ["initcap(s) = ''", /a text of 16777217 bytes/, { s: huge }],
  ["translate(s, 'a', 'b') = ''", /a text of 16777217 bytes/, { s: huge }],
  ["contains_tokens(s, 'a')", /a text of 16777217 bytes/, { s: huge }],
  ["upper(s || 'é') = ''", /a text of 16777219 bytes/, { s: huge }],
  ["json_get(s, 'a') = ''", /a text of 16777217 bytes/, { s: huge }],
  ["s ~ '\\p{constructor}'", /not a regular expression/],
  ['make_date(2024, 2, 30) IS NULL', /no day 30 of month 2/],
  ["chr(-1) = ''", /-1 is not a Unicode character/],
  ['power(0, -1) = 1', /division by zero/],
]

describe('refused by a typed error that says what to do', () => {
  test.each(refused.map(([expression, message, texts]) => ({ expression, message, texts })))(
    '$expression',
    ({ expression, message, texts }) => {
      const error = refusal(expression, texts)
      expect(error.code).toBe(ErrorCode.InvalidInput)
      expect(error.message).toMatch(message)
      if (!expression.includes('constructor')) expect(error.hint).toBeTruthy()
    },
  )
})

describe('takes linear time and memory', () => {
  const cases: readonly (readonly [
    expression: string,
    texts: Readonly<Record<string, string>>,
    value: unknown,
  ])[] = [
    ["length(split_part(s, 'a', 3))", { s: a(100 * mebibyte) }, 0],
    ["length(split_part(s, 'a', -3))", { s: a(16 * mebibyte) }, 0],
    ['strpos(s, p)', { s: a(mebibyte), p: `ab${a(500_000)}` }, 0],
    ["length(replace(s, p, 'x'))", { s: a(mebibyte), p: `ab${a(500_000)}` }, mebibyte],
    ["s LIKE '%_' || repeat('a', 30000) || 'b%'", { s: a(mebibyte) }, false],
    ["s LIKE '%a' || repeat('_a', 500) || 'b%'", { s: a(mebibyte) }, false],
    ["s LIKE '%' || repeat('_', 30000) || '%'", { s: a(29_999) }, false],
    ["s LIKE '%' || repeat('_', 30000) || '%'", { s: a(30_000) }, true],
    ['ends_with(reverse(s), p)', { s: `b${huge}`, p: 'ab' }, true],
    ['length(upper(s))', { s: huge }, huge.length],
    ['ascii(s)', { s: huge }, 97],
    ["regexp_instr(s, 'a$')", { s: a(mebibyte) }, BigInt(mebibyte)],
    ["length(decode(encode(s, 'base64'), 'base64')::varchar)", { s: a(mebibyte + 1) }, mebibyte + 1],
    [`json_get_float('{"n": "' || s || 'x"}', 'n')`, { s: '1'.repeat(300_000) }, null],
  ]

  test.each(cases)('%s', (expression, texts, value) => {
    const table = rowOf(texts)
    const started = process.cpuUsage()
    expect(valuesOf(expression, table)).toEqual([value])
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(4)
  })
})

describe('a constant', () => {
  const rows = Array.from({ length: 8192 }, (_, i) => ({ id: BigInt(i), s: String(i) }))
  const table = tableOf({ id: types.int64, s: types.utf8 }, rows)
  const array = JSON.stringify(Array.from({ length: 100_000 }, (_, i) => (i % 2 === 0 ? i : String(i))))
  const object = JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [i, -i])))

  function timed(expression: string): unknown[] {
    const started = process.cpuUsage()
    const bound = bindExpression(parseExpression(expression), table.schema)
    const values = columnValues(evaluate(bound, table.batch), { int64: 'bigint' })
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(4)
    return values
  }

  test('array is searched by its values', () => {
    expect(timed(`json_array_contains('${array}', '$', id - 1)`).indexOf(true)).toBe(1)
    expect(timed(`json_array_contains('[[1,2.0],[3]]', '$[*]', id)`).slice(0, 5)).toEqual([
      false,
      true,
      true,
      true,
      false,
    ])
  })

  test('object is searched by its keys', () => {
    expect(timed(`json_get_int('${object}', s)`)).toEqual(rows.map(({ id }) => -id))
    expect(timed(`json_extract('${array}', '$[' || s || ']')`)[4]).toBe('4')
  })

  test('document is not parsed again for every row', () => {
    expect(() =>
      timed(`json_exists('${array}', CASE WHEN id % 2 = 0 THEN '$[*]' ELSE '$[*].a' END)`),
    ).toThrow(/visit more than 16777216 values/)
  })

  test('text that is long is not searched again for every row', () => {
    for (const call of [
      "contains(x, 'b' || s)",
      'strpos(x, s) = 1',
      "split_part(x, 'b', id + 1) = ''",
      'x ~ (s || s)',
    ]) {
      expect(() => timed(call.replace('x', "repeat('a', 1000000)"))).toThrow(
        /too long to be searched in each of/,
      )
    }
  })

  test('text is not prepared again for every row', () => {
    const long = `repeat('a', 100000)`
    expect(timed(`starts_with(${long}, 'a' || s)`)[0]).toBe(false)
    expect(timed(`length(left(${long}, id % 3))`).slice(0, 4)).toEqual([0, 1, 2, 0])
    expect(() => timed(`length(${long} || s)`)).toThrow(/more than 128 MiB in one batch/)
  })
})

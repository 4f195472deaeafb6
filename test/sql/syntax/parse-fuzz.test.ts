import { describe, expect, test, vi } from 'vitest'
import { SheafError } from '../../../src/errors.js'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { type Expr, maxDepth } from '../../../src/sql/syntax/syntax.js'
import { Lexer } from '../../../src/sql/syntax/tokens.js'
import { wideSchema } from '../../support/sql-generators.js'
import { shortTraces } from '../../support/traces.js'
import { accepted, hinted, refused } from './parse-cases.js'

shortTraces()

/** Filters as clients send them, on the columns of `wideSchema`. */
const filters = [
  "s = 'abc' AND i64 > 3",
  'f64 > 0.5 AND dict IN (\'a\', "ab") AND flag',
  'i32 % 2 == 0 OR u64 >= 18446744073709551615',
  "NOT (s LIKE 'a\\_%' ESCAPE '!' OR large NOT ILIKE '%B')",
  'i8 BETWEEN -1 AND CAST(3 AS INT) AND st.n IS NOT NULL',
  "array_has_any(labels, ['a', 'b']) OR labels[1] = 'c'",
  "us > timestamp '2020-01-01 00:00:00' AND day <= date '2021-02-03'",
  "ms < '2020-01-01T00:00:00Z' OR day = '2020-02-30'",
  "CASE WHEN i8 > 0 THEN 'a' WHEN flag THEN s ELSE NULL END = 'a'",
  'CASE i8 WHEN 1 THEN f32 ELSE f64 END < 2.5e-3',
  "us + INTERVAL '1' DAY > now() - INTERVAL 5 HOURS",
  'EXTRACT(YEAR FROM us) = 2020 AND flag IS DISTINCT FROM (i8 = 1)',
  "TRIM(BOTH 'x' FROM s) || SUBSTRING(s FROM 2 FOR 3) = X'ff'::string",
  "POSITION('a' IN s) > 0 AND s ~* '^a+$' AND `st`.`Word` !~ '[0-9]'",
  'i64 IN ? OR i64 = $1 OR i64 = :name',
  'TRY_CAST(s AS decimal(10, 2)) >= 1.25 -- a comment',
  '/* first */ coalesce(i8, i32, 7) <> +i64 * -2',
]

const bases = [...filters, ...[...accepted, ...refused, ...hinted].map(([text]) => text)]

const pieces = [
  ...'( ) [ ] , . + - * / % | || = == <> != <= >= <=> :: ~ ~* !~ !~* ~~ ; ? $1 :p & # @ { } \\ ! $'.split(
    ' ',
  ),
  ...'AND OR NOT IS IN BETWEEN LIKE ILIKE ESCAPE NULL TRUE FALSE UNKNOWN DISTINCT FROM FOR ALL AS'.split(' '),
  ...'CASE WHEN THEN ELSE END CAST TRY_CAST ARRAY INTERVAL DAY date time timestamp decimal int double'.split(
    ' ',
  ),
  ...'EXTRACT TRIM BOTH LEADING SUBSTRING POSITION count sum lower abs coalesce array_has'.split(' '),
  ...'i8 i64 u64 f64 s flag day labels st st.n `s` "s" "zz" 名前 _ unsigned precision with zone'.split(' '),
  ...`0 1 007 9223372036854775808 1.5 .5 1. 1e5 1e400 0x1 'a' '' 'it''s' '2020-01-01' '1 day' X'ff' x'f'`.split(
    ' ',
  ),
  ...'\' " ` -- /* */ \n \t \u00a0 \ud83c\udf89 \ud800 \u0000 \u202e'.split(' '),
]

/** Numbers from 0 up to `below`, the same in every run (xorshift, 32 bits). */
function generator(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

type Random = ReturnType<typeof generator>

function mutated(random: Random): string {
  let text = bases[random(bases.length)]!
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const at = random(text.length + 1)
    const end = Math.min(text.length, at + random(6))
    const inserted = [
      '',
      pieces[random(pieces.length)]!,
      ` ${pieces[random(pieces.length)]} `,
      text.slice(at, end).repeat(2 + random(3)),
      text.slice(at, end).toUpperCase(),
      bases[random(bases.length)]!,
      `(${text.slice(at, end)})`,
      String.fromCharCode(random(0x250)),
    ][random(8)]!
    text = text.slice(0, at) + inserted + text.slice(end)
  }
  return text
}

function tokenSoup(random: Random): string {
  const separator = [' ', ' ', ''][random(3)]!
  return Array.from({ length: 1 + random(20) }, () => pieces[random(pieces.length)]).join(separator)
}

function noise(random: Random): string {
  const limit = [0x80, 0x100, 0x10000][random(3)]!
  return String.fromCharCode(...Array.from({ length: random(80) }, () => random(limit)))
}

function isInside(at: { offset: number; length: number }, text: string): boolean {
  return at.offset >= 0 && at.length >= 0 && at.offset + at.length <= text.length
}

/** What `read` gives, or null for an error of the codes with a place in the text. Anything else is a bug. */
function answer<T>(read: () => T, text: string, codes: readonly number[]): T | null {
  try {
    return read()
  } catch (error) {
    if (
      error instanceof SheafError &&
      codes.includes(error.code) &&
      (error.at === undefined || isInside(error.at, text))
    ) {
      return null
    }
    throw new Error(`${JSON.stringify(text)}: ${String(error)}`, { cause: error })
  }
}

/** Tokens follow one another and each takes at least one character. */
function checkTokens(text: string): void {
  const token = new Lexer(text)
  let end = 0
  while (token.kind !== 'end') {
    if (token.start < end || token.end <= token.start || token.end > text.length) {
      throw new Error(`${JSON.stringify(text)}: a token from ${token.start} to ${token.end} after ${end}`)
    }
    end = token.end
    token.advance()
  }
}

/** Every node has its place in the text, and none is too deep. */
function checkTree(tree: Expr, text: string): void {
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
    if (Array.isArray(value)) {
      for (const item of value) visit(item, depth)
      return
    }
    const node = value as Partial<Expr>
    const isNode = node.kind !== undefined
    if (
      (node.at !== undefined && !isInside(node.at, text)) ||
      (isNode && (node.at === undefined || depth > maxDepth))
    ) {
      throw new Error(`${JSON.stringify(text)}: ${JSON.stringify(node.at)} at depth ${depth}`)
    }
    for (const [key, child] of Object.entries(value))
      if (key !== 'at') visit(child, isNode ? depth + 1 : depth)
  }
  visit(tree, 0)
}

/** The tree if the text is an expression; throws on anything that is neither an answer nor a refusal. */
function parsed(text: string): Expr | null {
  answer(() => checkTokens(text), text, [13])
  const tree = answer(() => parseExpression(text), text, [13])
  if (tree !== null) checkTree(tree, text)
  return tree
}

const parameters = [1n, 'a', null, [1, 2]]

function bind(tree: Expr, text: string): void {
  answer(() => bindExpression(tree, wideSchema, { parameters }), text, [0, 12, 13, 20])
}

describe('any text makes lexer and parser answer or refuse', () => {
  test.each([
    ['filters with pieces cut, doubled and put in', mutated, 45_000, 0.15],
    ['tokens in any order', tokenSoup, 20_000, 0.02],
    ['characters of any kind', noise, 10_000, 0],
  ])('%s', (_, write, count, least) => {
    const random = generator(0x5eaf)
    let expressions = 0
    for (let i = 0; i < count; i++) if (parsed(write(random)) !== null) expressions++
    // Were almost nothing an expression, little but the first token would be tried.
    expect(expressions).toBeGreaterThanOrEqual(count * least)
  })
})

test('any expression makes the binder answer or refuse', () => {
  const random = generator(0xb19d)
  for (let bound = 0; bound < 6_000; ) {
    const text = mutated(random)
    const tree = parsed(text)
    if (tree === null) continue
    bind(tree, text)
    bound++
  }
})

/** Texts of any size that a parser might read again and again. */
const sized: readonly (readonly [name: string, write: (size: number) => string])[] = [
  ['quotes', size => "'".repeat(size + 1)],
  ['doubled quotes', size => `'${"''".repeat(size)}'`],
  ['comments', size => '/**/'.repeat(size / 2)],
  ['dashes', size => '-'.repeat(size)],
  ['line comments', size => '--\n'.repeat(size / 2)],
  ['digits', size => '9'.repeat(size)],
  ['zeros', size => '0'.repeat(size)],
  ['decimals', size => `0.${'1'.repeat(size)}`],
  ['a name', size => 'é'.repeat(size)],
  ['fields', size => `a${'.a'.repeat(size / 3)}`],
  ['arguments', size => `f(${'a,'.repeat(size / 3)}a)`],
  ['elements', size => `[${'1,'.repeat(size / 3)}1]`],
  ['closing brackets', size => `a${')'.repeat(size)}`],
  ['integers in a list', size => `i64 in (${'1,'.repeat(size / 3)}1)`],
  ['integers in a list, and then a name', size => `i64 in (${'1,'.repeat(size / 3)}i8)`],
  ['texts in a list, the last one open', size => `s in (${"'',".repeat(size / 3)}'`],
  ['lists', size => `flag${' or s in (1)'.repeat(size / 20)}`],
  ['branches', size => `case${' when a then b'.repeat(size / 20)} end`],
  ['conditions', size => `flag${' or flag'.repeat(size / 10)}`],
  ['question marks', size => '?'.repeat(size / 3)],
  ['distinct', size => `f(${'distinct '.repeat(size / 10)}`],
  ['tildes', size => `a${' ~ '.repeat(size / 3)}`],
  ['intervals', size => `a${" in (interval '1')".repeat(size / 20)}`],
]

function tokensRead(text: string): number {
  const advance = vi.spyOn(Lexer.prototype, 'advance')
  answer(() => parseExpression(text), text, [13])
  const { length } = advance.mock.calls
  advance.mockRestore()
  return length
}

describe('work is linear in the text', () => {
  test.each(sized)('%s: twice the text, twice the tokens', (_, write) => {
    const [once, twice] = [tokensRead(write(6_000)), tokensRead(write(12_000))]
    expect(twice).toBeLessThanOrEqual(once * 2 + 10)
    expect(twice).toBeLessThanOrEqual(write(12_000).length * 2 + 10)
  })

  test.each(sized)('very many %s take seconds at worst', (_, write) => {
    const text = write(200_000)
    const started = process.cpuUsage()
    const tree = parsed(text)
    if (tree !== null) bind(tree, text)
    // A quadratic step would take minutes.
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(10)
  })
})

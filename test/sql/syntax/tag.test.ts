import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SheafError } from '../../../src/errors.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { isSqlFragment, type SqlFragment, textFrom } from '../../../src/sql/syntax/sql-fragment.js'
import { sql } from '../../../src/sql/syntax/tag.js'
import { condition, valueExpression } from '../../support/sql-generators.js'
import { showTree } from '../../support/sql-tree.js'

const a = sql`a = ${1}`
const b = sql`b = ${'x'} OR c`

type Case = readonly [name: string, made: SqlFragment, text: string, parameters: readonly unknown[]]

const made: readonly Case[] = [
  ['without values', sql`id = 1`, 'id = 1', []],
  ['with values', sql`id = ${7} AND name = ${'x'}`, 'id = $1 AND name = $2', [7, 'x']],
  ['of one value', sql`${null}`, '$1', [null]],
  ['with a list', sql`id IN ${[1, 2]}`, 'id IN $1', [[1, 2]]],
  ['with a cast', sql`id = ${'1'}::int`, 'id = $1::int', ['1']],
  ['with values close together', sql`[${0},${1},${2}]`, '[$1,$2,$3]', [0, 1, 2]],
  ['with a value that looks like SQL', sql`a = ${"' OR 1=1 --"}`, 'a = $1', ["' OR 1=1 --"]],
  ['with a value that looks like a fragment', sql`a = ${{ ...a }}`, 'a = $1', [{ ...a }]],
  ['over lines', sql`a\n = ${1}`, 'a\n = $1', [1]],
  ['with comments', sql`a -- note\n = /* b */ 1`, 'a = 1', []],
  ['that ends in a comment', sql`${sql`a -- note`} AND b`, '(a) AND b', []],
  ['with names in double quotes', sql`"a b" = "c""d"`, '`a b` = `c"d`', []],
  ['with a path in double quotes', sql`"e\`f"."g" = 'h"i"'`, '`e``f`.`g` = \'h"i"\'', []],
  ['with fragments', sql`${a} AND ${b}`, '(a = $1) AND (b = $2 OR c)', [1, 'x']],
  ['with one fragment twice', sql`${a} OR ${a}`, '(a = $1) OR (a = $2)', [1, 1]],
  ['with both', sql`${0} < ${sql`${1} + ${2}`} + ${3}`, '$1 < ($2 + $3) + $4', [0, 1, 2, 3]],
  ['of three levels', sql`NOT ${sql`${a} AND ${b}`}`, 'NOT ((a = $1) AND (b = $2 OR c))', [1, 'x']],
  ['with a fragment that is a value', sql`-${sql`${5}`}`, '-$1', [5]],
  ['with constants', sql`x * ${sql`2`} || ${sql`'a'`}`, "x * 2 || 'a'", []],
  ['with a word that may be a keyword', sql`${sql`interval`} - 2`, '(interval) - 2', []],
  ['with a sign', sql`x -${sql`-1`}`, 'x -(-1)', []],
  ['with a list in it', sql`array_has(${sql`[1]`}, 1)`, 'array_has(([1]), 1)', []],
  ['with a name', sql`${sql.name('a b')} = 1`, '`a b` = 1', []],
  ['of a path', sql.name('meta', 'status.code', '`'), '`meta`.`status.code`.````', []],
  ['of a name that looks like SQL', sql.name('a` = 1 OR `b'), '`a`` = 1 OR ``b`', []],
  ['of conditions', sql.join([a, b, a], 'AND'), '(a = $1) AND (b = $2 OR c) AND (a = $3)', [1, 'x', 1]],
  ['of one condition', sql.join([b], 'OR'), '(b = $1 OR c)', ['x']],
]

const refused: readonly (readonly [
  name: string,
  make: () => unknown,
  message: string,
  place: string | null,
])[] = [
  ['undefined', () => sql`a = ${1} AND b = ${undefined}`, 'value 2 is undefined', '$2'],
  ['no expression', () => sql`a = `, 'expected a value', ''],
  ['a piece of one', () => sql`> ${5}`, 'expected a value', '>'],
  ['several', () => sql`a, ${5}`, 'the expression is complete here', ','],
  ['a value in a text', () => sql`a = '${'x'}'`, 'value 1 is inside a string', '$1'],
  ['a value in a name', () => sql`"${'x'}" = 1`, 'value 1 is inside a string', '$1'],
  ['a value in a comment', () => sql`a -- ${1}`, 'value 1 is inside a string', '$1'],
  ['a value in a comment before another', () => sql`a /* ${1} */ = ${2}`, 'value 1 is inside a string', '$1'],
  ['a value before a digit', () => sql`a = ${1}5`, 'value 1 is not separated from the text after it', '$15'],
  ['two values side by side', () => sql`${1}${2}`, 'the expression is complete here', '$2'],
  ['a value behind a name', () => sql`a${1}`, 'the expression is complete here', '$1'],
  ['its own ?', () => sql`a = ? AND b = ${1}`, 'the text of sql`..` must not contain parameters', '?'],
  ['its own $1', () => sql`a = $1`, 'the text of sql`..` must not contain parameters', '$1'],
  ['its own :name', () => sql`a = :name`, 'the text of sql`..` must not contain parameters', ':name'],
  ['a fragment where no operand stands', () => sql`a ${sql`- 1`}`, 'the expression is complete here', '$1'],
  ['a fragment as a function', () => sql`${sql`f`}(1)`, 'the expression is complete here', '('],
  ['a fragment with a field', () => sql`${sql.name('a')}.b`, 'the expression is complete here', '.'],
  [
    'a name run into another',
    () => sql`${sql.name('a')}${sql.name('b')}`,
    'the expression is complete here',
    '$2',
  ],
  ['an escape sequence that is none', () => sql`a = '\u'`, 'invalid escape sequence in the template', null],
  ['no template', () => sql('a = 1' as never), 'sql must be called as a template tag', null],
  ['an array for a template', () => sql(['a = 1'] as never), 'sql must be called as a template tag', null],
  ['a name without segments', () => sql.name(), 'sql.name needs at least one name', null],
  ['an empty name', () => sql.name('a', ''), 'a name in sql.name must be a non-empty string, got ""', null],
  [
    'a name that is no text',
    () => sql.name(1 as never),
    'a name in sql.name must be a non-empty string, got 1',
    null,
  ],
  ['half a surrogate pair as a name', () => sql.name('\ud800'), 'half of a surrogate pair', null],
  ['no conditions to join', () => sql.join([], 'AND'), 'sql.join needs at least one condition', null],
  [
    'texts to join',
    () => sql.join([a, 'b' as never], 'AND'),
    'condition 2 of sql.join is not a fragment',
    null,
  ],
  ['another operator to join by', () => sql.join([a], '+' as never), 'must be AND or OR, got "+"', null],
]

describe('a fragment', () => {
  test.each(made)('%s', (_, fragment, text, parameters) => {
    expect(fragment).toEqual({ text, parameters })
  })

  test.each(refused)('is not %s', (_, make, message, place) => {
    try {
      make()
    } catch (error) {
      if (!(error instanceof SheafError)) throw error
      expect(error.code).toBe(13)
      expect(error.message).toContain(message)
      // The place is shown by a caret of its length in the last line.
      const [line, caret] = error.message.split('\n').slice(-2)
      const shown = caret === undefined ? null : line!.slice(caret.indexOf('^'), caret.length)
      if (place !== null) expect(shown).toBe(place)
      return
    }
    throw new Error('it was made')
  })

  test('and its values cannot be changed', () => {
    const ids = [1, 2]
    const day = new Date(0)
    const bytes = Buffer.of(1)
    const fragment = sql`id IN ${ids} AND at = ${day} AND bin = ${bytes}`
    ids.push(3)
    day.setTime(1)
    bytes[0] = 2
    expect(fragment.parameters).toEqual([[1, 2], new Date(0), Uint8Array.of(1)])
    expect(Object.isFrozen(fragment) && Object.isFrozen(fragment.parameters)).toBe(true)
    expect(Object.isFrozen(fragment.parameters[0])).toBe(true)
  })

  test('is made only by the tag', () => {
    expect(isSqlFragment(a)).toBe(true)
    expect([{ ...a }, null, 'a = 1', undefined].some(isSqlFragment)).toBe(false)
  })

  test('can number its parameters from any number', () => {
    expect(textFrom(sql`${a} AND ${b}`, 9)).toBe('(a = $9) AND (b = $10 OR c)')
  })

  test('stays one operand wherever it is put', () => {
    const templates: readonly (readonly [
      write: (x: SqlFragment, y: SqlFragment) => SqlFragment,
      tree: (x: string, y: string) => string,
    ])[] = [
      [(x, y) => sql`${x} AND NOT ${y}`, (x, y) => `(${x} and (not ${y}))`],
      [(x, y) => sql`${x}::string||${y}`, (x, y) => `((cast ${x} string) || ${y})`],
      [(x, y) => sql`-${x}*${y}`, (x, y) => `((negate ${x}) * ${y})`],
      [(x, y) => sql`${x} IS NULL=${y}`, (x, y) => `((${x} is null) = ${y})`],
      [(x, y) => sql`f(${x},[${y}])[1]`, (x, y) => `f(${x} [${y}])[1]`],
      [(x, y) => sql`CASE ${x} WHEN 1 THEN ${y} END`, (x, y) => `(case ${x} when 1 then ${y})`],
      [(x, y) => sql`${x} LIKE ${'%'} ESCAPE ${y}`, (x, y) => `(${x} like $0 escape ${y})`],
      [(x, y) => sql.join([x, y, x], 'OR'), (x, y) => `(${x} or ${y} or ${x})`],
    ]
    const operand = fc.oneof(
      condition,
      valueExpression,
      fc.constantFrom('a', '1', "'a'", '`a`', '[1]', '+1', 'case'),
    )
    const whole = (text: string) => sql(Object.assign([text], { raw: [text] }))
    const tree = (text: string) => showTree(parseExpression(text))
    fc.assert(
      fc.property(operand, operand, fc.constantFrom(...templates), (first, second, [write, expected]) => {
        const { text } = write(whole(first), whole(second))
        expect(tree(text)).toBe(expected(tree(first), tree(second)))
      }),
      { numRuns: 1000 },
    )
  })
})

import { describe, expect, test } from 'vitest'
import type { DataType } from '../../../src/arrow/types.js'
import { invalidInput } from '../../../src/errors.js'
import { selectCases, skipCases } from './cut-cases.js'
import type { Engine } from './engine.js'
import { printDatafusion, printSqlite } from './print.js'
import { parseRecords } from './records.js'
import { newOutcome, runScript } from './run.js'
import { NoStatement, Skip } from './skip.js'
import { parseStatement } from './statement.js'

describe('scripts', () => {
  test('records: kinds, errors, conditions, results, includes', () => {
    const script = `hash-threshold 8

statement ok
CREATE TABLE t(a INT)

include other

# a comment
onlyif mysql
query I rowsort label
SELECT 1
----
1

skipif mysql # not there
query TT
SELECT a,
# between
b FROM t
----
x y

statement error
DataFusion error: no
SELECT f()

onlyif sheaf
halt

query I
SELECT 2
`
    const records = parseRecords(script, path => `query error .*\nSELECT ${path}`)
    const seen = records.map(({ kind, sql, types, sort, fails, expected, elsewhere }) =>
      [kind, sql, types, sort, fails, expected.join('/'), elsewhere].join(' ; '),
    )
    expect(seen).toEqual([
      'statement ; CREATE TABLE t(a INT) ;  ; nosort ; false ;  ; false',
      'query ; SELECT other ;  ; nosort ; true ;  ; false',
      'query ; SELECT 1 ; I ; rowsort ; false ; 1 ; true',
      'query ; SELECT a,\nb FROM t ; TT ; nosort ; false ; x y ; false',
      'statement ; SELECT f() ;  ; nosort ; true ;  ; false',
    ])
  })

  test.each(selectCases)('%s', (sql, select) => {
    expect(parseStatement(sql)).toEqual({ kind: 'select', select })
  })

  test.each(skipCases)('%s is skipped', (sql, reason) => {
    expect(() => parseStatement(sql)).toThrow(new Skip(reason))
  })

  test('declared types, constraints and structs', () => {
    const sql =
      'CREATE TABLE t(a DECIMAL(9, 2) NOT NULL, "B" bigint unsigned, s struct<x INT, y struct(VARCHAR)>)'
    const plain = (name: string, args: number[] = []) => ({ name, args, fields: [] })
    const struct = (fields: object[]) => ({ name: 'struct', args: [], fields })
    expect(parseStatement(sql)).toMatchObject({
      kind: 'create',
      table: 't',
      columns: [
        { name: 'a', type: plain('decimal', [9, 2]) },
        { name: 'B', type: plain('bigint unsigned') },
        {
          name: 's',
          type: struct([
            { name: 'x', type: plain('int') },
            { name: 'y', type: struct([{ name: 'c0', type: plain('varchar') }]) },
          ]),
        },
      ],
    })
  })

  test('a statement of no dialect is refused', () => {
    for (const sql of ['GRANT x', 'SELECT 1 LIMIT x', 'DROP TABLE t u', 'CREATE TABLE t(a, b)']) {
      expect(() => parseStatement(sql), sql).toThrow(NoStatement)
    }
  })
})

describe('values in the words of the scripts', () => {
  const float = (bits: 32 | 64): DataType => ({ kind: 'float', bits })
  const struct: DataType = {
    kind: 'struct',
    children: [
      { name: 'a', type: float(32), nullable: true },
      {
        name: 'b',
        type: { kind: 'list', large: false, child: { name: 'item', type: float(64), nullable: true } },
        nullable: true,
      },
    ],
  }
  const ns: DataType = { kind: 'timestamp', unit: 'ns', timezone: null }
  const mdn: DataType = { kind: 'interval', unit: 'month_day_nano' }
  const cases: readonly (readonly [unknown, DataType, string])[] = [
    [null, float(64), 'NULL'],
    [0.1 + 0.2, float(64), '0.3'],
    [1.4716239429885, float(64), '1.471623942988'],
    [-1e-13, float(64), '0'],
    [1e21, float(64), '1000000000000000000000'],
    [Math.fround(1.1), float(32), '1.1'],
    [Number.NaN, float(64), 'NaN'],
    [-Infinity, float(64), '-Infinity'],
    ['13309.60', { kind: 'decimal', bits: 128, precision: 9, scale: 2 }, '13309.6'],
    ['', { kind: 'utf8', large: false }, '(empty)'],
    ['a\0', { kind: 'utf8', large: false }, 'a\\0'],
    [{ a: 1, b: [2.5, null] }, struct, '{a: 1.0, b: [2.5, NULL]}'],
    [new Uint8Array([1, 255]), { kind: 'binary', large: false }, '01ff'],
    [new Date('2022-12-05T00:00:00Z'), { kind: 'date', unit: 'day' }, '2022-12-05'],
    [19_266_320n, { kind: 'date', unit: 'day' }, '+54719-05-25'],
    [new Date('2018-05-22T19:53:26Z'), ns, '2018-05-22T19:53:26'],
    [-1n, ns, '1969-12-31T23:59:59.999999999'],
    [604_800n, { kind: 'duration', unit: 's' }, '7 days 0 hours 0 mins 0 secs'],
    [-1n, { kind: 'duration', unit: 'ms' }, '0 days 0 hours 0 mins -0.001 secs'],
    [{ months: 12, days: 1, nanoseconds: 0n }, mdn, '12 mons 1 days'],
    [{ months: 0, days: 0, nanoseconds: 43_196_360_000_000n }, mdn, '11 hours 59 mins 56.360000000 secs'],
  ]
  test('DataFusion: by the type of the value', () => {
    expect(cases.map(([value, type]) => printDatafusion(value, type))).toEqual(
      cases.map(([, , printed]) => printed),
    )
  })

  test('SQLite: by the letter of the column', () => {
    const printed = [
      [1.5, 'R'],
      [1.9, 'I'],
      [true, 'I'],
      ['12x', 'I'],
      [7n, 'R'],
      ['', 'T'],
      ['a\tb', 'T'],
      [null, 'I'],
    ].map(([value, letter]) => printSqlite(value, letter as string))
    expect(printed).toEqual(['1.500', '1', '1', '12', '7.000', '(empty)', 'a@b', 'NULL'])
  })
})

describe('results of the records', () => {
  const script = `statement ok
CREATE TABLE t(a INT)

statement ok
CREATE INDEX i ON t(a)

query I
SELECT a FROM t
----
7

query I
SELECT a FROM t
----
8

query II
SELECT a FROM t
----
7 7

query error
SELECT broken FROM t

query error
SELECT a FROM t

query error
SELECT missing FROM t

query I
SELECT crash FROM t

onlyif mysql
query I
SELECT 1

statement ok
CREATE TABLE u AS SELECT no_such_function(1)

query I
SELECT a FROM u

statement ok
DROP TABLE u

statement error
SELECT FROM FROM
`

  /** Answers 7, unless the output is the name of a fault. */
  const engine: Engine = {
    create: async () => {},
    insert: async () => {},
    delete: async () => {},
    drop: async () => {},
    select: async ({ outputs }) => {
      if (outputs[0] === 'broken') throw invalidInput('no')
      if (outputs[0] === 'missing') throw invalidInput('no function named "missing"')
      if (outputs[0] === 'crash') throw new TypeError('x is undefined')
      return { types: outputs.map(() => ({ kind: 'int', bits: 64, signed: true })), rows: [[7n]] }
    },
    close: async () => {},
  }

  test('passed, failed, skipped with the records that depend on them', async () => {
    const outcome = newOutcome()
    const records = parseRecords(script, () => '')
    await runScript('x.slt', records, engine, { flavour: 'datafusion', folder: '', outcome })
    expect(outcome.failures.map(({ record, what }) => `${record.sql}: ${what}`)).toEqual([
      'SELECT a FROM t: 7 instead of 8',
      'SELECT a FROM t: 1 columns instead of 2',
      'SELECT a FROM t: an answer where there is none',
      'SELECT missing FROM t: no function named "missing"',
      'SELECT crash FROM t: x is undefined',
    ])
    expect(outcome.passed).toBe(4)
    expect(outcome.skipped).toEqual(new Map([['function no_such_function', 3]]))
    expect([outcome.nothing, outcome.elsewhere]).toEqual([1, 1])
  })

  test('results of SQLite are sorted by row or by value, and hashed', async () => {
    const rows = [
      [10n, 'b'],
      [9n, null],
    ]
    const answer = { types: [{ kind: 'null' }, { kind: 'null' }] as const, rows }
    const hash = 'cad235ca80c1d56356b3e5f9d34efa00'
    const sorted = parseRecords(
      `query IT rowsort
SELECT a, b FROM t
----
10
b
9
NULL

query IT valuesort
SELECT a, b FROM t
----
10
9
NULL
b

query IT
SELECT a, b FROM t
----
4 values hashing to ${hash}
`,
      () => '',
    )
    const outcome = newOutcome()
    const fixed = { ...engine, select: async () => answer }
    await runScript('x.test', sorted, fixed, { flavour: 'sqlite', folder: '', outcome })
    expect(outcome.failures.map(({ what }) => what)).toEqual([])
  })
})

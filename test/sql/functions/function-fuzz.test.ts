/**
 * Every function with arguments of every type: it is bound or refused with one of three codes, gives a column of the type
 * it said or an error that names what is wrong, and the same over columns, over dictionaries and as a constant.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Column } from '../../../src/arrow/column.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { equalTypes } from '../../../src/arrow/same-type.js'
import type { DataType, Schema } from '../../../src/arrow/types.js'
import { columnValues } from '../../../src/arrow/values.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import { Bitset } from '../../../src/primitives/bitset.js'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import type { BoundExpression } from '../../../src/sql/bound-expression.js'
import { evaluate } from '../../../src/sql/evaluate.js'
import { functionNamed, functionNames } from '../../../src/sql/functions/functions.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { shortTraces } from '../../support/traces.js'

shortTraces()

const list = (type: DataType): DataType => ({
  kind: 'list',
  large: false,
  child: { name: 'item', type, nullable: true },
})
const utf8: DataType = { kind: 'utf8', large: false }
const int64: DataType = { kind: 'int', bits: 64, signed: true }
const float32: DataType = { kind: 'float', bits: 32 }

/** A column of each type and two values for it; a third row is null. */
const columns: Readonly<Record<string, readonly [type: DataType, first: unknown, second: unknown]>> = {
  s: [utf8, 'é b,%d', '2021-02-03'],
  j: [utf8, '{"a": [1, "x"], "b": null}', '['],
  ls: [{ kind: 'utf8', large: true }, '', 'sha256'],
  d: [
    { kind: 'dictionary', index: { kind: 'int', bits: 8, signed: true }, value: utf8, ordered: false },
    'a',
    '(b)',
  ],
  bin: [{ kind: 'binary', large: false }, new Uint8Array([0, 255]), new Uint8Array([91, 49, 93])],
  fix: [{ kind: 'fixed_size_binary', width: 2 }, new Uint8Array([1, 2]), new Uint8Array([255, 254])],
  b: [{ kind: 'bool' }, true, false],
  i8: [{ kind: 'int', bits: 8, signed: true }, -128, 3],
  u32: [{ kind: 'int', bits: 32, signed: false }, 4294967295, 0],
  i64: [int64, -(1n << 63n), 2n],
  u64: [{ kind: 'int', bits: 64, signed: false }, (1n << 64n) - 1n, 1n],
  f32: [float32, Number.NaN, -1.5],
  f64: [{ kind: 'float', bits: 64 }, 1e300, -0],
  f16: [{ kind: 'float', bits: 16 }, 1.5, 65504],
  dec: [{ kind: 'decimal', bits: 128, precision: 6, scale: 2 }, '9999.99', '-0.05'],
  day: [{ kind: 'date', unit: 'day' }, '2021-02-03', '1969-12-31'],
  ms: [{ kind: 'date', unit: 'ms' }, '2021-02-03', '1969-12-31'],
  ts: [{ kind: 'timestamp', unit: 'ns', timezone: null }, -(1n << 63n), 1n],
  tz: [{ kind: 'timestamp', unit: 's', timezone: 'Europe/Berlin' }, 1635643800n, 1n << 62n],
  time: [{ kind: 'time', unit: 'us' }, 86_399_999_999n, 0n],
  dur: [{ kind: 'duration', unit: 'ms' }, -1n, 90_000_000n],
  l: [list(utf8), ['a', null], []],
  li: [list(int64), [1n, 2n], [null]],
  v: [
    { kind: 'fixed_size_list', size: 2, child: { name: 'item', type: float32, nullable: true } },
    [1, 2],
    [3, 4],
  ],
  st: [{ kind: 'struct', children: [{ name: 'a', type: int64, nullable: true }] }, { a: 1n }, { a: null }],
}
const constants = [
  ...["'year'", "'hex'", "'%Y-%m-%d'", "'$.a[0]'", "'UTC'", "'g'", "''", "'(a)|b'", "'2021-02-03'", "X'ff'"],
  ...[
    'null',
    '0',
    '-1',
    '3',
    '9223372036854775807',
    '18446744073709551615',
    '1.5',
    'true',
    "['a', null]",
    '[1]',
    '[]',
  ],
  ...["interval '1 month'", "interval '15 minutes'", "date '2021-02-03'", "timestamp '2021-02-03'"],
]

const schema: Schema = {
  fields: Object.entries(columns).map(([name, [type]]) => ({ name, type, nullable: true })),
}
const rowOf = (which: 1 | 2) =>
  Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[which]]))
const nulls = Object.fromEntries(Object.keys(columns).map(name => [name, null]))
const batch = rowsToBatch([rowOf(1), rowOf(2), nulls, rowOf(2)] as Record<string, never>[], schema)

const expected: readonly ErrorCode[] = [
  ErrorCode.InvalidInput,
  ErrorCode.SchemaValidation,
  ErrorCode.Unsupported,
]

/** What `run` gives, or null for an error a caller can do something about. */
function unlessRefused<T>(run: () => T): T | null {
  try {
    return run()
  } catch (error) {
    if (error instanceof SheafError && expected.includes(error.code)) return null
    throw error
  }
}

function valuesWithin(bound: BoundExpression, row: number): readonly [Column, unknown] | null {
  const within = new Bitset(batch.length, Uint32Array.of(1 << row))
  const column = unlessRefused(() => evaluate(bound, batch, within))
  return column === null ? null : [column, columnValues(column, { int64: 'bigint' })[row]]
}

/** Texts and integers are what most functions take. */
const argument = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('s', 'j', 'ls', 'd', "'(a)|b'", "'g'", "'$.a[0]'", "'%Y-%m-%d'", "'hex'"),
  },
  { weight: 2, arbitrary: fc.constantFrom('i64', 'i8', '1', '0', '-1', '3', '9223372036854775807') },
  { weight: 3, arbitrary: fc.constantFrom(...Object.keys(columns)) },
  { weight: 2, arbitrary: fc.constantFrom(...constants) },
)
const syntax = ['position', 'substring', 'trim', 'left', 'right']

test.each(functionNames.filter(name => functionNamed(name)?.name === name && !syntax.includes(name)))(
  '%s',
  name => {
    fc.assert(
      fc.property(fc.array(argument, { maxLength: 4 }), args => {
        const text = `${name}(${args.join(', ')})`
        const bound = unlessRefused(() => bindExpression(parseExpression(text), schema))
        if (bound === null) return
        const { isVolatile, mayFail } = bound.expr.cost
        const whole = unlessRefused(() => evaluate(bound, batch))
        if (whole !== null) {
          expect(whole.length).toBe(batch.length)
          expect(equalTypes(whole.type, bound.type), `${text} gave ${whole.type.kind}`).toBe(true)
        }
        const each = [0, 1, 2, 3].map(row => valuesWithin(bound, row))
        // A row fails on its own account: the whole fails exactly if one of them does.
        expect(whole === null, text).toBe(each.includes(null))
        expect(each.includes(null) && !mayFail, `${text} failed`).toBe(false)
        if (whole === null || isVolatile) return
        const values = columnValues(whole, { int64: 'bigint' })
        expect(each.map(found => found?.[1])).toEqual(values)
        expect(values[3]).toEqual(values[1])
      }),
      { numRuns: 400 },
    )
  },
)

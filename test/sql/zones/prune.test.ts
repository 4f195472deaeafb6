import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Batch } from '../../../src/arrow/column.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { sliceBatch } from '../../../src/arrow/slice.js'
import type { DataType, Schema } from '../../../src/arrow/types.js'
import { columnValues } from '../../../src/arrow/values.js'
import { SheafError } from '../../../src/errors.js'
import { Bitset } from '../../../src/primitives/bitset.js'
import { bindFilter } from '../../../src/sql/binding/bind.js'
import { type Bound, CaseNode, CompareNode, InNode, LikeNode } from '../../../src/sql/bound.js'
import type { BoundExpression } from '../../../src/sql/bound-expression.js'
import { ColumnNode } from '../../../src/sql/column-node.js'
import { evaluate } from '../../../src/sql/evaluate.js'
import { printBound } from '../../../src/sql/print.js'
import { LiteralNode } from '../../../src/sql/values/literal-node.js'
import type { Scalar } from '../../../src/sql/values/scalar.js'
import { boolType } from '../../../src/sql/values/types.js'
import { type KnownColumn, type PossibleTruth, possibleTruth } from '../../../src/sql/zones/prune.js'
import { type Zone, zoneOf } from '../../../src/sql/zones/zone.js'
import { batchOf, condition, rows } from '../../support/sql-generators.js'

const utf8: DataType = { kind: 'utf8', large: false }
const int = (bits: 8 | 16 | 32 | 64, signed = true) => ({ kind: 'int', bits, signed }) as const

/** T, F and N for what is possible. */
function letters({ isTrue, isFalse, isNull }: PossibleTruth): string {
  return `${isTrue ? 'T' : ''}${isFalse ? 'F' : ''}${isNull ? 'N' : ''}`
}

/** What is possible in `part`, after a look at what each of its rows has. */
function checked(bound: BoundExpression, part: Batch): PossibleTruth {
  const known = ({ path }: ColumnNode): KnownColumn | null => {
    const index = part.schema.fields.findIndex(field => field.name === path[0])
    return path.length > 1 ? null : { zone: zoneOf(part.columns[index]!), rows: part.length }
  }
  const possible = possibleTruth(bound.expr, known)
  for (let row = 0; row < part.length; row++) {
    const only = new Bitset(part.length)
    only.add(row)
    const value = orFailure(() => columnValues(evaluate(bound, part, only))[row])
    if (value instanceof SheafError) continue
    const isPossible = value === null ? possible.isNull : value === true ? possible.isTrue : possible.isFalse
    if (!isPossible) expect(`${printBound(bound.expr)}: ${value}`).toBe(letters(possible))
  }
  return possible
}

function orFailure<T>(work: () => T): T | SheafError {
  try {
    return work()
  } catch (error) {
    if (error instanceof SheafError && error.code !== 18) return error
    throw error
  }
}

/** How often nothing, and how often everything, was said to pass. */
class Tally {
  never = 0
  always = 0

  add({ isTrue, isFalse, isNull }: PossibleTruth): void {
    if (!isTrue) this.never++
    if (!isFalse && !isNull) this.always++
  }
}

test('pruning matches evaluation, for any rows and any condition', () => {
  const tally = new Tally()
  fc.assert(
    fc.property(rows, condition, fc.nat(), (list, text, cut) => {
      const all = batchOf(list)
      const bound = bindFilter(text, all.schema)
      const at = cut % (list.length + 1)
      for (const part of [sliceBatch(all, 0, at), sliceBatch(all, at, list.length - at)]) {
        if (part.length > 0) tally.add(checked(bound, part))
      }
    }),
    { numRuns: 500 },
  )
  expect(Math.min(tally.never, tally.always)).toBeGreaterThan(20)
})

test('pruning matches evaluation for decimals, combined types and casts', () => {
  const decimal = (scale: number): DataType => ({ kind: 'decimal', bits: 128, precision: 12, scale })
  const kinds: Readonly<Record<string, readonly [DataType, fc.Arbitrary<unknown>]>> = {
    d2: [decimal(2), fc.constantFrom('-1.00', '0.99', '1.00', '1.01', '300.00')],
    d0: [decimal(0), fc.constantFrom('-1', '0', '1', '300')],
    hundreds: [decimal(-2), fc.constantFrom('-100', '0', '300')],
    i64: [int(64), fc.constantFrom(-1n, 0n, 1n, 2n ** 53n + 1n, 2n ** 63n - 1n)],
    i8: [int(8), fc.constantFrom(-128, 0, 1, 127)],
    u64: [int(64, false), fc.constantFrom(0n, 1n, 2n ** 64n - 1n)],
    f64: [{ kind: 'float', bits: 64 }, fc.constantFrom(-0, 0.5, 1, 2 ** 53, Infinity, Number.NaN)],
    f32: [{ kind: 'float', bits: 32 }, fc.constantFrom(-0, 0.5, 1, 2 ** 53, -Infinity, Number.NaN)],
    day: [
      { kind: 'date', unit: 'day' },
      fc.integer({ min: -1, max: 2 }).map(days => new Date(days * 86_400_000)),
    ],
    us: [{ kind: 'timestamp', unit: 'us', timezone: null }, fc.constantFrom(-1n, 0n, 1n, 86_400_000_000n)],
    paris: [
      { kind: 'timestamp', unit: 's', timezone: 'Europe/Paris' },
      fc.constantFrom(-3600n, 0n, 3600n, 86_400n),
    ],
    utc: [{ kind: 'timestamp', unit: 'ms', timezone: 'UTC' }, fc.constantFrom(-3_600_000n, 0n, 86_400_000n)],
    time: [{ kind: 'time', unit: 's' }, fc.constantFrom(0, 1, 3600)],
    nanos: [{ kind: 'time', unit: 'ns' }, fc.constantFrom(0n, 1n, 1_000_000_000n)],
    span: [{ kind: 'duration', unit: 'ms' }, fc.constantFrom(-1n, 0n, 1000n)],
    bytes: [
      { kind: 'binary', large: false },
      fc.constantFrom(Uint8Array.of(), Uint8Array.of(1, 2), Uint8Array.of(1, 2, 0)),
    ],
    pair: [
      { kind: 'fixed_size_binary', width: 2 },
      fc.constantFrom(Uint8Array.of(1, 2), Uint8Array.of(0, 9)),
    ],
  }
  const names = Object.keys(kinds)
  const fields = names.map(name => ({ name, type: kinds[name]![0], nullable: true }))
  const name = fc.constantFrom(...names)
  const constant = fc.constantFrom(
    '0',
    '1',
    '-1',
    '0.5',
    '300',
    "'1970-01-01'",
    "date '1970-01-02'",
    "X'0102'",
    '9223372036854775807',
  )
  const cast = fc.constantFrom(
    'int',
    'bigint',
    'double',
    'float',
    'date',
    'timestamp',
    'timestamp(0)',
    'decimal(5, 1)',
  )
  const value = fc.oneof(
    name,
    fc
      .tuple(fc.constantFrom('cast', 'try_cast'), name, cast)
      .map(([how, of, to]) => `${how}(${of} as ${to})`),
    fc.tuple(name, fc.constantFrom('+', '-'), constant).map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc.tuple(fc.constantFrom('floor', 'ceil'), name).map(([fn, of]) => `${fn}(${of})`),
    fc
      .tuple(fc.constantFrom('hour', 'day', 'month'), name)
      .map(([unit, of]) => `date_trunc('${unit}', ${of})`),
  )
  const comparison = fc.oneof(
    fc
      .tuple(value, fc.constantFrom('=', '<>', '<', '<=', '>', '>='), fc.oneof(value, constant))
      .map(list => list.join(' ')),
    fc
      .tuple(value, fc.array(constant, { minLength: 2, maxLength: 4 }))
      .map(([a, list]) => `${a} in (${list.join(', ')})`),
    fc.tuple(value, constant, constant).map(([a, low, high]) => `${a} between ${low} and ${high}`),
  )
  const row = fc.record(Object.fromEntries(names.map(key => [key, fc.option(kinds[key]![1], { freq: 6 })])))
  const tally = new Tally()
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 3 }),
      fc.array(comparison, { minLength: 20, maxLength: 20 }),
      (list, texts) => {
        const batch = rowsToBatch(list, { fields })
        for (const text of texts) {
          const bound = orFailure(() => bindFilter(text, { fields }))
          if (bound instanceof SheafError) continue
          tally.add(checked(bound, batch))
        }
      },
    ),
    { numRuns: 300 },
  )
  expect(Math.min(tally.never, tally.always)).toBeGreaterThan(30)
})

const types: Readonly<Record<string, DataType>> = {
  i: int(64),
  n: int(64),
  j: int(32),
  one: int(64),
  none: int(64),
  unknown: int(64),
  f: { kind: 'float', bits: 64 },
  nan: { kind: 'float', bits: 64 },
  s: utf8,
  p: utf8,
  open: utf8,
  word: { kind: 'dictionary', index: int(32), value: utf8, ordered: false },
  yes: { kind: 'bool' },
  maybe: { kind: 'bool' },
  day: { kind: 'date', unit: 'day' },
  ms: { kind: 'timestamp', unit: 'ms', timezone: null },
}
const schema: Schema = {
  fields: Object.entries(types).map(([name, type]) => ({ name, type, nullable: true })),
}
const zones: Readonly<Record<string, Zone | null>> = {
  i: { least: 10n, greatest: 20n, nulls: 0 },
  n: { least: 10n, greatest: 20n, nulls: 3 },
  j: { least: 20n, greatest: 30n, nulls: 0 },
  one: { least: 7n, greatest: 7n, nulls: 0 },
  none: { least: null, greatest: null, nulls: 100 },
  unknown: null,
  f: { least: 0, greatest: 1.5, nulls: 0 },
  nan: { least: 0, greatest: Number.NaN, nulls: 0 },
  s: { least: 'apple', greatest: 'banana', nulls: 0 },
  p: { least: 'item-1', greatest: 'item-9', nulls: 2 },
  open: { least: 'm', greatest: null, nulls: 0 },
  word: { least: 'b', greatest: 'd', nulls: 0 },
  yes: { least: true, greatest: true, nulls: 1 },
  maybe: { least: false, greatest: true, nulls: 0 },
  day: { least: 0n, greatest: 9n, nulls: 0 },
  ms: { least: 0n, greatest: 86_400_000n, nulls: 0 },
}
const known = ({ path }: ColumnNode): KnownColumn => ({ zone: zones[path[0]!]!, rows: 100 })

test.each<[string, string]>([
  ['i = 15', 'TF'],
  ['i = 10', 'TF'],
  ['i = 9', 'F'],
  ['i = 21', 'F'],
  ['i <> 21', 'T'],
  ['one = 7', 'T'],
  ['one <> 7', 'F'],
  ['i < 10', 'F'],
  ['i <= 10', 'TF'],
  ['i < 21', 'T'],
  ['i > 20', 'F'],
  ['i >= 20', 'TF'],
  ['i >= 10', 'T'],
  ['15 > i', 'TF'],
  ['9 > i', 'F'],
  ['n >= 10', 'TN'],
  ['n > 20', 'FN'],
  ['none = 1', 'N'],
  ['i = none', 'N'],
  ['unknown = 1', 'TFN'],
  ['i = j', 'TF'],
  ['i <= j', 'T'],
  ['i > j', 'F'],
  ['i = one', 'F'],
  ['i BETWEEN 12 AND 14', 'TF'],
  ['i BETWEEN 21 AND 30', 'F'],
  ['i NOT BETWEEN 21 AND 30', 'T'],
  ['i BETWEEN 0 AND 100', 'T'],
  ['n NOT BETWEEN 0 AND 100', 'FN'],
  ['i IN (1, 2, 21)', 'F'],
  ['i IN (1, 12, 21)', 'TF'],
  ['i NOT IN (1, 2, 21)', 'T'],
  ['n NOT IN (1, 2, 21)', 'TN'],
  ['i IN (1, NULL)', 'N'],
  ['i IN (12, NULL)', 'TN'],
  ['one IN (7, 8)', 'T'],
  ['one IN (7, 8, NULL)', 'T'],
  ['one NOT IN (7, 8)', 'F'],
  ['i IN (1, one)', 'F'],
  ['i IN (1, j)', 'TF'],
  ['i IS NULL', 'F'],
  ['i IS NOT NULL', 'T'],
  ['n IS NULL', 'TF'],
  ['none IS NULL', 'T'],
  ['unknown IS NULL', 'TF'],
  ['f < 0', 'F'],
  ['f > 1', 'TF'],
  ['f <= 1.5', 'T'],
  ['nan > 1e300', 'TF'],
  ['nan >= 0', 'T'],
  ['nan < 0', 'F'],
  ["s = 'avocado'", 'TF'],
  ["s = 'b'", 'TF'],
  ["s = 'cherry'", 'F'],
  ["s < 'apple'", 'F'],
  ["s LIKE 'c%'", 'F'],
  ["s LIKE 'ap%'", 'TF'],
  ["s NOT LIKE 'c%'", 'T'],
  ["s LIKE 'cherry'", 'F'],
  ["s LIKE '%an%'", 'TF'],
  ["s LIKE '%'", 'T'],
  ["s ILIKE 'C%'", 'TF'],
  ["p LIKE 'item-%'", 'TN'],
  ["p LIKE 'item-_'", 'TFN'],
  ["p LIKE 'item-%x'", 'TFN'],
  ["p LIKE 'item_1'", 'TFN'],
  ["p LIKE 'Item%'", 'FN'],
  ["p LIKE 'item\\_%'", 'FN'],
  ["p LIKE 'item-10'", 'TFN'],
  ["starts_with(p, 'item')", 'TN'],
  ["starts_with(p, 'items')", 'FN'],
  ["starts_with(p, 'j')", 'FN'],
  [`starts_with(p, '${'item-5'.repeat(50)}')`, 'TFN'],
  [`starts_with(p, '${'🎉'.repeat(50)}')`, 'FN'],
  ["open > 'z'", 'TF'],
  ["open >= 'm'", 'T'],
  ["open < 'm'", 'F'],
  ["open LIKE 'a%'", 'F'],
  ["open LIKE 'z%'", 'TF'],
  ["word = 'a'", 'F'],
  ["word IN ('a', 'c')", 'TF'],
  ['yes', 'TN'],
  ['NOT yes', 'FN'],
  ['yes IS TRUE', 'TF'],
  ['yes IS FALSE', 'F'],
  ['yes IS NULL', 'TF'],
  ['maybe', 'TF'],
  ['maybe IS NULL', 'F'],
  ['yes = maybe', 'TFN'],
  ["day > date '1970-01-10'", 'F'],
  ["day >= '1970-01-01'", 'T'],
  ["day < timestamp '1970-01-01T00:00:00.001'", 'TF'],
  ['ms < day', 'TF'],
  ["ms > timestamp '1970-01-02T00:00:00'", 'F'],
  ['i < 10 AND unknown = 1', 'F'],
  ['i >= 10 AND unknown = 1', 'TFN'],
  ['i >= 10 AND n >= 10', 'TN'],
  ['n > 20 AND unknown = 1', 'FN'],
  ['i >= 10 OR unknown = 1', 'T'],
  ['i > 20 OR n > 20', 'FN'],
  ['n >= 10 OR i = 15', 'TN'],
  ['NOT (i < 10 OR unknown = 1)', 'TFN'],
  ['(n >= 10) IS NULL', 'TF'],
  ['(n >= 10) IS NOT FALSE', 'T'],
  ['(n > 20) IS TRUE', 'F'],
  ['i < 10 AND i / 0 = 1', 'F'],
  ['i / 0 = 1', 'TFN'],
  ['length(s) = 1000000 AND i = 9', 'F'],
  ['CAST(i AS double) > 20', 'F'],
  ['CAST(n AS smallint) >= 10', 'TN'],
  ['TRY_CAST(i AS smallint) >= 10', 'TN'],
  ['CAST(f AS int) >= 0', 'T'],
  ['CAST(f AS int) >= 1', 'TF'],
  ['j + 1 > 31', 'F'],
  ['1 + j >= 21', 'T'],
  ['i - 10 < 0', 'F'],
  ['10 - i < -100', 'TFN'],
  ['i * 2 > 100', 'TFN'],
  ['i + 9223372036854775800 > 0', 'TFN'],
  ['CAST(i + 1 AS int) = j - 20', 'F'],
  ['floor(f) <= 1.0', 'T'],
  ['floor(f) > 1.0', 'F'],
  ['none + 1 > 0', 'N'],
  ["CAST(ms AS date) > date '1970-01-02'", 'F'],
  ["CAST(ms AS date) >= date '1970-01-01'", 'T'],
])('%s: %s', (text, expected) => {
  expect(letters(possibleTruth(bindFilter(text, schema).expr, known))).toBe(expected)
})

describe('nodes in another form', () => {
  const column = (name: string, type = types[name]!): ColumnNode => new ColumnNode([name], type)
  const literal = (type: DataType, value: Scalar) => new LiteralNode(type, value)
  const truth = (node: Bound, zone: Zone | null = null) =>
    letters(possibleTruth(node, each => (each.path[0] === 'x' ? { zone, rows: 100 } : known(each))))

  test('CASE uses the branches that are possible', () => {
    const when = (text: string) => bindFilter(text, schema).expr
    const choose = (...written: readonly [Bound, Bound][]) => {
      const branches = written.map(([when, result]) => ({ when, result }))
      return new CaseNode(boolType, branches, literal(boolType, null))
    }
    expect(truth(choose([when('i < 10'), when('i < 10')], [when('i >= 10'), when('i > 20')]))).toBe('F')
    expect(truth(choose([when('i = 15'), when('i >= 10')]))).toBe('TN')
    expect(truth(choose([when('n >= 10'), when('n >= 10')]))).toBe('TN')
    const branches = [{ when: when('i = 15'), result: column('i') }]
    const numbers = new CaseNode(int(64), branches, column('one'))
    const above = (value: bigint) => new CompareNode('>', numbers, literal(int(64), value))
    expect([6n, 7n, 20n].map(value => truth(above(value)))).toEqual(['T', 'TF', 'F'])
  })

  test('decimals of other scales and times of other units', () => {
    const decimal = (scale: number): DataType => ({ kind: 'decimal', bits: 128, precision: 20, scale })
    const less = (left: DataType, right: Bound) => new CompareNode('<', column('x', left), right)
    const zone: Zone = { least: 100n, greatest: 250n, nulls: 0 }
    expect(truth(less(decimal(2), literal(decimal(2), 100n)), zone)).toBe('F')
    expect(truth(less(decimal(2), literal(decimal(0), 3n)), zone)).toBe('T')
    expect(truth(less(decimal(2), literal(decimal(-1), 1n)), zone)).toBe('T')
    expect(truth(less(decimal(2), literal(int(64), 1n)), zone)).toBe('F')
    expect(truth(less(decimal(2), literal(int(64), 3n)), zone)).toBe('T')
    expect(truth(less(decimal(2), literal({ kind: 'float', bits: 64 }, 1)), zone)).toBe('TF')
    const time = (unit: 's' | 'us'): DataType => ({ kind: 'time', unit })
    expect(truth(less(time('us'), literal(time('s'), 1n)), zone)).toBe('T')
    const stamp = (timezone: string | null): DataType => ({ kind: 'timestamp', unit: 'ms', timezone })
    expect(truth(less(stamp('UTC'), literal(stamp('UTC'), 100n)), zone)).toBe('F')
    expect(truth(less(stamp('Europe/Paris'), literal(stamp(null), 100n)), zone)).toBe('TF')
  })

  test('a pattern that is not constant, or is NULL', () => {
    const like = (pattern: Bound) => new LikeNode(column('s'), pattern, { ignoreCase: false, escape: '\\' })
    expect(truth(like(column('p')))).toBe('TFN')
    expect(truth(like(literal(utf8, null)))).toBe('N')
    expect(truth(like(literal(utf8, 'c\\')))).toBe('F')
    expect(truth(like(literal(utf8, 'apple\\')))).toBe('TF')
  })

  test('a list of 100,000 values is sorted once', () => {
    const values = Array.from({ length: 100_000 }, (_, i) => BigInt((i * 7919) % 1_000_003) * 2n)
    const node = new InNode(column('x', int(64)), { values, hasNull: false, others: [] })
    const sorted = new Set(values)
    const started = performance.now()
    truth(node, { least: 0n, greatest: 0n, nulls: 0 })
    const first = performance.now() - started
    for (let low = 0n; low < 2_000n; low += 2n) {
      const point = { least: low + 1n, greatest: low + 1n, nulls: 0 }
      expect(truth(node, point)).toBe('F')
      expect(truth(node, { least: low, greatest: low, nulls: 0 })).toBe(sorted.has(low) ? 'T' : 'F')
    }
    expect(performance.now() - started).toBeLessThan(20 * first + 500)
  })
})

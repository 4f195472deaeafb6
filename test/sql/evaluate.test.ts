import { describe, expect, test } from 'vitest'
import type { Batch, Column } from '../../src/arrow/column.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { sliceBatch } from '../../src/arrow/slice.js'
import type { DataType, Schema } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'
import { SheafError } from '../../src/errors.js'
import { Bitset } from '../../src/primitives/bitset.js'
import { bindExpression, bindFilter } from '../../src/sql/binding/bind.js'
import type { Bound } from '../../src/sql/bound.js'
import { evaluate, selectRows } from '../../src/sql/evaluate.js'
import { parseExpression } from '../../src/sql/syntax/parse.js'
import { SeededClock } from '../support/clock.js'

const utf8: DataType = { kind: 'utf8', large: false }
const int = (bits: 8 | 16 | 32 | 64, signed = true) => ({ kind: 'int', bits, signed }) as const

/** One column `x` of the type. */
function column(type: DataType, values: readonly unknown[]): Batch {
  return batch(
    { x: type },
    values.map(x => ({ x })),
  )
}

function batch(types: Readonly<Record<string, DataType>>, rows: readonly object[]): Batch {
  const schema: Schema = {
    fields: Object.entries(types).map(([name, type]) => ({ name, type, nullable: true })),
  }
  return rowsToBatch(rows, schema)
}

function select(text: string, from: Batch, within?: Bitset): number[] {
  return [...selectRows(bindFilter(text, from.schema), from, within).toIndices()]
}

function values(text: string, from: Batch): unknown[] {
  return columnValues(evaluate(bindExpression(parseExpression(text), from.schema), from), { int64: 'bigint' })
}

function failure(run: () => unknown): SheafError {
  try {
    run()
  } catch (error) {
    if (error instanceof SheafError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('comparison', () => {
  const extremes = [
    -(2n ** 63n),
    -(2n ** 53n) - 1n,
    -1n,
    0n,
    1n,
    2n ** 32n,
    2n ** 53n,
    2n ** 53n + 1n,
    2n ** 63n - 1n,
  ]

  test('int64 is exact at every boundary, against constants of every kind', () => {
    const from = column(int(64), extremes)
    for (const limit of extremes) {
      const expected = (holds: (value: bigint) => boolean) =>
        extremes.flatMap((v, i) => (holds(v) ? [i] : []))
      expect(select(`x = ${limit}`, from)).toEqual(expected(v => v === limit))
      expect(select(`x <> ${limit}`, from)).toEqual(expected(v => v !== limit))
      expect(select(`x < ${limit}`, from)).toEqual(expected(v => v < limit))
      expect(select(`x <= ${limit}`, from)).toEqual(expected(v => v <= limit))
      expect(select(`x > ${limit}`, from)).toEqual(expected(v => v > limit))
      expect(select(`x >= ${limit}`, from)).toEqual(expected(v => v >= limit))
      expect(select(`x IN (${limit}, 77)`, from)).toEqual(expected(v => v === limit))
    }
    expect(select('x > 9007199254740992.0', from)).toEqual([7, 8])
    expect(select('x = 9007199254740993.0', from)).toEqual([7])
    expect(select('x > 9007199254740992.00000000000000000001', from)).toEqual([7, 8])
  })

  test('uint64 orders past int64', () => {
    const from = batch({ u: int(64, false), i: int(64) }, [
      { u: 2n ** 64n - 1n, i: -1n },
      { u: 2n ** 63n, i: 2n ** 63n - 1n },
      { u: 5n, i: 5n },
    ])
    expect(select('u > 9223372036854775807', from)).toEqual([0, 1])
    expect(select('u >= 9223372036854775808', from)).toEqual([0, 1])
    expect(select('u > i', from)).toEqual([0, 1])
    expect(select('i = u', from)).toEqual([2])
    expect(select('u IN (18446744073709551615)', from)).toEqual([0])
  })

  test('int64 and float64 columns compare as numbers, not as doubles', () => {
    const from = batch({ i: int(64), f: { kind: 'float', bits: 64 } }, [
      { i: 2n ** 53n + 1n, f: 2 ** 53 },
      { i: 2n ** 53n, f: 2 ** 53 },
      { i: 2n ** 63n - 1n, f: 2 ** 63 },
      { i: 0n, f: Number.NaN },
      { i: 0n, f: -0 },
    ])
    expect(select('i > f', from)).toEqual([0])
    expect(select('i = f', from)).toEqual([1, 4])
    expect(select('f > i', from)).toEqual([2, 3])
  })

  test('NaN equals NaN and is greater than everything; -0 equals 0', () => {
    for (const bits of [32, 64] as const) {
      const from = column({ kind: 'float', bits }, [Number.NaN, Infinity, 1, 0, -0, -Infinity, null])
      expect(select("x = 'NaN'::double", from)).toEqual([0])
      expect(select("x >= 'NaN'::double", from)).toEqual([0])
      expect(select("x < 'NaN'::double", from)).toEqual([1, 2, 3, 4, 5])
      expect(select("x <= 'NaN'::double", from)).toEqual([0, 1, 2, 3, 4, 5])
      expect(select("x > 'inf'::double", from)).toEqual([0])
      expect(select("x <= 'inf'::double", from)).toEqual([1, 2, 3, 4, 5])
      expect(select("x <= '-inf'::double", from)).toEqual([5])
      expect(select("x > '-inf'::double", from)).toEqual([0, 1, 2, 3, 4])
      expect(select('x > 1', from)).toEqual([0, 1])
      expect(select('x = 0', from)).toEqual([3, 4])
      expect(select('x < 0', from)).toEqual([5])
      expect(select('x <= -0.0', from)).toEqual([3, 4, 5])
      expect(select("x IN (0, 'NaN'::double, 5)", from)).toEqual([0, 3, 4])
      expect(select('x = x', from)).toEqual([0, 1, 2, 3, 4, 5])
    }
  })

  test('float16 columns compare by value', () => {
    const from = column({ kind: 'float', bits: 16 }, [1.5, -2, 65504, Number.NaN, null])
    expect(select('x > 1', from)).toEqual([0, 2, 3])
    expect(select('x = 1.5', from)).toEqual([0])
    expect(select('x IN (-2, 65504)', from)).toEqual([1, 2])
  })

  test.each([int(8), int(16), int(32), int(8, false), int(16, false), int(32, false)])(
    'small integers: %j',
    type => {
      const from = column(type, [0, 1, 127, null])
      expect(select('x >= 1', from)).toEqual([1, 2])
      expect(select('x <> 1', from)).toEqual([0, 2])
      expect(select('x IN (0, 127, 1000)', from)).toEqual([0, 2])
      expect(select('x < 1.5', from)).toEqual([0, 1])
      expect(select('x = x + 0', from)).toEqual([0, 1, 2])
    },
  )

  test('an int32 column takes constants at the ends of its range', () => {
    const from = column(int(32), [-(2 ** 31), 2 ** 31 - 1])
    expect(select('x <= 2147483647', from)).toEqual([0, 1])
    expect(select('x > 2147483647', from)).toEqual([])
    expect(select('x >= -2147483648', from)).toEqual([0, 1])
  })

  test('texts order by code point, beyond the first 65,536 too', () => {
    const from = column(utf8, ['\uffff', '𐀀', 'a', '', null, 'ab'])
    expect(select("x < '𐀀'", from)).toEqual([0, 2, 3, 5])
    expect(select("x >= 'a'", from)).toEqual([0, 1, 2, 5])
    expect(select("x = ''", from)).toEqual([3])
    expect(select("x > ''", from)).toEqual([0, 1, 2, 5])
    expect(select("x <= 'a'", from)).toEqual([2, 3])
  })

  test('bytes, of fixed size or not', () => {
    const rows = [Buffer.from([1, 255]), Buffer.from([1, 2]), null]
    for (const type of [
      { kind: 'binary', large: false },
      { kind: 'fixed_size_binary', width: 2 },
    ] as const) {
      const from = column(type, rows)
      expect(select("x = X'0102'", from)).toEqual([1])
      expect(select("x > X'0102'", from)).toEqual([0])
      expect(select("x IN (X'01ff', X'01')", from)).toEqual([0])
      expect(select("x = X'01'", from)).toEqual([])
      expect(select('x = x', from)).toEqual([0, 1])
    }
  })

  test('dates and times of different units compare as points in time', () => {
    const types = {
      day: { kind: 'date', unit: 'day' },
      wide: { kind: 'date', unit: 'ms' },
      s: { kind: 'timestamp', unit: 's', timezone: null },
      ns: { kind: 'timestamp', unit: 'ns', timezone: 'UTC' },
    } as const
    const from = batch(types, [
      { day: 1, wide: 86_400_000n, s: 86_400n, ns: 86_400_000_000_000n },
      { day: 1, wide: 0n, s: 86_401n, ns: 86_400_000_000_001n },
      { day: -1, wide: -86_400_000n, s: -86_400n, ns: -86_400_000_000_001n },
    ])
    expect(select('day = wide', from)).toEqual([0, 2])
    expect(select('day = s', from)).toEqual([0, 2])
    expect(select('ns > day', from)).toEqual([1])
    expect(select('ns < s', from)).toEqual([1, 2])
    expect(select("wide >= '1970-01-02'", from)).toEqual([0])
    expect(select("ns > timestamp '1970-01-02'", from)).toEqual([1])
    expect(select("s BETWEEN '1970-01-01' AND '1970-01-02T00:00:00Z'", from)).toEqual([0])
    expect(select("day IN ('1970-01-02', '1970-01-02T12:00:00')", from)).toEqual([0, 1])
  })

  test('times of day and durations compare with their own kind', () => {
    const from = batch(
      {
        a: { kind: 'time', unit: 's' },
        b: { kind: 'time', unit: 's' },
        c: { kind: 'duration', unit: 'us' },
        d: { kind: 'duration', unit: 'us' },
      },
      [{ a: '01:00:00', b: '02:00:00', c: 5n, d: -5n }],
    )
    expect(select('a < b', from)).toEqual([0])
    expect(select('c > d', from)).toEqual([0])
  })

  test('a column of nulls is NULL in every condition', () => {
    const from = column({ kind: 'null' }, [null, null])
    expect(select('x = 1 OR x IS NOT NULL', from)).toEqual([])
    expect(select('x IS NULL', from)).toEqual([0, 1])
    expect(select('x IN (1)', from)).toEqual([])
  })
})

describe('A-056 three truth values', () => {
  const from = batch({ n: int(64), flag: { kind: 'bool' } }, [
    { n: 1, flag: true },
    { n: 2, flag: false },
    { n: null, flag: null },
  ])

  test.each([
    ['NOT (n = 1)', [1]],
    ['n <> 1', [1]],
    ['n NOT IN (1, NULL)', []],
    ['n IN (1, NULL)', [0]],
    ['n NOT IN (1)', [1]],
    ['n = NULL', []],
    ['NOT (n = NULL)', []],
    ['NULL', []],
    ['n IS NULL', [2]],
    ['(n = 1) IS NULL', [2]],
    ['(n = 1) IS NOT TRUE', [1, 2]],
    ['(n = 1) IS FALSE', [1]],
    ['flag', [0]],
    ['NOT flag', [1]],
    ['flag IS NOT FALSE', [0, 2]],
    ['flag OR n IS NULL', [0, 2]],
    ['flag AND NULL', []],
    ['(flag AND NULL) IS NULL', [0, 2]],
    ['(flag OR NULL) IS NULL', [1, 2]],
    ['n BETWEEN NULL AND 1', []],
    ['n NOT BETWEEN NULL AND 1', [1]],
  ])('%s', (text, rows) => {
    expect(select(text, from)).toEqual(rows)
  })
})

describe('errors of rows', () => {
  const from = batch({ a: int(64), b: int(64), s: utf8 }, [
    { a: 6n, b: 3n, s: '1' },
    { a: 1n, b: 0n, s: 'x' },
    { a: null, b: 0n, s: '3' },
    { a: 2n ** 63n - 1n, b: null, s: null },
  ])

  test('name the fault, the expression and the values, as code 13', () => {
    expect(failure(() => select('a / b = 2', from))).toMatchObject({
      code: 13,
      message: 'division by zero in a / b: 1 / 0',
      hint: 'exclude the rows with a zero divisor, or divide by a double',
    })
    expect(failure(() => select('a % b = 2', from)).message).toBe('division by zero in a % b: 1 % 0')
    expect(failure(() => select('a + 1 = 2', from)).message).toBe(
      'int64 overflow in a + 1: 9223372036854775807 + 1',
    )
    expect(failure(() => select('a * a = 2', from)).message).toMatch('int64 overflow in a * a')
    expect(failure(() => select('CAST(s AS int) = 2', from)).message).toBe(
      '"x" is not a value of int32, in CAST(s AS int)',
    )
  })

  test('an operand of AND or OR protects the others, on either side of it', () => {
    for (const text of ['b <> 0 AND a / b = 2', 'a / b = 2 AND b <> 0', 'NOT (b = 0 OR a / b <> 2)']) {
      expect(select(text, from)).toEqual([0])
    }
    expect(select("s <> 'x' AND CAST(s AS int) = 1", from)).toEqual([0])
    expect(select('coalesce(b, a + 1) = 3', sliceBatch(from, 0, 3))).toEqual([0])
  })

  test('a null operand does not fail, nor does a row outside of the requested subset', () => {
    expect(select('a / b IS NULL', sliceBatch(from, 2, 2))).toEqual([0, 1])
    const within = Bitset.full(4)
    within.remove(1)
    expect(select('a / b = 2', from, within)).toEqual([0])
    expect(
      columnValues(
        evaluate(
          bindExpression(parseExpression('6 / b'), from.schema),
          from,
          Bitset.fromBytes(Uint8Array.of(1), 4),
        ),
        { int64: 'bigint' },
      )[0],
    ).toBe(2n)
  })

  test('a float divided by zero follows IEEE 754', () => {
    expect(values('b / 0.0', from).slice(0, 2)).toEqual([Infinity, Number.NaN])
  })
})

describe('CASE', () => {
  const from = batch({ a: int(64), b: int(64), s: utf8, flag: { kind: 'bool' } }, [
    { a: 6n, b: 3n, s: 'x', flag: true },
    { a: 1n, b: 0n, s: 'y', flag: false },
    { a: null, b: 0n, s: null, flag: null },
    { a: 2n ** 63n - 1n, b: null, s: 'x', flag: true },
  ])

  test('gives the result of the first condition that is TRUE', () => {
    expect(values("case when a > 5 then s when b = 0 then 'zero' end", from)).toEqual([
      'x',
      'zero',
      'zero',
      'x',
    ])
    expect(values("case s when 'x' then a when 'y' then -1 else 0 end", from)).toEqual([
      6n,
      -1n,
      0n,
      2n ** 63n - 1n,
    ])
    expect(values('case when flag then a end', from)).toEqual([6n, null, null, 2n ** 63n - 1n])
    expect(values('case when flag then null else 0.5 end', from)).toEqual([null, 0.5, 0.5, null])
    expect(values('case when flag is null then [a] else [b, 1] end', from)).toEqual([
      [3n, 1n],
      [0n, 1n],
      [null],
      [null, 1n],
    ])
    expect(values('case when flag then struct(a) end', sliceBatch(from, 0, 2))).toEqual([{ c0: 6n }, null])
  })

  test('may be a condition', () => {
    expect(select('case when b = 0 then a = 1 else flag end', from)).toEqual([0, 1, 3])
    expect(select('not case when b = 0 then a = 1 else flag end', from)).toEqual([])
    expect(select('case when b = 0 then a = 1 else flag end is null', from)).toEqual([2])
    expect(values('case when flag then a > 5 when flag is null then null else true end', from)).toEqual([
      true,
      true,
      null,
      true,
    ])
  })

  test('evaluates a branch only for the rows that reach it', () => {
    expect(values('case when b <> 0 then a / b end', from)).toEqual([2n, null, null, null])
    expect(values('case when b = 0 or b is null then 0 else a / b end', from)).toEqual([2n, 0n, 0n, 0n])
    expect(values('case when a is null or a > 100 then 0 when a + 1 > 1 then 1 end', from)).toEqual([
      1n,
      1n,
      0n,
      0n,
    ])
    expect(select("s = 'y' and case when flag then 1 / 0 else 1 end = 1", from)).toEqual([1])
    expect(failure(() => values('case when b = 0 then a / b end', from)).message).toBe(
      'division by zero in a / b: 1 / 0',
    )
  })

  test('may have more than 256 branches', () => {
    const branches = Array.from({ length: 300 }, (_, i) => `when a = ${i} then a + ${i}`).join(' ')
    expect(values(`case ${branches} else -1 end`, from)).toEqual([12n, 2n, -1n, -1n])
  })
})

describe('IS DISTINCT FROM', () => {
  test('knows NULL', () => {
    const from = batch({ a: int(64), b: int(32) }, [
      { a: 1n, b: 1 },
      { a: 1n, b: 2 },
      { a: null, b: 1 },
      { a: 1n, b: null },
      { a: null, b: null },
    ])
    expect(select('a is distinct from b', from)).toEqual([1, 2, 3])
    expect(select('a is not distinct from b', from)).toEqual([0, 4])
    expect(select('not (a is distinct from 1)', from)).toEqual([0, 1, 3])
    expect(select('a is not distinct from null', from)).toEqual([2, 4])
  })
})

describe('volatile functions', () => {
  test('are computed for every row, with any arguments', () => {
    const type: DataType = { kind: 'dictionary', index: int(8), value: utf8, ordered: false }
    const from = column(
      type,
      Array.from({ length: 100 }, () => 'a'),
    )
    const bound = bindExpression(parseExpression("case when x = 'a' then random() end"), from.schema, {
      clock: new SeededClock(3),
    })
    const distinct = new Set(columnValues(evaluate(bound, from)))
    expect(distinct.size).toBeGreaterThan(90)
    expect(select('random() >= 0 and random() < 1', from).length).toBe(100)
  })
})

describe('dictionaries', () => {
  const type: DataType = { kind: 'dictionary', index: int(8), value: utf8, ordered: false }
  const words = ['b', 'a', null, 'b', 'ccc', 'a']
  const from = column(type, words)

  test('conditions and functions see the values', () => {
    expect(select("x = 'a'", from)).toEqual([1, 5])
    expect(select("x IN ('a', 'ccc')", from)).toEqual([1, 4, 5])
    expect(select("x NOT LIKE 'c%'", from)).toEqual([0, 1, 3, 5])
    expect(select('length(x) = 3', from)).toEqual([4])
    expect(select("coalesce(x, 'z') >= 'b'", from)).toEqual([0, 2, 3, 4])
    expect(select('x IS NULL', from)).toEqual([2])
    expect(select('(x = x) IS NULL', from)).toEqual([2])
    expect(values("upper(x) || '!'", from)).toEqual(['B!', 'A!', null, 'B!', 'CCC!', 'A!'])
    expect(values("coalesce(x, 'none')", from)).toEqual(['b', 'a', 'none', 'b', 'ccc', 'a'])
  })

  test('a bare column stays a dictionary', () => {
    expect(evaluate(bindExpression(parseExpression('x'), from.schema), from).type).toEqual(type)
  })

  test('an entry that is null is null in every row that points to it', () => {
    const dictionary: Column = column(utf8, ['a', null]).columns[0]!
    const plain = column(type, ['a', 'b', 'a']).columns[0]!
    const odd: Batch = { ...column(type, ['a', 'b', 'a']), columns: [{ ...plain, dictionary }] }
    expect(select('x IS NULL', odd)).toEqual([1])
    expect(select("x <> 'z'", odd)).toEqual([0, 2])
    expect(values('lower(x)', odd)).toEqual(['a', null, 'a'])
  })

  test('an unused entry cannot fail; a dictionary larger than the batch is read row by row', () => {
    const numbers = column(type, ['1', 'x', '2', '1'])
    const [first] = [sliceBatch(numbers, 2, 2)]
    expect(first!.columns[0]!.dictionary!.length).toBe(3)
    expect(values('CAST(x AS int)', first!)).toEqual([2, 1])
    const used: Batch = {
      ...numbers,
      columns: [{ ...numbers.columns[0]!, values: Int8Array.of(0, 2, 2, 0) }],
    }
    expect(values('CAST(x AS int)', used)).toEqual([1, 2, 2, 1])
    const within = Bitset.fromBytes(Uint8Array.of(0b1101), 4)
    expect(select('CAST(x AS int) = 1', numbers, within)).toEqual([0, 3])
    expect(failure(() => values('CAST(x AS int)', numbers)).message).toMatch('"x" is not a value of int32')
  })
})

describe('dictionaries shared by slices', () => {
  const type: DataType = { kind: 'dictionary', index: int(8), value: utf8, ordered: false }
  const words = Array.from({ length: 64 }, (_, i) => (i % 9 === 8 ? null : `w${i % 5}`))
  const from = column(type, words)

  test('give what the whole gives, in each of them', () => {
    const bound = bindExpression(
      parseExpression("case when x is null then '-' else upper(x) end"),
      from.schema,
    )
    const filter = bindFilter("length(x) = 2 and x <> 'w1'", from.schema)
    const got: unknown[] = []
    const selected: number[] = []
    for (let start = 0; start < 64; start += 4) {
      const slice = sliceBatch(from, start, 4)
      expect(slice.columns[0]!.dictionary).toBe(from.columns[0]!.dictionary)
      got.push(...columnValues(evaluate(bound, slice)))
      selected.push(...[...selectRows(filter, slice).toIndices()].map(row => row + start))
    }
    expect(got).toEqual(words.map(word => word?.toUpperCase() ?? '-'))
    expect(selected).toEqual(words.flatMap((word, i) => (word === null || word === 'w1' ? [] : [i])))
  })

  test('fail only in the slice that uses the entry', () => {
    const numbers = column(type, ['1', '2', '1', '2', 'x', '1'])
    const bound = bindExpression(parseExpression('cast(x as int)'), numbers.schema)
    const slice = (start: number) => columnValues(evaluate(bound, sliceBatch(numbers, start, 3)))
    expect(slice(0)).toEqual([1, 2, 1])
    expect(failure(() => slice(3)).message).toMatch('"x" is not a value of int32')
    expect(slice(1)).toEqual([2, 1, 2])
  })
})

describe('nested columns', () => {
  const from = batch(
    {
      st: {
        kind: 'struct',
        children: [
          {
            name: 'in',
            type: { kind: 'struct', children: [{ name: 'c', type: int(64), nullable: true }] },
            nullable: true,
          },
          {
            name: 'w',
            type: { kind: 'dictionary', index: int(8), value: utf8, ordered: false },
            nullable: true,
          },
        ],
      },
      vec: {
        kind: 'fixed_size_list',
        size: 2,
        child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: true },
      },
    },
    [
      { st: { in: { c: 1 }, w: 'a' }, vec: [1, 2] },
      { st: { in: null, w: 'a' }, vec: null },
      { st: null, vec: [3, 4] },
      { st: { in: { c: null }, w: null }, vec: [1, 5] },
      { st: { in: { c: 2 }, w: 'b' }, vec: [0, 0] },
    ],
  )

  test('A-059 a field is null where any struct around it is', () => {
    expect(select('st.in.c >= 1', from)).toEqual([0, 4])
    expect(select('st.in.c IS NULL', from)).toEqual([1, 2, 3])
    expect(select('st.in IS NULL', from)).toEqual([1, 2])
    expect(select("st.w = 'a'", from)).toEqual([0, 1])
    expect(values('st.in.c', from)).toEqual([1n, null, null, null, 2n])
  })

  test('A-059 values under a null struct are ignored', () => {
    const [st, vec] = from.columns as [Column, Column]
    const inner = st.children[0]!
    const bare = { ...inner.children[0]!, validity: null, nullCount: 0 }
    const changed: Batch = {
      ...from,
      columns: [
        { ...st, children: [{ ...inner, validity: null, nullCount: 0, children: [bare] }, st.children[1]!] },
        vec,
      ],
    }
    expect(select('st.in.c IS NULL', changed)).toEqual([2])
    expect(select('st.in.c > 0', changed)).toEqual([0, 4])
    expect(values('st.in.c', changed)[2]).toBe(null)
    expect(evaluate(bindExpression(parseExpression('st.in.c'), from.schema), changed).nullCount).toBe(1)
  })

  test('elements of lists of any kind are counted from 1, or back from the end', () => {
    expect(select('vec[1] = 1', from)).toEqual([0, 3])
    expect(select('vec[-1] > 3', from)).toEqual([2, 3])
    expect(values('vec[3]', from)).toEqual([null, null, null, null, null])
    expect(values('vec[0]', from)).toEqual([null, null, null, null, null])
    expect(values('vec[st.in.c]', from)).toEqual([1, null, null, null, 0])
    expect(select('array_length(vec) = 2 AND array_has(vec, 1.0)', from)).toEqual([0, 3])
  })

  test('lists and structs are made of values, and taken apart', () => {
    expect(values('[st.in.c, 7, null]', from)).toEqual([
      [1n, 7n, null],
      [null, 7n, null],
      [null, 7n, null],
      [null, 7n, null],
      [2n, 7n, null],
    ])
    expect(values('[st.in.c, 7][1 + 1]', from)).toEqual([7n, 7n, 7n, 7n, 7n])
    expect(values("struct(st.w, vec)['c0']", from)).toEqual(['a', 'a', null, null, 'b'])
    expect(values('struct(st.w, vec).c1[1]', from)).toEqual([1, null, 3, 1, 0])
    expect(values('[st][1].in.c', from)).toEqual([1n, null, null, null, 2n])
    expect(values('[st.in, st.in][2]', from)[4]).toEqual({ c: 2n })
  })
})

describe('batches', () => {
  test('of no rows give nothing, for any expression', () => {
    const from = column(int(64), [])
    expect(select('x / 0 = 1 OR x IN (1, 2) OR x IS NULL', from)).toEqual([])
    expect(evaluate(bindExpression(parseExpression('x + 1'), from.schema), from).length).toBe(0)
  })

  test('of every length around a word, with buffers longer than needed', () => {
    const all = column(
      int(64),
      Array.from({ length: 100 }, (_, i) => (i % 3 === 0 ? null : i)),
    )
    for (const length of [1, 7, 8, 31, 32, 33, 63, 64, 65, 99]) {
      const part = sliceBatch(all, 0, length)
      const expected = Array.from({ length }, (_, i) => i).filter(i => i % 3 !== 0 && i < 50)
      expect(select('x < 50', part)).toEqual(expected)
      expect(select('NOT (x >= 50)', part)).toEqual(expected)
      expect(select('x IS NULL OR x IS NOT NULL', part).length).toBe(length)
      expect(select('true', part).length).toBe(length)
    }
  })

  test('are read by name: columns may come in any order, with additional ones', () => {
    const filter = bindFilter('b = 2', batch({ a: int(64), b: int(64) }, []).schema)
    const other = batch({ z: utf8, b: int(64) }, [{ z: 'x', b: 2 }])
    expect([...selectRows(filter, other).toIndices()]).toEqual([0])
  })

  test('a result is of the bound type and length, constants included', () => {
    const from = column(int(64), [1, 2, 3])
    expect(values("'a'", from)).toEqual(['a', 'a', 'a'])
    expect(values('NULL', from)).toEqual([null, null, null])
    expect(values('[1, 2]', from)).toEqual([
      [1n, 2n],
      [1n, 2n],
      [1n, 2n],
    ])
    expect(values('x = 2', from)).toEqual([false, true, false])
    expect(values('x = 2 OR NULL', from)).toEqual([null, true, null])
  })
})

describe('long lists', () => {
  test('100,000 constants are looked up, not compared one by one', () => {
    const count = 100_000
    const from = batch(
      { i: int(64), n: int(32), s: utf8 },
      Array.from({ length: 5000 }, (_, k) => ({ i: BigInt(k) * 2n ** 33n, n: k, s: `key-${k}` })),
    )
    const odd = Array.from({ length: count }, (_, k) => 2 * k + 1)
    const isOdd = Array.from({ length: 2500 }, (_, k) => 2 * k + 1)
    const check = (text: string, list: readonly unknown[]) =>
      expect([
        ...selectRows(bindFilter(text, from.schema, { parameters: [list] }), from).toIndices(),
      ]).toEqual(isOdd)
    const started = process.cpuUsage()
    check('n IN ?', odd)
    check(
      'i IN ?',
      odd.map(k => BigInt(k) * 2n ** 33n),
    )
    check(
      's IN ?',
      odd.map(k => `key-${k}`),
    )
    expect(select(`n IN (${odd.join(',')})`, from)).toEqual(isOdd)
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(10)
  })
})

describe('constants that are too large to fold', () => {
  const from = batch({ a: int(64), s: utf8, big: { kind: 'utf8', large: true } }, [
    { a: 1n, s: 'x%', big: 'x' },
    { a: 2n, s: '%y', big: null },
    { a: 0n, s: null, big: 'x'.repeat(100_000) },
  ])
  const large = "repeat('x', 100000)"
  const kinds = (node: Bound): string[] => [node.kind, ...node.operands.flatMap(kinds)]

  test('are not folded, and short ones are', () => {
    const exprOf = (text: string) => bindExpression(parseExpression(text), from.schema).expr
    expect(kinds(exprOf(large))).toEqual(['call', 'literal', 'literal'])
    expect(kinds(exprOf(`CAST(${large} AS bytea)`))).toEqual(['cast', 'call', 'literal', 'literal'])
    expect(kinds(exprOf(`upper('${'x'.repeat(100_000)}')`))).toEqual(['call', 'literal'])
    expect(kinds(exprOf("repeat('x', 65536)"))).toEqual(['literal'])
    expect(kinds(exprOf(`length(${large})`))).toEqual(['literal'])
    expect(kinds(exprOf(`upper(${large}) = lower(${large})`))).toEqual(['literal'])
    expect(kinds(exprOf(`CAST('${'x'.repeat(100_000)}' AS bytea)`))).toEqual(['cast', 'literal'])
  })

  test('have the value that folding would give', () => {
    expect(values(`length(${large}) + a`, from)).toEqual([100_001n, 100_002n, 100_000n])
    expect(select(`big = ${large}`, from)).toEqual([2])
    expect(select(`big BETWEEN 'x' AND ${large}`, from)).toEqual([0, 2])
    expect(select(`${large} LIKE s`, from)).toEqual([0])
    expect(select(`${large} LIKE 'x%'`, from)).toEqual([0, 1, 2])
    expect(select(`${large} IN (s, big)`, from)).toEqual([2])
    expect(select(`(${large} IN (s, 'x')) IS NULL`, from)).toEqual([2])
    expect(select(`length(${large}) = 100000 AND a > 0`, from)).toEqual([0, 1])
    expect(select(`nullif(${large}, s) IS NULL`, from)).toEqual([])
    expect(values(`length(CASE WHEN a = 1 THEN ${large} ELSE s END)`, from)).toEqual([100_000, 2, null])
    expect(values(`length(coalesce(s, ${large}))`, from)).toEqual([2, 2, 100_000])
    expect(values(`array_has([${large}, 'y'], big)`, from)).toEqual([false, null, true])
  })

  test('are computed once for all rows', () => {
    const rows = batch(
      { a: int(64) },
      Array.from({ length: 8192 }, (_, i) => ({ a: BigInt(i) })),
    )
    const texts = Array.from({ length: 40 }, (_, i) => `length(repeat('${i}', 500000)) >= a`)
    expect(select(texts.join(' AND '), rows)).toHaveLength(8192)
  })

  test('fail only where a row needs them', () => {
    expect(select('a = 7 AND length(chr(-1)) = 1', from)).toEqual([])
    expect(values('CASE WHEN a = 7 THEN 1 / 0 ELSE a END', from)).toEqual([1n, 2n, 0n])
    expect(failure(() => select('a = 1 AND 1 / 0 = 1', from)).message).toContain('division by zero')
  })
})

test('a message shows the beginning of a value', () => {
  const from = batch({ s: utf8 }, [{ s: '9'.repeat(50_000_000) }])
  const parameters = ['9'.repeat(50_000_000)]
  const messages = [
    failure(() => select('CAST(s AS bigint) = 1', from)).message,
    failure(() => bindFilter('CAST(? AS bigint) = 1', from.schema, { parameters })).message,
    failure(() => bindFilter('CAST(s AS timestamp) = ?', from.schema, { parameters })).message,
    failure(() => bindFilter('? + 1 = 2', from.schema, { parameters })).message,
    failure(() => select(`length(s || '${'x'.repeat(10_000)}') / 0 = 1`, from)).message,
  ]
  for (const message of messages) expect(message.length).toBeLessThan(400)
})

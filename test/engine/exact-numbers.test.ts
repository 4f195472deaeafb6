/** Comparisons of numbers, asked as users do, beside fractions of whole numbers (test/sql/rational.ts). */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromFloat16, toFloat16 } from '../../src/arrow/float16.js'
import type { DataType } from '../../src/arrow/types.js'
import {
  connect,
  type Namespace,
  type ParameterValue,
  type SqlFragment,
  sql,
  type Table,
} from '../../src/index.js'
import { parseArrowType } from '../../src/sql/values/arrow-type.js'
import { ofDecimal, ofDouble, ofText, order, type Rational } from '../sql/rational.js'

const types: Readonly<Record<string, DataType>> = Object.fromEntries(
  Object.entries({
    i8: 'Int8',
    i16: 'Int16',
    i32: 'Int32',
    i64: 'Int64',
    u8: 'UInt8',
    u16: 'UInt16',
    u32: 'UInt32',
    u64: 'UInt64',
    f16: 'Float16',
    f32: 'Float32',
    f64: 'Float64',
    d9: 'Decimal128(9, 2)',
    d38: 'Decimal128(38, 10)',
    d20: 'Decimal128(20, 0)',
    d76: 'Decimal256(76, 30)',
  }).map(([name, type]) => [name, parseArrowType(type)!]),
)
const columns = Object.keys(types)

/** Numbers that lie at the ends of types, at what doubles hold, and right beside those. */
const written = [
  ...[
    '0',
    '1',
    '-1',
    '2',
    '10',
    '100',
    '127',
    '128',
    '-128',
    '-129',
    '255',
    '256',
    '32767',
    '65504',
    '65535',
  ],
  ...['2147483647', '-2147483648', '2147483648', '4294967295', '4294967296', '16777216', '16777217'],
  ...['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993'],
  ...['9223372036854775807', '-9223372036854775808', '9223372036854775808', '-9223372036854775809'],
  ...['18446744073709551615', '18446744073709551616', '18446744073709551617', '99999999999999999999'],
  ...['1267650600228229401496703205376', '1267650600228229401496703205377', `1${'0'.repeat(40)}`],
  ...[`1${'0'.repeat(80)}`, `-1${'0'.repeat(80)}`, `1${'0'.repeat(320)}`, '100000000000000000000000'],
  ...['0.1', '-0.1', '0.5', '0.25', '1.1', '99.99', '0.10', '19.99', '0.30000000000000004', '2.5', '1e5'],
  ...['0.1000000000000000055511151231257827', '0.10000000000000000001', '9007199254740993.0', '1e300'],
  ...['0.10000000149011612', '65519.9', '65520.5', '1e-30', '-1e-30', '4.9e-324', '1e400', '-1e400'],
]

type Value = bigint | number | null

/** A text that a test holds, as an expression. */
const sqlOf = (text: string): SqlFragment =>
  sql(Object.assign([text], { raw: [text] }) as TemplateStringsArray)

const scaleOf = (type: DataType) => (type.kind === 'decimal' ? type.scale : 0)

function rationalOf(value: bigint | number, type: DataType): Rational {
  return typeof value === 'number' ? ofDouble(value) : ofDecimal(value, scaleOf(type))
}

function inWidth(value: number, type: DataType): number {
  if (type.kind !== 'float' || type.bits === 64) return value
  return type.bits === 32 ? Math.fround(value) : fromFloat16(toFloat16(value))
}

/** The value of a type at the number or next to it; null where it has none. */
function valueNear(text: string, type: DataType): Value {
  if (type.kind === 'float') return inWidth(Number(text), type)
  const { over, under } = ofText(text)
  const value = (over * 10n ** BigInt(scaleOf(type))) / under
  if (type.kind === 'decimal') return String(value).replace('-', '').length > type.precision ? null : value
  const { bits, signed } = type as DataType & { kind: 'int' }
  const fits = signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value)
  return fits === value ? value : null
}

const anyOf = (type: DataType): fc.Arbitrary<Value> => {
  const near = fc.constantFrom(...written).map(text => valueNear(text, type))
  const special = type.kind === 'float' ? [Number.NaN, Infinity, -Infinity, -0] : []
  return fc.oneof(near, near, near, fc.constantFrom<Value>(null, ...special))
}

/** As rows are given: decimals as text. */
function given(value: Value, type: DataType): unknown {
  if (value === null || type.kind !== 'decimal') return value
  const digits = String(value < 0 ? -value : value).padStart(type.scale + 1, '0')
  const at = digits.length - type.scale
  const text = type.scale === 0 ? digits : `${digits.slice(0, at)}.${digits.slice(at)}`
  return value < 0 ? `-${text}` : text
}

/** An operand: its text, and the number it is in a row, which depends on what it is compared with. */
interface Side {
  readonly text: string
  readonly parameters?: readonly ParameterValue[]
  readonly at: (row: Row, beside: DataType) => Rational | null
}

type Row = Readonly<Record<string, Value>>

const columnSide = (name: string): Side => ({
  text: name,
  at: row => (row[name] === null ? null : rationalOf(row[name]!, types[name]!)),
})

/** What is written with a point, and doubles, take the precision of the floats they meet, if they are in their range. */
function beside(exact: Rational, double: number, type: DataType): Rational {
  if (type.kind !== 'float') return exact
  const rounded = inWidth(double, type)
  return Number.isFinite(rounded) || typeof exact === 'string' ? ofDouble(rounded) : exact
}

const literalSide = (text: string): Side => {
  const exact = ofText(text)
  const isWhole = /^-?\d+$/.test(text)
  return { text, at: (_, type) => (isWhole ? exact : beside(exact, Number(text), type)) }
}

const constantSides: fc.Arbitrary<Side> = fc.oneof(
  fc.constantFrom(...written).map(literalSide),
  fc
    .constantFrom(...written.filter(text => /^-?\d{1,76}$/.test(text)))
    .map(text => ({ ...literalSide(text), text: '?', parameters: [BigInt(text)] })),
  fc
    .constantFrom(
      0.1,
      19.99,
      -0.1,
      2.5,
      7,
      -129,
      2 ** 53 - 1,
      Number.NaN,
      Infinity,
      -Infinity,
      0.1 + 0.2,
      1e-30,
    )
    .map(value => ({
      text: '?',
      parameters: [value],
      at: (_: Row, type: DataType) =>
        beside(Number.isFinite(value) ? ofText(String(value)) : ofDouble(value), value, type),
    })),
  fc.constantFrom('0.1', '19.99', '0.10000000000000000001', '99999999999999999999').map(text => ({
    text: `CAST('${text}' AS decimal(60, 20))`,
    at: () => ofText(text),
  })),
  fc.constantFrom(0.1, 1e300, 2 ** 53, 0.5).map(value => ({
    text: `CAST('${value}' AS double)`,
    at: (_: Row, type: DataType) => beside(ofDouble(value), value, type),
  })),
)

const holds: Readonly<Record<string, (order: number) => boolean>> = {
  '=': order => order === 0,
  '<>': order => order !== 0,
  '<': order => order < 0,
  '<=': order => order <= 0,
  '>': order => order > 0,
  '>=': order => order >= 0,
}

/** A condition, and its truth in a row. */
interface Condition {
  readonly text: string
  readonly parameters: readonly ParameterValue[]
  readonly truth: (row: Row) => boolean | null
}

type Truth = boolean | null
const and = (a: Truth, b: Truth): Truth =>
  a === false || b === false ? false : a === null || b === null ? null : true
const or = (a: Truth, b: Truth): Truth =>
  a === true || b === true ? true : a === null || b === null ? null : false
const parametersOf = (sides: readonly Side[]) => sides.flatMap(side => side.parameters ?? [])

function compared(op: string, left: Side, name: string, right: Side): (row: Row) => Truth {
  return row => {
    const [a, b] = [left.at(row, types[name]!), right.at(row, types[name]!)]
    return a === null || b === null ? null : holds[op]!(order(a, b))
  }
}

const otherSide = fc.oneof(fc.constantFrom(...columns).map(columnSide), constantSides, constantSides)

const conditions: fc.Arbitrary<Condition> = fc.constantFrom(...columns).chain(name => {
  const left = columnSide(name)
  const comparison = fc.tuple(fc.constantFrom(...Object.keys(holds)), otherSide, fc.boolean()).map(
    ([op, right, isMirrored]): Condition => ({
      text: isMirrored ? `${right.text} ${op} ${name}` : `${name} ${op} ${right.text}`,
      parameters: parametersOf([right]),
      truth: isMirrored ? compared(op, right, name, left) : compared(op, left, name, right),
    }),
  )
  const range = fc.tuple(otherSide, otherSide).map(
    ([low, high]): Condition => ({
      text: `${name} BETWEEN ${low.text} AND ${high.text}`,
      parameters: parametersOf([low, high]),
      truth: row => and(compared('>=', left, name, low)(row), compared('<=', left, name, high)(row)),
    }),
  )
  const list = fc.array(otherSide, { minLength: 1, maxLength: 4 }).map(
    (members): Condition => ({
      text: `${name} IN (${members.map(({ text }) => text).join(', ')})`,
      parameters: parametersOf(members),
      truth: row => members.map(member => compared('=', left, name, member)(row)).reduce(or, false),
    }),
  )
  const distinct = fc.tuple(fc.constantFrom('', 'NOT '), otherSide).map(
    ([not, right]): Condition => ({
      text: `${name} IS ${not}DISTINCT FROM ${right.text}`,
      parameters: parametersOf([right]),
      truth: row => {
        const [a, b] = [left.at(row, types[name]!), right.at(row, types[name]!)]
        const isSame = a === null || b === null ? a === b : order(a, b) === 0
        return isSame === (not !== '')
      },
    }),
  )
  return fc.oneof(comparison, comparison, comparison, range, list, distinct)
})

const negated: fc.Arbitrary<Condition> = conditions.map(({ text, parameters, truth }) => ({
  text: `NOT (${text})`,
  parameters,
  truth: row => {
    const value = truth(row)
    return value === null ? null : !value
  },
}))

describe('numbers of all types, column and column, column and constant', () => {
  let ns: Namespace
  beforeAll(async () => {
    ns = await connect('memory://', { maintenance: { compact: false } })
  })
  afterAll(() => ns.close())

  const schema = {
    fields: [
      { name: 'id', type: parseArrowType('Int32')!, nullable: false },
      ...columns.map(name => ({ name, type: types[name]!, nullable: true })),
    ],
  }

  /** Several fragments, the first of which hold small numbers only, so that their zones tell them apart. */
  async function filled(name: string, rows: readonly Row[]): Promise<Table> {
    const objects = rows.map((row, id) => ({
      id,
      ...Object.fromEntries(columns.map(column => [column, given(row[column]!, types[column]!)])),
    }))
    const size = Math.ceil(objects.length / 4)
    const table = await ns.createTable(name, objects.slice(0, size), { schema })
    for (let at = size; at < objects.length; at += size) await table.add(objects.slice(at, at + size))
    return table
  }

  test('compare as fractions do, with and without indexes', { timeout: 120_000 }, async () => {
    const rowsOf = fc.array(fc.record(Object.fromEntries(columns.map(name => [name, anyOf(types[name]!)]))), {
      minLength: 120,
      maxLength: 120,
    })
    const size = (row: Row) => Number(row.f64 ?? 0)
    const rows = fc
      .sample(rowsOf, { numRuns: 1, seed: 7 })[0]!
      .toSorted((a, b) => Math.abs(size(a as Row)) - Math.abs(size(b as Row))) as Row[]
    const tables = [await filled('plain', rows), await filled('indexed', rows)]
    await Promise.all(
      columns.map((column, i) =>
        tables[1]!.createIndex(column, { type: i % 3 === 2 ? 'BITMAP' : 'BTREE', waitTimeoutMs: 60_000 }),
      ),
    )
    await fc.assert(
      fc.asyncProperty(fc.oneof(conditions, conditions, negated), async ({ text, parameters, truth }) => {
        const expected = rows.flatMap((row, id) => (truth(row) === true ? [id] : []))
        for (const table of tables) {
          const search = table.query().where(text, parameters).select(['id'])
          const found = (await search.limit(1000).toArray()).map(({ id }) => id as number)
          expect(found.sort((a, b) => a - b)).toEqual(expected)
        }
      }),
      { numRuns: 400 },
    )
  })
})

describe('a number', () => {
  let ns: Namespace
  let table: Table
  const ids = async (where: string, parameters: readonly ParameterValue[] = []) =>
    (await table.query().where(where, parameters).select(['id']).limit(100).toArray()).map(({ id }) => id)
  const value = async (text: string): Promise<unknown> => {
    const [row] = await table.query().select({ x: text }).limit(1).toArray()
    return (row as Readonly<Record<string, unknown>>).x
  }

  beforeAll(async () => {
    ns = await connect('memory://')
    const column = (name: string, type: string) => ({ name, type: parseArrowType(type)!, nullable: true })
    const schema = {
      fields: [
        column('id', 'Int32'),
        column('i', 'Int64'),
        column('d', 'Decimal128(20, 0)'),
        column('f', 'Float64'),
      ],
    }
    const rows = [
      { id: 1, i: -(2n ** 63n), d: '18446744073709551617', f: 0.5 },
      { id: 2, i: 2n ** 53n + 1n, d: '18446744073709551616', f: 2 ** 53 },
      { id: 3, i: 2n ** 53n, d: '9007199254740993', f: 9007199254740992 },
    ]
    table = await ns.createTable('t', rows, { schema })
  })
  afterAll(() => ns.close())

  test('beyond 64 bits finds exactly the rows that hold it', async () => {
    expect(await ids('d = 18446744073709551617')).toEqual([1])
    expect(await ids('d IN (18446744073709551616, 5)')).toEqual([2])
    expect(await ids('d BETWEEN 18446744073709551617 AND 99999999999999999999999')).toEqual([1])
    expect(await ids('d = ?', [18446744073709551617n])).toEqual([1])
  })

  test('beyond the range of a column is less or greater than all of its values', async () => {
    expect(await ids('i = -9223372036854775809')).toEqual([])
    expect(await ids('i > -9223372036854775809')).toEqual([1, 2, 3])
    expect(await ids(`i < 1${'0'.repeat(500)}`)).toEqual([1, 2, 3])
    expect(await ids(`f < 1${'0'.repeat(309)}`)).toEqual([1, 2, 3])
    expect(await ids('f = 1e400')).toEqual([])
  })

  test('with a decimal point is compared with an integer column digit by digit', async () => {
    expect(await ids('i = 9007199254740993.0')).toEqual([2])
    expect(await ids('i = 9007199254740992.00000000000000000001')).toEqual([])
  })

  test('of a float column is compared with a decimal column as it is', async () => {
    expect(await ids('f = d')).toEqual([])
    expect(await ids('f < d')).toEqual([1, 2, 3])
    expect(await ids('d > f AND d <> f')).toEqual([1, 2, 3])
  })

  test('is cast and computed with all its digits', async () => {
    const long = '12345678901234567890123456789012345678'
    expect(await value(`cast(cast(${long} as decimal(38, 0)) as string)`)).toBe(long)
    expect(await value('cast(18446744073709551616 + 1 as string)')).toBe('18446744073709551617')
    expect(await value("cast(ceil(cast('99.99' as decimal(4, 2))) as string)")).toBe('100')
  })

  test('is stored with all its digits by an update', async () => {
    const fields = Object.entries({ id: 'Int32', d: 'Decimal256(60, 30)', n: 'Int64' }).map(
      ([name, type]) => ({
        name,
        type: parseArrowType(type)!,
        nullable: true,
      }),
    )
    const copy = await ns.createTable('copy', [{ id: 1, d: '0.5', n: 1 }], { schema: { fields } })
    const stored = async () =>
      (await copy.query().select({ d: 'cast(d as string)', n: 'n' }).toArray())[0] as {
        d: string
        n: number
      }
    for (const text of ['18446744073709551617', '0.123456789012345678901234567891']) {
      await copy.update({ d: sqlOf(text) })
      expect((await stored()).d.replace(/\.0+$/, '')).toBe(text)
    }
    await copy.update({ n: sqlOf('1.7 * 2') })
    expect((await stored()).n).toBe(3)
    await copy.update({ n: sqlOf('-d * 1000') }, sqlOf('id = 1'))
    expect((await stored()).n).toBe(-123)
    await expect(copy.update({ n: sqlOf('1e300') })).rejects.toMatchObject({ code: 13 })
  })

  test.each([
    ['i = ?', [2 ** 53 + 2]],
    ['d IN (?)', [1e20]],
    ['i IN ?', [[1, 2 ** 53]]],
    ['i IN ?', [Float64Array.from({ length: 100 }, (_, n) => 2 ** 53 + n * 2)]],
    ['i BETWEEN ? AND 5', [-(2 ** 53)]],
    ['i + ? > 0', [2 ** 60]],
    ['? = ?', [2 ** 53, 2 ** 53]],
    ['abs(?) > 1', [2 ** 53]],
    ['CAST(? AS bigint) = i', [2 ** 53]],
    ['array_has([i], ?)', [2 ** 53]],
    ['coalesce(i, ?) = 1', [2 ** 53]],
  ] as const)(
    'of JavaScript beyond 2^53 is refused where it may have lost digits: %s',
    async (where, values) => {
      await expect(ids(where, values as never)).rejects.toMatchObject({
        code: 13,
        hint: expect.stringContaining('pass a bigint'),
      })
    },
  )

  test('of JavaScript beyond 2^53 is its double next to a float', async () => {
    expect(await ids('f = ?', [2 ** 53])).toEqual([2, 3])
    expect(await ids('f IN (?, 1)', [2 ** 53])).toEqual([2, 3])
    expect(await ids('f < ?', [1e300])).toEqual([1, 2, 3])
    expect(await ids('f * 2 = ?', [2 ** 54])).toEqual([2, 3])
    expect(await ids('f = CAST(? AS double)', [2 ** 53])).toEqual([2, 3])
    expect(await ids('coalesce(f, ?) = f', [2 ** 53])).toEqual([1, 2, 3])
    expect(await ids('i < ?', [Infinity])).toEqual([1, 2, 3])
    await expect(ids('i = ?', [9007199254740993n])).resolves.toEqual([2])
  })

  test('of JavaScript beyond 2^53 is an element of a list of floats, and of no other', async () => {
    const fields = Object.entries({ v: 'FixedSizeList(2, Float32)', l: 'List(Float64)', n: 'List(Int64)' })
    const schema = {
      fields: fields.map(([name, type]) => ({ name, type: parseArrowType(type)!, nullable: true })),
    }
    const lists = await ns.createTable('lists', [{ v: [0, 0], l: [0], n: [1n] }], { schema })
    await lists.update({ v: [2 ** 60, 1.5], l: [1e300, 2] })
    const found = lists.query().where('l = ? AND array_has(l, ?)', [[1e300, 2], 1e300])
    expect(await found.toArray()).toHaveLength(1)
    const [row] = await lists.query().select({ a: 'v[1]', b: 'v[2]' }).toArray()
    expect(row).toEqual({ a: 2 ** 60, b: 1.5 })
    await expect(lists.update({ n: [2 ** 60] })).rejects.toMatchObject({ code: 13 })
    await expect(
      lists
        .query()
        .where('n = ?', [[2 ** 60]])
        .toArray(),
    ).rejects.toMatchObject({ code: 13 })
    await expect(
      lists
        .query()
        .where('array_has(n, ?)', [2 ** 60])
        .toArray(),
    ).rejects.toMatchObject({ code: 13 })
  })

  test.each([
    ['1.7', 1],
    ['-1.7', -1],
    ['2147483647.9', 2147483647],
    ["cast('2.99' as decimal(4, 2))", 2],
    ['f', 0],
  ])('%s is cut toward zero by a CAST to an integer', async (text, expected) => {
    expect(await value(`cast(${text} as int)`)).toBe(expected)
    expect(await value(`try_cast(${text} as int)`)).toBe(expected)
  })

  test.each(["cast('nan' as double)", '1e300', '2147483648.0', 'f * 1e300'])(
    '%s fits no integer: an error, and NULL with TRY_CAST',
    async text => {
      await expect(value(`cast(${text} as int)`)).rejects.toMatchObject({ code: 13 })
      expect(await value(`try_cast(${text} as int)`)).toBe(null)
    },
  )

  test('is not changed on the way to a column of another type', async () => {
    await ns.createTable('halves', [{ x: 1.5 }])
    const halves = await ns.openTable('halves')
    await expect(halves.alterColumns({ x: { type: 'int64' } })).rejects.toMatchObject({ code: 13 })
  })
})

describe('a text compared with a decimal is its number, with all its digits', () => {
  let ns: Namespace
  let table: Table
  beforeAll(async () => {
    ns = await connect('memory://')
    const schema = {
      fields: [{ name: 'amount', type: parseArrowType('Decimal128(38, 2)')!, nullable: true }],
    }
    table = await ns.createTable('t', [{ amount: '1.10' }, { amount: '90071992547409931234.05' }], { schema })
  })
  afterAll(() => ns.close())

  test.each<[string, readonly ParameterValue[], number]>([
    ['amount = ?', ['1.1'], 1],
    ['amount = ?', ['90071992547409931234.05'], 1],
    ['amount > ?', ['90071992547409931234.049'], 1],
    ['amount > ?', ['90071992547409931234.05'], 0],
    ['amount IN ?', [['1.100', '2', '1.101']], 1],
    ['amount BETWEEN ? AND ?', ['1.099', '1.101'], 1],
    ["amount <> '1.10'", [], 1],
  ])('%s %j', async (filter, values, count) => {
    expect(await table.countRows(filter, values.length === 0 ? undefined : values)).toBe(count)
  })

  test('a text that is not a number, or has too many digits for the column, is refused', async () => {
    await expect(table.countRows('amount = ?', ['1,10'])).rejects.toMatchObject({ code: 20 })
    for (const amount of ['1.105', '1.10000000000000000001', '1e40', 'x']) {
      await expect(table.update({ amount })).rejects.toMatchObject({ code: 20 })
    }
  })

  test('an update sets it', async () => {
    const copy = await ns.createTable('u', [], { schema: await table.schema() })
    await copy.add(await table.query().toArray())
    await copy.update({ amount: '90071992547409931234.15' }, 'amount = ?', ['1.10'])
    const rows = await copy.query().orderBy('amount').toArray()
    expect(rows.map(({ amount }) => amount)).toEqual(['90071992547409931234.05', '90071992547409931234.15'])
  })
})

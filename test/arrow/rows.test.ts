import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Batch } from '../../src/arrow/column.js'
import { inferType, mergeTypes, SpreadLimit } from '../../src/arrow/infer-type.js'
import { Place } from '../../src/arrow/place.js'
import { type RowsOptions, roughBytes, rowsToBatch, rowsToBatches } from '../../src/arrow/rows.js'
import type { DataType, Field, Schema } from '../../src/arrow/types.js'
import { batchToRows } from '../../src/arrow/values.js'
import { ErrorCode, SheafError } from '../../src/errors.js'

const typesOf = (rows: object[]): Record<string, DataType> =>
  Object.fromEntries(rowsToBatch(rows).schema.fields.map(field => [field.name, field.type]))

const item = (type: DataType): Field => ({ name: 'item', type, nullable: true })
const float = (bits: 16 | 32 | 64): DataType => ({ kind: 'float', bits })
const int = (bits: 8 | 16 | 32 | 64, signed = true): DataType => ({ kind: 'int', bits, signed })
const utf8: DataType = { kind: 'utf8', large: false }
const vector = (size: number, type: DataType = float(32)): DataType => ({
  kind: 'fixed_size_list',
  size,
  child: item(type),
})
const list = (type: DataType): DataType => ({ kind: 'list', large: false, child: item(type) })

function refusal(run: () => unknown): SheafError {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(SheafError)
    return error as SheafError
  }
  throw new Error('nothing was refused')
}

describe('without a schema', () => {
  test.each<[string, unknown[], DataType]>([
    ['numbers', [1, 2.5], float(64)],
    ['bigints', [1n, null], int(64)],
    ['bigints past int64', [2n ** 64n - 1n, 0n], int(64, false)],
    ['whole numbers and bigints', [1, 2n, -3], int(64)],
    ['numbers and bigints that doubles hold', [0.5, 2n ** 60n], float(64)],
    ['a negative zero and a bigint', [-0, 1n], float(64)],
    ['booleans', [true, undefined], { kind: 'bool' }],
    ['strings', [null, 'a'], utf8],
    ['dates', [new Date(0)], { kind: 'timestamp', unit: 'ms', timezone: null }],
    ['bytes', [Uint8Array.of(1)], { kind: 'binary', large: false }],
    ['a Buffer', [Buffer.from('x')], { kind: 'binary', large: false }],
    ['nothing but null', [null, undefined], { kind: 'null' }],
    ['arrays of numbers of one length', [[1, 2], null, [3, 4]], list(float(64))],
    ['arrays of numbers and bigints', [[1, 2n]], list(int(64))],
    ['typed arrays', [Float32Array.of(1, 2, 3)], vector(3)],
    ['typed arrays of doubles', [Float64Array.of(1, 2)], vector(2, float(64))],
    ['typed arrays of bytes with a sign', [Int8Array.of(1, 2)], vector(2, int(8))],
    ['typed arrays of other numbers', [Int32Array.of(1, 2)], list(float(64))],
    ['typed arrays of several lengths and kinds', [Float32Array.of(1), [1, 2]], list(float(64))],
    ['typed arrays of several kinds', [Float64Array.of(1, 2), Int8Array.of(1, 2), [5, 6]], list(float(64))],
    ['arrays of one number', [[1], [2]], list(float(64))],
    ['arrays of several lengths', [[1, 2], [3]], list(float(64))],
    [
      'arrays with a null',
      [
        [1, null],
        [3, 4],
      ],
      list(float(64)),
    ],
    ['arrays of strings', [['a'], [], null], list(utf8)],
    ['empty arrays', [[], []], list({ kind: 'null' })],
    ['big typed arrays', [BigInt64Array.of(1n, 2n)], list(int(64))],
    ['big typed arrays without a sign', [BigUint64Array.of(2n ** 64n - 1n)], list(int(64, false))],
    [
      'arrays of vectors',
      [
        [
          [1, 2],
          [3, 4],
        ],
        [[5, 6]],
      ],
      list(list(float(64))),
    ],
    [
      'objects',
      [{ a: 1 }, { b: 'x' }],
      {
        kind: 'struct',
        children: [
          { name: 'a', type: float(64), nullable: true },
          { name: 'b', type: utf8, nullable: true },
        ],
      },
    ],
    [
      'dates of another realm',
      [runInNewContext('new Date(0)')],
      { kind: 'timestamp', unit: 'ms', timezone: null },
    ],
    ['arrays of another realm', [runInNewContext('[1, 2]')], list(float(64))],
    ['typed arrays of another realm', [runInNewContext('Float32Array.of(1, 2)')], vector(2)],
  ])('%s give their type', (_, values, type) => {
    expect(typesOf(values.map(value => ({ value })))).toEqual({ value: type })
  })

  test('the type depends on all rows, not on the first', () => {
    const { schema } = rowsToBatch([{}, { a: null }, { b: 1 }, { a: 'x' }])
    expect(schema.fields.map(field => [field.name, field.type.kind])).toEqual([
      ['a', 'utf8'],
      ['b', 'float'],
    ])
  })

  test.each<[string, object[], RegExp]>([
    [
      'mixed kinds',
      [{ a: 1 }, {}, { a: 'x' }],
      /^row 2: column "a" holds a string, but earlier rows hold a number$/,
    ],
    [
      'a fraction and a bigint that no double holds',
      [{ a: 0.5 }, { a: 2n ** 53n + 1n }],
      /^row 1: column "a" holds 9007199254740993n and fractional numbers, but float64 cannot store this bigint exactly$/,
    ],
    [
      'an integer past 64 bits',
      [{ a: 1n }, { a: 2n ** 64n }],
      /^row 1: column "a" holds 18446744073709551616n, which does not fit a 64-bit integer type$/,
    ],
    [
      'an integer past 64 bits after one past int64',
      [{ a: 2n ** 63n }, { a: 2n ** 65n }],
      /^row 1: column "a" holds 36893488147419103232n, which does not fit a 64-bit integer type$/,
    ],
    [
      'an integer before int64',
      [{ a: -(2n ** 63n) - 1n }],
      /^row 0: column "a" holds -9223372036854775809n, which does not fit a 64-bit integer type$/,
    ],
    [
      'an integer past int64 and a negative one',
      [{ a: -1 }, { a: 2n ** 63n }],
      /^row 1: column "a" holds 9223372036854775808n, which does not fit a 64-bit integer type that also has negative values$/,
    ],
    [
      'mixed kinds in a list',
      [{ a: ['x'] }, { a: ['y', 1] }],
      /^row 1: column "a\[\]" holds a number, but earlier rows hold a string$/,
    ],
    [
      'mixed kinds in a list of structs',
      [{ a: [{ b: 'x' }] }, { a: [{}, { b: 1 }] }],
      /^row 1: column "a\[\]\.b" holds a number/,
    ],
    ['a function', [{ a: () => 1 }], /^row 0: column "a" holds a function, which no column can contain$/],
    ['a Map', [{ a: new Map() }], /^row 0: column "a" holds a \[object Map\], which no column can contain$/],
    [
      'an ArrayBuffer',
      [{ a: new ArrayBuffer(1) }],
      /^row 0: column "a" holds a \[object ArrayBuffer\], which no column can contain$/,
    ],
    [
      'NaN in a vector',
      [{ vector: [1, 2] }, { vector: [1, Number.NaN] }],
      /^row 1: vector "vector" contains NaN$/,
    ],
    [
      'infinity in a typed vector',
      [{ v: Float32Array.of(1, Number.POSITIVE_INFINITY) }],
      /^row 0: vector "v" contains Infinity$/,
    ],
    [
      'vectors of several lengths',
      [{ vector: [1, 2] }, { vector: null }, { vector: [1] }],
      /^row 2: column "vector" holds a vector of 1 numbers, but row 0 holds a vector of 2$/,
    ],
    [
      'an empty vector among others',
      [{ v: Float32Array.of(1) }, { v: new Float32Array(0) }],
      /^row 1: column "v"/,
    ],
    [
      'null in a vector',
      [{ vector: [1, 2] }, { vector: [1, null] }],
      /^row 1: column "vector" holds a vector with a null element/,
    ],
    [
      'vectors of several lengths in a list of vectors',
      [{ vector: [[1, 2]] }, { vector: [[1, 2], [3]] }],
      /^row 1: column "vector\[\]" holds a vector of 1 numbers, but row 0 holds a vector of 2$/,
    ],
    ['a row that is an array', [[1]], /^row 0 is not an object of columns: \[1\]$/],
    ['a row that is bytes', [new Uint8Array(1)], /^row 0 is not an object/],
    ['an invalid date', [{ a: new Date(Number.NaN) }], /^row 0: column "a" is timestamp\(ms\), got null/],
  ])('%s are refused, naming column and row', (_, rows, words) => {
    expect(refusal(() => rowsToBatch(rows)).message).toMatch(words)
  })

  test('a row that is null is refused', () => {
    expect(refusal(() => rowsToBatch([null as unknown as object])).message).toMatch(/^row 0 is not an object/)
  })

  test('a list that contains itself ends in an error', () => {
    const once: unknown[] = []
    once.push(once)
    expect(refusal(() => rowsToBatch([{ a: once }])).message).toMatch(/nested deeper than 48 types/)
    const twice: unknown[] = []
    twice.push(twice, twice)
    expect(refusal(() => rowsToBatch([{ a: twice }])).message).toMatch(/more than 33554432 list elements/)
    const object: Record<string, unknown> = {}
    object.x = object
    object.y = object
    expect(refusal(() => rowsToBatch([object])).message).toMatch(/more than 10000 columns|nested deeper/)
  })

  test('a float32 vector that overflows is refused', () => {
    const error = refusal(() => rowsToBatch([{ vector: [1, 1e300] }]))
    expect(error.message).toMatch(/^row 0: column "vector\[\]" is float32, got 1e\+300$/)
  })

  test('names that every object inherits are names like any other', () => {
    const rows = [JSON.parse('{"__proto__": 1, "constructor": "a", "toString": true}') as object, {}]
    const batch = rowsToBatch(rows)
    expect(batch.schema.fields.map(field => field.name)).toEqual(['__proto__', 'constructor', 'toString'])
    const [first, second] = batchToRows(batch)
    expect(Object.getPrototypeOf(first)).toBe(Object.prototype)
    expect(JSON.stringify(first)).toBe('{"__proto__":1,"constructor":"a","toString":true}')
    expect(JSON.stringify(second)).toBe('{"__proto__":null,"constructor":null,"toString":null}')
  })

  test('no rows give no columns', () => {
    expect(rowsToBatch([])).toEqual({ schema: { fields: [] }, length: 0, columns: [] })
    expect(rowsToBatch([{}, {}])).toMatchObject({ length: 2, columns: [] })
  })
})

describe('with a schema', () => {
  const schemaOf = (type: DataType, nullable = true): Schema => ({ fields: [{ name: 'c', type, nullable }] })
  const roundTrip = (type: DataType, value: unknown): unknown =>
    batchToRows(rowsToBatch([{ c: value }], schemaOf(type)), { int64: 'bigint' })[0]!.c
  const decimal: DataType = { kind: 'decimal', bits: 128, precision: 5, scale: 2 }
  const timestamp = (unit: 's' | 'ms' | 'us' | 'ns'): DataType => ({
    kind: 'timestamp',
    unit,
    timezone: null,
  })
  const time = (unit: 's' | 'ms' | 'us' | 'ns'): DataType => ({ kind: 'time', unit })
  const date = (unit: 'day' | 'ms'): DataType => ({ kind: 'date', unit })
  const map: DataType = {
    kind: 'map',
    keysSorted: false,
    child: {
      name: 'entries',
      nullable: false,
      type: {
        kind: 'struct',
        children: [
          { name: 'key', type: utf8, nullable: false },
          { name: 'value', type: int(32), nullable: true },
        ],
      },
    },
  }
  const words = {
    kind: 'dictionary',
    index: { kind: 'int', bits: 8, signed: true },
    value: utf8,
    ordered: false,
  } as const

  test.each<[string, DataType, unknown, unknown]>([
    ['a whole number', int(8), -128, -128],
    ['a bigint in range', int(32), 7n, 7],
    ['a whole number as int64', int(64), 2 ** 53 - 1, 2n ** 53n - 1n],
    ['a bigint as uint64', int(64, false), 2n ** 64n - 1n, 2n ** 64n - 1n],
    ['a number as float16', float(16), 0.1, 0.0999755859375],
    ['NaN as float32', float(32), Number.NaN, Number.NaN],
    ['text as large text', { kind: 'utf8', large: true }, 'é', 'é'],
    [
      'bytes of the right width',
      { kind: 'fixed_size_binary', width: 2 },
      Uint8Array.of(1, 2),
      Uint8Array.of(1, 2),
    ],
    ['a decimal text', decimal, '-1.5', '-1.50'],
    ['a decimal number', decimal, 0.1, '0.10'],
    ['a decimal bigint', decimal, 12n, '12.00'],
    ['a decimal with exponent', decimal, '1.2e2', '120.00'],
    ['a Date', timestamp('us'), new Date(5), new Date(5)],
    ['a count', timestamp('s'), 3, new Date(3000)],
    ['a count finer than Date', timestamp('ns'), 1n, 1n],
    ['ISO text', timestamp('ns'), '2024-02-29T12:00:00.000000001+02:00', 1709200800000000001n],
    ['ISO text without an offset', timestamp('ms'), '2024-02-29 12:00', new Date('2024-02-29T12:00Z')],
    ['a day as text', date('day'), '1970-01-03', new Date(172_800_000)],
    ['a day as Date', date('ms'), new Date(86_400_000), new Date(86_400_000)],
    ['a day as count', date('day'), -1, new Date(-86_400_000)],
    ['a time as text', time('ms'), '01:02:03.5', 3_723_500],
    ['a time as count', time('ns'), 5, 5n],
    ['a duration', { kind: 'duration', unit: 'us' }, -5, -5n],
    ['months', { kind: 'interval', unit: 'year_month' }, -14, -14],
    [
      'days and milliseconds',
      { kind: 'interval', unit: 'day_time' },
      { days: 1, milliseconds: -2 },
      { days: 1, milliseconds: -2 },
    ],
    [
      'months, days and nanoseconds',
      { kind: 'interval', unit: 'month_day_nano' },
      { months: 1, days: 2, nanoseconds: 3 },
      { months: 1, days: 2, nanoseconds: 3n },
    ],
    ['an int8 vector', vector(2, int(8)), [1, -1], Int8Array.of(1, -1)],
    ['a uint8 vector from bytes', vector(2, int(8, false)), Uint8Array.of(1, 255), Uint8Array.of(1, 255)],
    ['a float16 vector', vector(2, float(16)), [0.5, 2], Float32Array.of(0.5, 2)],
    ['an int64 vector', vector(2, int(64)), [1, 2n], [1n, 2n]],
    ['a vector with a null', vector(2), [1, null], [1, null]],
    ['a vector with NaN', vector(2), [1, Number.NaN], Float32Array.of(1, Number.NaN)],
    ['a vector of texts', vector(2, utf8), ['a', 'b'], ['a', 'b']],
    ['a list from a typed array', list(int(16)), Uint8Array.of(1, 2), [1, 2]],
    ['a Map', map, new Map([['a', 1]]), [['a', 1]]],
    [
      'pairs',
      map,
      [
        ['a', 1],
        ['a', null],
      ],
      [
        ['a', 1],
        ['a', null],
      ],
    ],
    ['an object as map', map, { a: 1 }, [['a', 1]]],
    ['a word', words, 'x', 'x'],
    ['null', int(8), undefined, null],
  ])('%s is taken', (_, type, value, read) => {
    expect(roundTrip(type, value)).toEqual(read)
  })

  test.each<[string, DataType, unknown, RegExp]>([
    ['a fraction', int(32), 1.5, /^row 0: column "c" is int32, got 1.5$/],
    ['a number out of range', int(8), 128, /is int8, got 128/],
    ['a bigint out of range', int(64), 2n ** 63n, /is int64, got 9223372036854775808n/],
    ['a negative unsigned', int(64, false), -1, /is uint64, got -1/],
    ['an unsafe number', int(64), 2 ** 53, /is int64, got 9007199254740992/],
    ['text as a number', int(32), '1', /is int32, got "1"/],
    ['a bigint that is no float', float(64), 2n ** 53n + 1n, /is float64, got 9007199254740993n/],
    ['a float32 overflow', float(32), 1e300, /is float32, got 1e\+300/],
    ['a float16 overflow', float(16), 65520, /is float16, got 65520/],
    ['a number as text', utf8, 1, /is utf8, got 1/],
    ['a number as boolean', { kind: 'bool' }, 1, /is bool, got 1/],
    ['text as bytes', { kind: 'binary', large: false }, 'x', /is binary, got "x"/],
    [
      'bytes of another width',
      { kind: 'fixed_size_binary', width: 2 },
      Uint8Array.of(1),
      /^row 0: column "c" needs 2 bytes, got 1$/,
    ],
    ['a decimal that would round', decimal, 0.125, /is decimal128\(5, 2\), got 0.125/],
    ['a decimal too large', decimal, 1000, /is decimal128\(5, 2\), got 1000/],
    ['no decimal', decimal, '1x', /got "1x"/],
    [
      'a decimal of a number beyond 2^53',
      { ...decimal, precision: 38, scale: 0 } as DataType,
      2 ** 53 + 2,
      /is decimal128\(38, 0\), got 9007199254740994$/,
    ],
    ['a Date too fine', timestamp('s'), new Date(5), /is timestamp\(s\), got/],
    ['a date that does not exist', timestamp('ms'), '2023-02-29', /got "2023-02-29"/],
    ['a timestamp out of range', timestamp('ns'), '2500-01-01', /got "2500-01-01"/],
    ['a Date within a day', date('day'), new Date(1), /is date32, got/],
    ['a count within a day', date('ms'), 1, /is date64, got 1/],
    ['a time past midnight', time('s'), 86_400, /is time\(s\), got 86400/],
    ['text as a duration', { kind: 'duration', unit: 's' }, '1', /is duration\(s\), got "1"/],
    ['half a month', { kind: 'interval', unit: 'year_month' }, 0.5, /is interval\(year_month\), got 0.5/],
    ['a vector of another length', vector(4), [1, 2, 3], /^row 0: column "c" needs 4 values, got 3$/],
    ['a vector of texts for numbers', vector(2), ['a', 'b'], /^row 0: column "c\[\]" is float32, got "a"$/],
    ['an int8 vector out of range', vector(2, int(8)), [1, 128], /^row 0: column "c\[\]" is int8, got 128$/],
    ['no list', list(utf8), 'a', /is list<utf8>, got "a"/],
    ['no map', map, [['a']], /is map<utf8, int32>, got/],
    ['a map without a key', map, [[null, 1]], /^row 0: column "c\[\]\.key" is null, but is not nullable$/],
    ['a value for null', { kind: 'null' }, 1, /is null, got 1/],
  ])('%s is refused', (_, type, value, message) => {
    const error = refusal(() => rowsToBatch([{ c: value }], schemaOf(type)))
    expect(error.message).toMatch(message)
    expect(error.code).toBe(ErrorCode.SchemaValidation)
  })

  test('a missing nullable column is null, any other missing column is an error', () => {
    expect(batchToRows(rowsToBatch([{}], schemaOf(utf8)))).toEqual([{ c: null }])
    const error = refusal(() => rowsToBatch([{ c: 'x' }, {}], schemaOf(utf8, false)))
    expect(error).toMatchObject({
      code: ErrorCode.SchemaValidation,
      message: 'row 1: column "c" is null, but is not nullable',
    })
  })

  test('a child that may not be null may be missing if its parent is null', () => {
    const inner: Field[] = [{ name: 'x', type: utf8, nullable: false }]
    const struct: DataType = { kind: 'struct', children: inner }
    expect(batchToRows(rowsToBatch([{ c: null }, { c: { x: 'a' } }], schemaOf(struct)))).toEqual([
      { c: null },
      { c: { x: 'a' } },
    ])
    expect(refusal(() => rowsToBatch([{ c: { x: 'a' } }, { c: {} }], schemaOf(struct))).message).toBe(
      'row 1: column "c.x" is null, but is not nullable',
    )
    const pair: DataType = {
      kind: 'fixed_size_list',
      size: 2,
      child: { name: 'item', type: utf8, nullable: false },
    }
    expect(batchToRows(rowsToBatch([{ c: null }, { c: ['a', 'b'] }], schemaOf(pair)))).toEqual([
      { c: null },
      { c: ['a', 'b'] },
    ])
    expect(refusal(() => rowsToBatch([{ c: null }, { c: ['a', null] }], schemaOf(pair))).message).toBe(
      'row 1: column "c[]" is null, but is not nullable',
    )
  })

  test('an unknown key is refused with the nearest name', () => {
    const schema: Schema = {
      fields: [
        { name: 'title', type: utf8, nullable: true },
        {
          name: 'at',
          type: { kind: 'struct', children: [{ name: 'lat', type: float(64), nullable: true }] },
          nullable: true,
        },
      ],
    }
    const error = refusal(() => rowsToBatch([{ title: 'a' }, { tilte: 'b' }], schema))
    expect(error).toMatchObject({
      message: 'row 1 has the unknown key "tilte"',
      hint: 'did you mean "title"?',
    })
    expect(refusal(() => rowsToBatch([{ at: { lon: 1 } }], schema)).message).toBe(
      'row 0: column "at" has the unknown key "lon"',
    )
  })

  test('a dictionary holds each value once, in order of appearance', () => {
    const { columns } = rowsToBatch([{ c: 'b' }, { c: null }, { c: 'a' }, { c: 'b' }], schemaOf(words))
    expect([...(columns[0]!.values as Int8Array)]).toEqual([0, 0, 1, 0])
    expect(columns[0]!.dictionary!.length).toBe(2)
    const many = Array.from({ length: 129 }, (_, i) => ({ c: `w${i}` }))
    expect(refusal(() => rowsToBatch(many, schemaOf(words))).message).toMatch(
      /^row 128: column "c" has more than 128 distinct values, the maximum for its int8 indices$/,
    )
  })

  test('a schema that names a column twice is refused', () => {
    const twice: Schema = { fields: [...schemaOf(utf8).fields, ...schemaOf(utf8).fields] }
    expect(refusal(() => rowsToBatch([], twice)).message).toMatch(/two columns with the same name/)
  })

  test('metadata of schema and fields stays', () => {
    const schema: Schema = {
      fields: [{ name: 'c', type: utf8, nullable: true, metadata: { a: 'b' } }],
      metadata: { k: 'v' },
    }
    expect(rowsToBatch([], schema).schema).toEqual(schema)
  })
})

describe('many rows', () => {
  test('the approximate size of a row counts all its columns, also after a number', () => {
    const text = 'a'.repeat(1000)
    expect(roughBytes({ id: 1, text })).toBeGreaterThan(2000)
    expect(roughBytes({ id: 1, text })).toBe(roughBytes({ text, id: 1 }))
    expect(roughBytes({ vector: [1, 2, 3] })).toBe(8 + 3 * 8)
  })

  const values = fc.oneof(
    fc.constantFrom<unknown>(
      null,
      [],
      [1, 2],
      [3, 4],
      [1, 2, 3],
      [null],
      [1n],
      Float32Array.of(1, 2),
      Float64Array.of(1, 2),
      ['a'],
      [[1, 2]],
      [[1], [2]],
      [{ a: 1 }],
    ),
    fc.constantFrom<unknown>(
      { a: 1 },
      { a: null, b: 'x' },
      { b: [1, 2] },
      1,
      1n,
      2n ** 63n,
      'x',
      true,
      new Date(0),
      Uint8Array.of(1),
    ),
  )
  const outcome = (run: () => unknown): unknown => {
    try {
      return run()
    } catch {
      return 'refused'
    }
  }

  test('types inferred part by part and merged are the types of all rows', () => {
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 6 }), list => {
        const infer = (some: readonly unknown[]): DataType =>
          inferType(some, Place.column('c'), new SpreadLimit())
        const merged = outcome(() => {
          const parts = list.map(value => infer([value]))
          return parts.reduce<DataType | null>((a, b) => (a === null ? null : mergeTypes(a, b)), {
            kind: 'null',
          })
        })
        // Null: only a look at all values tells.
        if (merged !== null) expect(merged).toEqual(outcome(() => infer(list)))
      }),
      { numRuns: 2000 },
    )
  })

  test('whose parts disagree on types are inferred together, once', async () => {
    const values = [1, 2n, 0.5, 3n, Float32Array.of(1, 2), Float64Array.of(1, 2)]
    const rows = Array.from({ length: 6000 }, (_, i) => ({
      a: values[Math.floor(i / 1500)],
      list: values[4 + Math.floor(i / 3000)],
      int: i < 3000 ? i : BigInt(i),
    }))
    const { schema } = await converted(rows)
    expect(schema.fields.map(({ type }) => type)).toEqual([float(64), list(float(64)), int(64)])
  })

  /** All batches of rows that come in pieces. */
  async function converted(rows: readonly object[], options: RowsOptions = {}) {
    async function* pieces() {
      for (let at = 0; at < rows.length; at += 1024) yield rows.slice(at, at + 1024)
    }
    const { schema, batches } = await rowsToBatches(pieces(), options)
    const all: Batch[] = []
    for await (const batch of batches) all.push(batch)
    return { schema, batches: all }
  }

  test('give batches of one schema', async () => {
    const rows = Array.from({ length: 2500 }, (_, i) => (i < 2000 ? { id: i } : { id: i, v: [i, 1] }))
    const { schema, batches } = await converted(rows)
    expect(schema).toEqual(rowsToBatch(rows).schema)
    expect(batches.map(batch => batch.length)).toEqual([1024, 1024, 452])
    const whole = batches.flatMap(batch => batchToRows(batch))
    expect(whole).toEqual(batchToRows(rowsToBatch(rows)))
    expect(await converted([], { schema })).toEqual({ schema, batches: [] })
  })

  test('with a row that does not fit give an error with its number', async () => {
    const mixed = Array.from({ length: 3000 }, (_, i) => ({ id: i === 2100 ? 'x' : i }))
    const words = /^row 2100: column "id" holds a string, but earlier rows hold a number$/
    await expect(converted(mixed)).rejects.toThrow(words)
    expect(() => rowsToBatch(mixed)).toThrow(words)
    const schema: Schema = { fields: [{ name: 'id', type: float(64), nullable: false }] }
    await expect(converted(mixed, { schema })).rejects.toThrow(/^row 2100: column "id" is float64, got "x"$/)
    const unknown = Array.from({ length: 3000 }, (_, i) => (i === 2999 ? { id: i, no: 1 } : { id: i }))
    await expect(converted(unknown, { schema })).rejects.toThrow(/^row 2999 has the unknown key "no"$/)
    const nan = Array.from({ length: 1500 }, (_, i) => ({ vector: [1, i === 1400 ? Number.NaN : 2] }))
    await expect(converted(nan)).rejects.toThrow(/^row 1400: vector "vector" contains NaN$/)
    const short = Array.from({ length: 1500 }, (_, i) => ({ vector: i < 1400 ? [1, 2] : [1] }))
    await expect(converted(short)).rejects.toThrow(/^row 1400: column "vector" holds a vector of 1 numbers/)
  })

  test('stop at the abort signal, and yield to the event loop', async () => {
    const rows = Array.from({ length: 100_000 }, (_, i) => ({ id: i, text: `row ${i}` }))
    const controller = new AbortController()
    const reason = new Error('enough')
    setImmediate(() => controller.abort(reason))
    await expect(converted(rows, { signal: controller.signal })).rejects.toBe(reason)
  })
})

describe('rows survive a round trip', () => {
  const scalar = fc.oneof(fc.double(), fc.constant(null))
  const row = fc.record({
    number: scalar,
    numbers: fc.oneof(fc.array(fc.double(), { minLength: 2, maxLength: 2 }), fc.constant(null)),
    both: fc.oneof(fc.maxSafeInteger(), fc.constant(null)),
    big: fc
      .oneof(fc.bigInt({ min: -(2n ** 53n) + 1n, max: 2n ** 53n - 1n }).map(Number), fc.constant(null))
      .map(n => (n === null ? null : BigInt(n))),
    text: fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constant(null)),
    flag: fc.oneof(fc.boolean(), fc.constant(null)),
    when: fc.oneof(fc.date({ noInvalidDate: true }), fc.constant(null)),
    bytes: fc.oneof(fc.uint8Array(), fc.constant(null)),
    vector: fc.oneof(
      fc.float32Array({ minLength: 5, maxLength: 5, noNaN: true, noDefaultInfinity: true }),
      fc.constant(null),
    ),
    words: fc.oneof(fc.array(fc.oneof(fc.string(), fc.constant(null))), fc.constant(null)),
    nested: fc.oneof(
      fc.record({ a: fc.oneof(fc.string(), fc.constant(null)), b: fc.array(fc.boolean()) }),
      fc.constant(null),
    ),
  })

  test('with any values', () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 30 }), rows => {
        const back = batchToRows(rowsToBatch(rows), { int64: 'bigint' })
        expect(back).toEqual(rows)
      }),
      { numRuns: 300 },
    )
  })

  test('and text of any length and script', () => {
    const texts = ['', 'a', 'é', '漢字', '😀', 'x'.repeat(1000), 'é'.repeat(500), null]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...texts), { minLength: 1, maxLength: 800 }), list => {
        const rows = list.map(text => ({ text }))
        expect(batchToRows(rowsToBatch([{ text: 'first' }, ...rows])).slice(1)).toEqual(rows)
      }),
      { numRuns: 60 },
    )
  })

  test.each([
    ['whose half is in the next row', [{ t: 'a\ud83d' }, { t: '\ude00b' }], 'row 0: column "t"', 1],
    ['of a long text', [{ t: 'x' }, { t: `${'é'.repeat(500)}\ude00` }], 'row 1: column "t"', 500],
    ['in a list', [{ t: ['a'] }, { t: ['b', '\ud83d'] }], 'row 1: column "t[]"', 0],
    ['in a struct', [{ t: { u: '\ud83d' } }], 'row 0: column "t.u"', 0],
  ])('a surrogate %s is refused', (_, rows, where, character) => {
    const half = `${where} holds half of a surrogate pair at character ${character} of`
    expect(() => rowsToBatch(rows)).toThrow(half)
  })

  test('a surrogate in a dictionary is refused in its first row', () => {
    const index = { kind: 'int', bits: 8, signed: true } as const
    const type = { kind: 'dictionary', index, value: { kind: 'utf8', large: false }, ordered: false } as const
    const rows = ['a', 'a', '\ud83d'].map(t => ({ t }))
    expect(() => rowsToBatch(rows, { fields: [{ name: 't', type, nullable: true }] })).toThrow(
      'row 2: column "t"',
    )
  })
})

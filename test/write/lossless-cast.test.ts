/** Casts on write, against exact arithmetic of single values: a cast changes no value, or names the first row whose value does not fit. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Place } from '../../src/arrow/place.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { typeName } from '../../src/arrow/type-name.js'
import type { DataType, Schema } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'
import { SheafError } from '../../src/errors.js'
import { castColumn, castRefusal } from '../../src/write/lossless-cast.js'
import { cellValue } from '../support/arrow-generators.js'

// ---- the oracle: numbers as fractions, instants as nanoseconds

/** `n / d`, both without common factors of two and ten as they come: equal numbers may differ, so `same` multiplies out. */
interface Fraction {
  readonly n: bigint
  readonly d: bigint
}

type Exact = Fraction | string | null

const power = (base: bigint, exponent: number) => base ** BigInt(exponent)

function fractionOfDouble(value: number): Exact {
  if (!Number.isFinite(value) || Object.is(value, -0)) return `float ${Object.is(value, -0) ? '-0' : value}`
  let exponent = 0
  let whole = value
  // Exact: only the exponent changes.
  while (!Number.isInteger(whole)) {
    whole *= 2
    exponent++
  }
  return { n: BigInt(whole), d: power(2n, exponent) }
}

function fractionOfText(text: string): Fraction {
  const [whole = '', part = ''] = text.split('.')
  return { n: BigInt(whole + part), d: power(10n, part.length) }
}

const nanos = { s: 1_000_000_000n, ms: 1_000_000n, us: 1000n, ns: 1n, day: 86_400_000_000_000n }

function exactOf(value: unknown, type: DataType): Exact {
  if (value === null) return null
  switch (type.kind) {
    case 'int':
      return { n: BigInt(value as number | bigint), d: 1n }
    case 'float':
      return fractionOfDouble(value as number)
    case 'decimal':
      return fractionOfText(value as string)
    case 'date':
    case 'timestamp':
      if (value instanceof Date) return { n: BigInt(value.getTime()) * nanos.ms, d: 1n }
      return { n: (value as bigint) * nanos[type.unit], d: 1n }
    case 'time':
    case 'duration':
      return { n: BigInt(value as number | bigint) * nanos[type.unit], d: 1n }
    case 'utf8':
      return `text ${value as string}`
    default:
      return `bytes ${Buffer.from(value as Uint8Array).toString('hex')}`
  }
}

function same(a: Exact, b: Exact): boolean {
  if (a === null || b === null || typeof a === 'string' || typeof b === 'string') return a === b
  return a.n * b.d === b.n * a.d
}

const bitsOf = (value: bigint) => value.toString(2).length

/** Whether a type has exactly that value. */
function holds(to: DataType, value: Exact): boolean {
  if (value === null) return true
  if (typeof value === 'string') {
    if (to.kind === 'float') return value.startsWith('float ')
    if (to.kind === 'fixed_size_binary') return value.length - 'bytes '.length === 2 * to.width
    return to.kind === 'utf8' ? value.startsWith('text ') : to.kind === 'binary'
  }
  const { n, d } = value
  const counts = (unit: bigint, bits: number, signed = true) => {
    if (n % (d * unit) !== 0n) return false
    const count = n / (d * unit)
    const [least, most] = signed
      ? [-power(2n, bits - 1), power(2n, bits - 1) - 1n]
      : [0n, power(2n, bits) - 1n]
    return count >= least && count <= most
  }
  switch (to.kind) {
    case 'int':
      return counts(1n, to.bits, to.signed)
    case 'decimal': {
      const scaled = to.scale >= 0 ? { n: n * power(10n, to.scale), d } : { n, d: d * power(10n, -to.scale) }
      return (
        scaled.n % scaled.d === 0n &&
        (scaled.n < 0n ? -scaled.n : scaled.n) / scaled.d < power(10n, to.precision)
      )
    }
    case 'float': {
      if (n === 0n) return true
      const [digits, least, greatest] = { 16: [11, -24, 16], 32: [24, -149, 128], 64: [53, -1074, 1024] }[
        to.bits
      ]!
      let [odd, exponent] = [n < 0n ? -n : n, 0]
      let rest = d
      for (; rest > 1n; rest /= 2n) {
        if (rest % 2n !== 0n) {
          if (odd % rest !== 0n) return false
          odd /= rest
          break
        }
        exponent--
      }
      for (; odd % 2n === 0n; odd /= 2n) exponent++
      return bitsOf(odd) <= digits! && exponent >= least! && bitsOf(odd) + exponent <= greatest!
    }
    case 'date':
      return counts(nanos[to.unit], to.unit === 'day' ? 32 : 64)
    case 'time':
      return counts(nanos[to.unit], to.unit === 's' || to.unit === 'ms' ? 32 : 64)
    default:
      return counts(nanos[(to as { unit: keyof typeof nanos }).unit], 64)
  }
}

// ---- types and values

const unit = fc.constantFrom('s' as const, 'ms' as const, 'us' as const, 'ns' as const)
const int = fc.record({
  kind: fc.constant('int' as const),
  bits: fc.constantFrom(8 as const, 16 as const, 32 as const, 64 as const),
  signed: fc.boolean(),
})
const float = fc.record({
  kind: fc.constant('float' as const),
  bits: fc.constantFrom(16 as const, 32 as const, 64 as const),
})
const decimal = fc.record({
  kind: fc.constant('decimal' as const),
  bits: fc.constantFrom(128 as const, 256 as const),
  precision: fc.integer({ min: 1, max: 38 }),
  scale: fc.integer({ min: -3, max: 10 }),
})
const families: Readonly<Record<string, fc.Arbitrary<DataType>>> = {
  'integers and floats': fc.oneof(int, float),
  'integers and decimals': fc.oneof(int, decimal),
  dates: fc.record({
    kind: fc.constant('date' as const),
    unit: fc.constantFrom('day' as const, 'ms' as const),
  }),
  times: fc.record({ kind: fc.constant('time' as const), unit }),
  timestamps: fc.record({ kind: fc.constant('timestamp' as const), unit, timezone: fc.constant(null) }),
  'timestamps of time zones': fc.record({
    kind: fc.constant('timestamp' as const),
    unit,
    timezone: fc.constantFrom('UTC', 'Europe/Paris'),
  }),
  durations: fc.record({ kind: fc.constant('duration' as const), unit }),
  texts: fc.record({ kind: fc.constant('utf8' as const), large: fc.boolean() }),
  bytes: fc.oneof(
    fc.record({ kind: fc.constant('binary' as const), large: fc.boolean() }),
    fc.record({ kind: fc.constant('fixed_size_binary' as const), width: fc.integer({ min: 0, max: 6 }) }),
  ),
}

/** Most values fit most types, some fit none. */
function anyValue(type: DataType): fc.Arbitrary<unknown> {
  const small = fc.integer({ min: 0, max: 100 })
  const any = cellValue(type)
  switch (type.kind) {
    case 'int':
      return fc.oneof(type.bits === 64 ? small.map(BigInt) : small, any)
    case 'float':
      return fc.oneof(
        small,
        small.map(value => value / 4),
        fc.constantFrom(-0, Number.NaN),
        any,
      )
    default:
      return any
  }
}

const column = (type: DataType, values: readonly unknown[]) => {
  const schema: Schema = { fields: [{ name: 'c', type, nullable: true }] }
  return rowsToBatch(
    values.map(c => ({ c })),
    schema,
  ).columns[0]!
}
const valuesIn = (cast: ReturnType<typeof column>) => columnValues(cast, { int64: 'bigint' })

describe.each(Object.entries(families))('%s', (_, family) => {
  test('a cast changes no value, or names the first row whose value does not fit', () => {
    const given = fc.tuple(family, family).chain(([from, to]) => {
      const value = fc.option(anyValue(from), { nil: null, freq: 5 })
      return fc.tuple(fc.constant(from), fc.constant(to), fc.array(value, { maxLength: 12 }))
    })
    fc.assert(
      fc.property(given, ([from, to, values]) => {
        fc.pre(from.kind !== 'fixed_size_binary' || to.kind !== from.kind || from.width === to.width)
        const input = column(from, values)
        const before = valuesIn(input).map(value => exactOf(value, from))
        const bad = before.findIndex(value => !holds(to, value))
        let made: ReturnType<typeof column>
        try {
          made = castColumn(input, { name: 'c', type: to, nullable: true }, Place.column('c', 100))
        } catch (error) {
          if (!(error instanceof SheafError)) throw error
          expect(error.code).toBe(20)
          expect(bad).toBeGreaterThanOrEqual(0)
          const text = `row ${100 + bad}: column "c" is ${typeName(to)}, which cannot represent `
          expect(error.message.startsWith(text) ? '' : error.message).toBe('')
          return
        }
        expect(bad).toBe(-1)
        expect(made.type).toEqual(to)
        const after = valuesIn(made).map(value => exactOf(value, to))
        expect(after.map((value, i) => same(value, before[i]!))).toEqual(values.map(() => true))
      }),
      { numRuns: 400 },
    )
  })
})

describe('types that are not cast to each other', () => {
  const text: DataType = { kind: 'utf8', large: false }
  const float64: DataType = { kind: 'float', bits: 64 }
  const utc: DataType = { kind: 'timestamp', unit: 'us', timezone: 'UTC' }
  test.each<[DataType, DataType]>([
    [text, float64],
    [float64, text],
    [{ kind: 'bool' }, { kind: 'int', bits: 8, signed: true }],
    [{ kind: 'decimal', bits: 128, precision: 5, scale: 2 }, float64],
    [float64, { kind: 'decimal', bits: 128, precision: 5, scale: 2 }],
    [utc, { kind: 'timestamp', unit: 'us', timezone: null }],
    [utc, { kind: 'date', unit: 'day' }],
    [text, { kind: 'binary', large: false }],
  ])('%j to %j', (from, to) => {
    expect(castRefusal(from, to, 'c')).toMatchObject({
      code: 20,
      message: `column "c" is ${typeName(to)}, but the rows have ${typeName(from)}`,
    })
  })
})

describe('types that hold others', () => {
  const item = (type: DataType, nullable = true) => ({ name: 'item', type, nullable })
  const float32: DataType = { kind: 'float', bits: 32 }
  const float64: DataType = { kind: 'float', bits: 64 }
  const int64: DataType = { kind: 'int', bits: 64, signed: true }
  const int8: DataType = { kind: 'int', bits: 8, signed: true }
  const list = (type: DataType, large = false): DataType => ({ kind: 'list', large, child: item(type) })
  const vector = (type: DataType, size = 2): DataType => ({
    kind: 'fixed_size_list',
    size,
    child: item(type),
  })
  const cast = (from: DataType, to: DataType, values: readonly unknown[]) =>
    valuesIn(castColumn(column(from, values), { name: 'c', type: to, nullable: true }, Place.column('c')))
  const plain = (values: readonly unknown[]) =>
    values.map(value => (ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value))

  test('elements of vectors are rounded to the nearest float; one that would become infinite is refused', () => {
    for (const from of [list(float64), vector(float64)]) {
      expect(plain(cast(from, vector(float32), [[0.1, 16_777_217], null]))).toEqual([
        [Math.fround(0.1), 16_777_216],
        null,
      ])
      expect(() =>
        cast(from, vector(float32), [
          [0, 1],
          [1e300, 0],
        ]),
      ).toThrow(/^row 1: column "c\[\]" is float32, which cannot represent 1e\+?300/)
    }
    expect(() => cast(list(float64), list(float32), [[0.1]])).toThrow(/row 0: column "c\[\]" is float32/)
  })

  test('lists become vectors where all are as long', () => {
    expect(plain(cast(list(int64, true), vector(int8, 3), [[1, 2, 3], null, [4, 5, 6]]))).toEqual([
      [1, 2, 3],
      null,
      [4, 5, 6],
    ])
    expect(() =>
      cast(list(int64), vector(int64), [
        [1, 2],
        [1, 2, 3],
      ]),
    ).toThrow(/row 1: .* a list of 3/)
    expect(() => cast(vector(int64, 3), vector(int64, 2), [[1, 2, 3]])).toThrow(/but the rows have/)
    expect(cast(vector(int8), list(int64, true), [[1, 2]])).toEqual([[1n, 2n]])
  })

  test('an error names the row of an element, and values in null rows are ignored', () => {
    expect(() => cast(list(int64), list(int8), [[1], [], [2, 300]])).toThrow(
      /^row 2: column "c\[\]" is int8, .* 300/,
    )
  })

  test('fields of structs are matched by name; a missing field is null', () => {
    const point = (fields: Readonly<Record<string, DataType>>): DataType => ({
      kind: 'struct',
      children: Object.entries(fields).map(([name, type]) => ({ name, type, nullable: true })),
    })
    const from = point({ y: int8, x: float64 })
    expect(cast(from, point({ x: float64, y: int64, z: int8 }), [{ x: 1, y: 2 }, null])).toEqual([
      { x: 1, y: 2n, z: null },
      null,
    ])
    expect(() => cast(from, point({ x: float64 }), [{ x: 1, y: 2 }])).toThrow(
      /column "c" has no field named "y"/,
    )
  })

  test('texts become dictionaries, and the values of dictionaries texts of another width', () => {
    const dictionary: DataType = {
      kind: 'dictionary',
      index: { kind: 'int', bits: 8, signed: true },
      value: { kind: 'utf8', large: false },
      ordered: false,
    }
    const large: DataType = { kind: 'utf8', large: true }
    expect(cast(large, dictionary, ['a', null, 'b', 'a'])).toEqual(['a', null, 'b', 'a'])
    expect(cast(dictionary, large, ['a', null, 'b', 'a'])).toEqual(['a', null, 'b', 'a'])
    const many = Array.from({ length: 129 }, (_, i) => `text ${i}`)
    expect(() => cast(large, dictionary, many)).toThrow(/row 128: .*more than 128 distinct values/)
  })

  test('a forbidden null is refused with its row', () => {
    const field = { name: 'c', type: int64, nullable: false }
    expect(() => castColumn(column(int8, [1, null]), field, Place.column('c', 7))).toThrow(
      'row 8: column "c" is null, but the column is not nullable',
    )
  })
})

/** Random batches of one wide schema, and random well-typed expressions over it. */
import fc from 'fast-check'
import type { Batch } from '../../src/arrow/column.js'
import { formatDecimal, parseDecimal } from '../../src/arrow/decimal.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType, Schema } from '../../src/arrow/types.js'
import { type Decimal, normalDecimal, type Row, type Value } from './sql-oracle.js'

const utf8: DataType = { kind: 'utf8', large: false }
const int = (bits: 8 | 16 | 32 | 64, signed = true) => ({ kind: 'int', bits, signed }) as const

const types: Readonly<Record<string, DataType>> = {
  i8: int(8),
  i32: int(32),
  u32: int(32, false),
  i64: int(64),
  u64: int(64, false),
  f32: { kind: 'float', bits: 32 },
  f64: { kind: 'float', bits: 64 },
  s: utf8,
  large: { kind: 'utf8', large: true },
  dict: { kind: 'dictionary', index: int(8), value: utf8, ordered: false },
  flag: { kind: 'bool' },
  day: { kind: 'date', unit: 'day' },
  us: { kind: 'timestamp', unit: 'us', timezone: null },
  ms: { kind: 'timestamp', unit: 'ms', timezone: 'UTC' },
  dec: { kind: 'decimal', bits: 128, precision: 10, scale: 2 },
  fine: { kind: 'decimal', bits: 128, precision: 20, scale: 6 },
  labels: { kind: 'list', large: false, child: { name: 'item', type: utf8, nullable: true } },
  st: {
    kind: 'struct',
    children: [
      { name: 'n', type: int(64), nullable: true },
      { name: 'Word', type: utf8, nullable: true },
    ],
  },
}

export const wideSchema: Schema = {
  fields: Object.entries(types).map(([name, type]) => ({ name, type, nullable: true })),
}

const words = ['', 'a', 'ab', 'abc', 'b', 'B', 'É', 'é', '漢字', '🎉', 'a%', '_', "it's"]
const word = fc.constantFrom(...words)
const smallInt = fc.bigInt({ min: -3n, max: 3n })
const wideInt = fc.oneof(
  smallInt,
  fc.constantFrom(
    2n ** 53n,
    2n ** 53n + 1n,
    -(2n ** 53n) - 1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    2n ** 32n,
    -1n << 32n,
  ),
)
const float = fc.oneof(
  fc.constantFrom(0, -0, 0.5, -1.5, 1, 2, 1e300, 2 ** 53, 2 ** 63, Number.NaN, Infinity, -Infinity),
  fc.double({ noDefaultInfinity: true, noNaN: true, min: -4, max: 4 }),
)
const dayNumber = fc.integer({ min: -2, max: 2 })
const nanosPerDay = 86_400_000_000_000n

function orNull<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.option(arbitrary, { nil: null, freq: 4 })
}

const single = float.map(value => (Math.abs(value) > 1e38 && Number.isFinite(value) ? 1 : Math.fround(value)))
const u64 = fc.oneof(
  smallInt.map(value => (value < 0n ? -value : value)),
  fc.constantFrom(2n ** 64n - 1n, 2n ** 63n, 2n ** 53n + 1n),
)

/** A row as the oracle sees it. */
const row: fc.Arbitrary<Row> = fc.record({
  i8: orNull(smallInt),
  i32: orNull(fc.oneof(smallInt, fc.constantFrom(2n ** 31n - 1n, -(2n ** 31n)))),
  u32: orNull(fc.constantFrom(0n, 1n, 2n, 2n ** 31n, 2n ** 32n - 1n)),
  i64: orNull(wideInt),
  u64: orNull(u64),
  f32: orNull(single),
  f64: orNull(float),
  s: orNull(word),
  large: orNull(word),
  dict: orNull(fc.constantFrom('a', 'ab', 'B')),
  flag: orNull(fc.boolean()),
  day: orNull(dayNumber.map(days => ({ nanos: BigInt(days) * nanosPerDay }))),
  us: orNull(
    fc.integer({ min: -2, max: 2 }).map(halves => ({ nanos: (BigInt(halves) * nanosPerDay) / 2n + 1000n })),
  ),
  ms: orNull(dayNumber.map(days => ({ nanos: BigInt(days) * nanosPerDay }))),
  dec: orNull(fc.integer({ min: -300, max: 300 }).map(cents => ({ digits: BigInt(cents), scale: 2 }))),
  fine: orNull(
    fc
      .constantFrom(0n, 1n, -500_000n, 1_500_000n, 2_000_000n, -(10n ** 9n))
      .map(digits => ({ digits, scale: 6 })),
  ),
  labels: orNull(fc.array(orNull(fc.constantFrom('a', 'b', 'c')), { maxLength: 3 })),
  st: orNull(fc.record({ n: orNull(smallInt), Word: orNull(word) })),
})

export const rows: fc.Arbitrary<readonly Row[]> = fc.array(row, { minLength: 0, maxLength: 70 })

const nanosPer: Readonly<Record<string, bigint>> = { day: nanosPerDay, us: 1000n, ms: 1_000_000n }

/** The same rows as the engine sees them. */
export function batchOf(from: readonly Row[]): Batch {
  const objects = from.map(source => {
    const object: Record<string, unknown> = { ...source }
    for (const name of ['day', 'us', 'ms']) {
      const value = source[name] as { nanos: bigint } | null
      object[name] = value === null ? null : value.nanos / nanosPer[name]!
    }
    for (const name of ['dec', 'fine']) {
      const value = source[name] as Decimal | null
      object[name] = value === null ? null : formatDecimal(value.digits, value.scale)
    }
    return object
  })
  return rowsToBatch(objects, wideSchema)
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
const integers = fc.constantFrom('i8', 'i32', 'u32', 'i64', 'st.n', 'array_length(labels)', 'length(s)')
const floats = fc.constantFrom('f32', 'f64')
const texts = fc.constantFrom('s', 'large', 'dict', 'st.Word', 'labels[1]')
const instants = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('day', 'us', 'ms') },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom('day', 'us', 'ms'),
        fc.constantFrom('+', '-'),
        fc.constantFrom(
          "interval '1 month'",
          "interval '-13' month",
          "interval '2 days'",
          "interval '31' day",
        ),
      )
      .map(([a, o, b]) => `(${a} ${o} ${b})`),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('us', 'ms'), fc.constantFrom('month', 'day', 'hour', 'year'))
      .map(([a, unit]) => `date_trunc('${unit}', ${a} + interval '5 hours')`),
  },
)
const integerLiteral = wideInt.map(String)
const shortDecimal = fc.constantFrom('0.5', '-1.5', '1.0', '0.1', '2.125')
const decimalLiteral = fc.constantFrom('0.5', '-1.5', '1.0', '0.1', '1e30', '-1e300', '9007199254740992.0')
const instantLiteral = fc.constantFrom(
  "'1970-01-01'",
  "date '1970-01-02'",
  "timestamp '1969-12-31T12:00:00'",
  "'1970-01-01T12:00:00.000001Z'",
  "timestamp(3) '1970-01-01 00:00:00.001'",
)
const arithmeticOp = fc.constantFrom('+', '-', '*', '/', '%')
const compareOp = fc.constantFrom('=', '==', '<>', '!=', '<', '<=', '>', '>=')
const decimalOp = fc.constantFrom('+', '-', '*', '%')
const pattern = fc
  .array(fc.constantFrom('%', '_', 'a', 'b', 'B', '漢', 'é', '\\%', '\\_', '\\'), { maxLength: 5 })
  .map(pieces => pieces.join(''))

const binary = (op: fc.Arbitrary<string>, operand: fc.Arbitrary<string>) =>
  fc.tuple(operand, op, operand).map(([a, o, b]) => `(${a} ${o} ${b})`)

/** Equality, membership and what joins them, for chains that become one list. */
const chains = [
  ['=', 'in', 'or'],
  ['<>', 'not in', 'and'],
  ['=', 'not in', 'or'],
] as const

/** CASE with conditions, and CASE that compares an operand. */
function caseOf(
  bool: fc.Arbitrary<string>,
  subject: fc.Arbitrary<string>,
  result: fc.Arbitrary<string>,
): fc.Arbitrary<string> {
  const branches = (when: fc.Arbitrary<string>) =>
    fc
      .array(fc.tuple(when, result), { minLength: 1, maxLength: 3 })
      .map(list => list.map(([condition, then]) => `when ${condition} then ${then}`).join(' '))
  const otherwise = fc.option(
    result.map(text => ` else ${text}`),
    { nil: '' },
  )
  return fc.oneof<fc.Arbitrary<string>[]>(
    fc.tuple(branches(bool), otherwise).map(([list, last]) => `case ${list}${last} end`),
    fc
      .tuple(subject, branches(fc.oneof(subject, fc.constant('null'))), otherwise)
      .map(([operand, list, last]) => `case ${operand} ${list}${last} end`),
  )
}

const grammar = fc.letrec<Record<'int' | 'unsigned' | 'float' | 'decimal' | 'text' | 'bool', string>>(
  tie => ({
    decimal: fc.oneof(
      { maxDepth: 2, depthSize: 'small' },
      { weight: 4, arbitrary: fc.constantFrom('dec', 'fine') },
      {
        weight: 2,
        arbitrary: fc
          .tuple(
            fc.constantFrom('dec', 'fine'),
            decimalOp,
            fc.oneof(shortDecimal, fc.constantFrom('i8', 'st.n', '2')),
          )
          .map(([a, o, b]) => `(${a} ${o} ${b})`),
      },
      {
        weight: 1,
        arbitrary: fc.tuple(tie('decimal'), decimalOp, tie('decimal')).map(([a, o, b]) => `(${a} ${o} ${b})`),
      },
      { weight: 1, arbitrary: fc.constantFrom('(dec / fine)', '(fine / i8)', 'abs(dec)') },
      { weight: 1, arbitrary: tie('decimal').map(a => `-(${a})`) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(tie('decimal'), fc.constantFrom("decimal(2, 1) '0.5'", '2', 'i8', 'fine'))
          .map(([a, b]) => `coalesce(${a}, ${b})`),
      },
      {
        weight: 1,
        arbitrary: caseOf(
          tie('bool'),
          tie('decimal'),
          fc.oneof(tie('decimal'), fc.constant("decimal(4, 3) '0.125'")),
        ),
      },
    ),
    unsigned: fc.oneof(
      fc.constant('u64'),
      fc.tuple(arithmeticOp, fc.oneof(tie('int'), fc.constant('u64'))).map(([o, b]) => `(u64 ${o} ${b})`),
      fc.tuple(integerLiteral, arithmeticOp).map(([a, o]) => `(${a} ${o} u64)`),
      fc.constant('abs(u64)'),
    ),
    int: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      { weight: 3, arbitrary: integers },
      { weight: 2, arbitrary: integerLiteral },
      { weight: 1, arbitrary: binary(arithmeticOp, tie('int')) },
      { weight: 1, arbitrary: tie('int').map(a => `-(${a})`) },
      { weight: 1, arbitrary: tie('int').map(a => `abs(${a})`) },
      { weight: 1, arbitrary: fc.tuple(tie('int'), tie('int')).map(([a, b]) => `coalesce(${a}, ${b})`) },
      { weight: 1, arbitrary: fc.tuple(tie('int'), tie('int')).map(([a, b]) => `nullif(${a}, ${b})`) },
      { weight: 1, arbitrary: tie('text').map(a => `try_cast(${a} as int)`) },
      { weight: 1, arbitrary: caseOf(tie('bool'), fc.oneof(tie('int'), tie('float')), tie('int')) },
      {
        weight: 1,
        arbitrary: fc.tuple(tie('int'), tie('int')).map(([a, b]) => `[${a}, ${b}][${a.length % 3}]`),
      },
      { weight: 1, arbitrary: fc.tuple(tie('text'), tie('int')).map(([a, b]) => `struct(${a}, ${b})['c1']`) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom('greatest', 'least'), fc.array(tie('int'), { minLength: 1, maxLength: 3 }))
          .map(([f, list]) => `${f}(${list.join(', ')})`),
      },
      { weight: 1, arbitrary: tie('text').map(a => `octet_length(${a})`) },
      { weight: 1, arbitrary: fc.tuple(tie('text'), tie('text')).map(([a, b]) => `strpos(${a}, ${b})`) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom('year', 'month', 'day'), instants)
          .map(([part, a]) => `date_part('${part}', ${a})`),
      },
    ),
    float: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      { weight: 3, arbitrary: floats },
      { weight: 2, arbitrary: decimalLiteral },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom('f64', 'f32'), arithmeticOp, fc.oneof(tie('float'), tie('int')))
          .map(([a, o, b]) => `(${a} ${o} ${b})`),
      },
      { weight: 1, arbitrary: tie('float').map(a => `-(${a})`) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom('abs', 'floor', 'ceil'), tie('float'))
          .map(([f, a]) => `${f}(${a})`),
      },
      { weight: 1, arbitrary: tie('int').map(a => `cast(${a} as double)`) },
    ),
    text: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      { weight: 4, arbitrary: texts },
      { weight: 2, arbitrary: word.map(quoted) },
      {
        weight: 1,
        arbitrary: fc.tuple(fc.constantFrom('lower', 'upper'), tie('text')).map(([f, a]) => `${f}(${a})`),
      },
      { weight: 1, arbitrary: fc.tuple(tie('text'), tie('text')).map(([a, b]) => `(${a} || ${b})`) },
      { weight: 1, arbitrary: fc.tuple(tie('text'), tie('text')).map(([a, b]) => `coalesce(${a}, ${b})`) },
      { weight: 1, arbitrary: tie('int').map(a => `cast(${a} as string)`) },
      { weight: 1, arbitrary: caseOf(tie('bool'), tie('text'), tie('text')) },
      { weight: 1, arbitrary: tie('text').map(a => `reverse(${a})`) },
      {
        weight: 1,
        arbitrary: fc.tuple(tie('text'), tie('text')).map(([a, b]) => `replace(${a}, 'a', ${b})`),
      },
    ),
    bool: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      {
        weight: 2,
        arbitrary: fc.constantFrom('flag', 'true', 'false', 'null', 'flag = true', 'flag <> false'),
      },
      {
        weight: 6,
        arbitrary: fc
          .tuple(
            fc.oneof(tie('int'), tie('float'), fc.constant('u64')),
            compareOp,
            fc.oneof(tie('int'), tie('float')),
          )
          .map(([a, o, b]) => `${a} ${o} ${b}`),
      },
      {
        weight: 3,
        arbitrary: fc.tuple(tie('text'), compareOp, tie('text')).map(([a, o, b]) => `${a} ${o} ${b}`),
      },
      {
        weight: 3,
        arbitrary: fc
          .tuple(instants, compareOp, fc.oneof(instants, instantLiteral, fc.constant('null')))
          .map(([a, o, b]) => `${a} ${o} ${b}`),
      },
      {
        weight: 3,
        arbitrary: fc
          .tuple(
            tie('decimal'),
            compareOp,
            fc.oneof(tie('decimal'), decimalLiteral, integers, integerLiteral),
          )
          .map(([a, o, b]) => `${a} ${o} ${b}`),
      },
      {
        weight: 1,
        arbitrary: fc
          .tuple(
            tie('decimal'),
            fc.constantFrom('in', 'not in'),
            fc.array(fc.oneof(decimalLiteral, fc.constantFrom('1.50', '0.00', '2', 'null', 'i8', 'fine')), {
              minLength: 1,
              maxLength: 5,
            }),
          )
          .map(([a, o, list]) => `${a} ${o} (${list.join(', ')})`),
      },
      {
        weight: 2,
        arbitrary: fc
          .tuple(
            fc.oneof(
              fc.tuple(
                fc.oneof(tie('int'), tie('float')),
                fc.oneof(tie('int'), tie('float'), fc.constant('null')),
              ),
              fc.tuple(tie('text'), fc.oneof(tie('text'), fc.constant('null'))),
              fc.tuple(tie('decimal'), tie('decimal')),
              fc.tuple(instants, instants),
            ),
            fc.constantFrom('is distinct from', 'is not distinct from'),
          )
          .map(([[a, b], o]) => `${a} ${o} ${b}`),
      },
      {
        weight: 2,
        arbitrary: caseOf(
          tie('bool'),
          fc.oneof(tie('int'), tie('float')),
          tie('bool').map(a => `(${a})`),
        ),
      },
      {
        weight: 2,
        arbitrary: fc
          .tuple(
            fc.constantFrom('i8', 'i64', 's', 'dict', 'lower(s)'),
            fc.constantFrom(...chains),
            fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 2, maxLength: 5 }),
          )
          .map(([a, [same, many, join], list]) =>
            list
              .map(n => {
                const [x, y] = /^i/.test(a) ? [n, n + 1] : [`'${'abc'[n] ?? ''}'`, "'ab'"]
                return n === 2 ? `${a} ${many} (${x}, ${y})` : `${a} ${same} ${x}`
              })
              .join(` ${join} `),
          ),
      },
      {
        weight: 3,
        arbitrary: fc
          .tuple(
            tie('int'),
            fc.constantFrom('in', 'not in'),
            fc.array(fc.oneof(tie('int'), fc.constant('null')), { minLength: 1, maxLength: 5 }),
          )
          .map(([a, o, list]) => `${a} ${o} (${list.join(', ')})`),
      },
      {
        weight: 2,
        arbitrary: fc
          .tuple(
            floats,
            fc.constantFrom('in', 'not in'),
            fc.array(fc.oneof(decimalLiteral, integerLiteral), { minLength: 1, maxLength: 5 }),
          )
          .map(([a, o, list]) => `${a} ${o} (${list.join(', ')})`),
      },
      {
        weight: 3,
        arbitrary: fc
          .tuple(
            tie('text'),
            fc.constantFrom('in', 'not in'),
            fc.array(fc.oneof(word.map(quoted), texts), { minLength: 1, maxLength: 6 }),
          )
          .map(([a, o, list]) => `${a} ${o} (${list.join(', ')})`),
      },
      {
        weight: 2,
        arbitrary: fc
          .tuple(
            fc.oneof(tie('int'), tie('float')),
            fc.constantFrom('between', 'not between'),
            fc.oneof(tie('int'), tie('float')),
            fc.oneof(tie('int'), decimalLiteral),
          )
          .map(([a, o, low, high]) => `${a} ${o} ${low} and ${high}`),
      },
      {
        weight: 3,
        arbitrary: fc
          .tuple(
            tie('text'),
            fc.constantFrom('like', 'not like', 'ilike', 'not ilike'),
            fc.oneof(pattern.map(quoted), texts),
          )
          .map(([a, o, b]) => `${a} ${o} ${b}`),
      },
      {
        weight: 2,
        arbitrary: fc
          .tuple(fc.constantFrom('starts_with', 'ends_with', 'contains'), tie('text'), tie('text'))
          .map(([f, a, b]) => `${f}(${a}, ${b})`),
      },
      { weight: 1, arbitrary: tie('text').map(a => `array_has(labels, ${a})`) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(
            fc.constantFrom('array_has_any', 'array_has_all'),
            fc.array(fc.constantFrom("'a'", "'b'", "'d'"), { minLength: 1, maxLength: 3 }),
          )
          .map(([f, list]) => `${f}(labels, [${list.join(', ')}])`),
      },
      {
        weight: 2,
        arbitrary: fc
          .tuple(
            fc.oneof(tie('int'), tie('text'), instants, fc.constant('st'), fc.constant('labels')),
            fc.constantFrom('is null', 'is not null'),
          )
          .map(([a, o]) => `${a} ${o}`),
      },
      {
        weight: 2,
        arbitrary: fc
          .tuple(
            tie('bool'),
            fc.constantFrom(
              'is true',
              'is not true',
              'is false',
              'is not false',
              'is null',
              'is not unknown',
            ),
          )
          .map(([a, o]) => `(${a}) ${o}`),
      },
      { weight: 2, arbitrary: tie('bool').map(a => `not (${a})`) },
      {
        weight: 3,
        arbitrary: fc
          .array(tie('bool'), { minLength: 2, maxLength: 4 })
          .map(all => all.map(a => `(${a})`).join(' and ')),
      },
      {
        weight: 3,
        arbitrary: fc
          .array(tie('bool'), { minLength: 2, maxLength: 4 })
          .map(all => all.map(a => `(${a})`).join(' or ')),
      },
    ),
  }),
)

/** A condition over `wideSchema`. */
export const condition: fc.Arbitrary<string> = grammar.bool

/** A value over `wideSchema` of type integer, float, decimal or text. */
export const valueExpression: fc.Arbitrary<string> = fc.oneof(
  grammar.int,
  grammar.float,
  grammar.decimal,
  grammar.text,
)

/** An engine value of an expression as the oracle writes it. */
export function asOracleValue(value: unknown, type: DataType): Value {
  if (value === null) return null
  if (type.kind === 'decimal') {
    return normalDecimal({ digits: parseDecimal(value as string, type.scale)!, scale: type.scale })
  }
  return type.kind === 'int' ? BigInt(value as number) : (value as Value)
}

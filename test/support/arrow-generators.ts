/** Random schemas and batches for property tests. */
import fc from 'fast-check'
import type { Batch } from '../../src/arrow/column.js'
import { formatDecimal } from '../../src/arrow/decimal.js'
import { fromFloat16 } from '../../src/arrow/float16.js'
import { toDate } from '../../src/arrow/instant.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { sliceBatch } from '../../src/arrow/slice.js'
import type { DataType, Field, IntType, Schema } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'

const unit = fc.constantFrom('s' as const, 'ms' as const, 'us' as const, 'ns' as const)
const int: fc.Arbitrary<IntType> = fc.record({
  kind: fc.constant('int' as const),
  bits: fc.constantFrom(8 as const, 16 as const, 32 as const, 64 as const),
  signed: fc.boolean(),
})

const leaf: fc.Arbitrary<DataType> = fc.oneof(
  fc.constant({ kind: 'null' as const }),
  fc.constant({ kind: 'bool' as const }),
  int,
  fc.record({
    kind: fc.constant('float' as const),
    bits: fc.constantFrom(16 as const, 32 as const, 64 as const),
  }),
  fc.record({ kind: fc.constant('utf8' as const), large: fc.boolean() }),
  fc.record({ kind: fc.constant('binary' as const), large: fc.boolean() }),
  fc.record({ kind: fc.constant('fixed_size_binary' as const), width: fc.integer({ min: 0, max: 19 }) }),
  fc.record({
    kind: fc.constant('decimal' as const),
    bits: fc.constantFrom(128 as const, 256 as const),
    precision: fc.integer({ min: 1, max: 38 }),
    scale: fc.integer({ min: -3, max: 10 }),
  }),
  fc.record({ kind: fc.constant('date' as const), unit: fc.constantFrom('day' as const, 'ms' as const) }),
  fc.record({ kind: fc.constant('time' as const), unit }),
  fc.record({
    kind: fc.constant('timestamp' as const),
    unit,
    timezone: fc.constantFrom(null, 'UTC', 'Europe/Paris', '+05:30'),
  }),
  fc.record({ kind: fc.constant('duration' as const), unit }),
  fc.record({
    kind: fc.constant('interval' as const),
    unit: fc.constantFrom('year_month' as const, 'day_time' as const, 'month_day_nano' as const),
  }),
)

const metadata = fc.option(
  fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), { maxKeys: 2 }),
  {
    nil: undefined,
  },
)

function field(type: fc.Arbitrary<DataType>): fc.Arbitrary<Field> {
  return fc
    .record({ name: fc.string({ maxLength: 6 }), type, nullable: fc.boolean(), metadata })
    .map(({ metadata: pairs, type: t, nullable, name }) => ({
      name,
      type: t,
      nullable: nullable || t.kind === 'null',
      ...(pairs !== undefined && Object.keys(pairs).length > 0 && { metadata: pairs }),
    }))
}

/** Any type held, nested a few levels. */
export const dataType: fc.Arbitrary<DataType> = fc.letrec<{ type: DataType; nested: DataType }>(tie => ({
  type: fc.oneof({ maxDepth: 3, depthSize: 'small' }, { weight: 3, arbitrary: leaf }, tie('nested')),
  nested: fc.oneof(
    fc.record({ kind: fc.constant('list' as const), large: fc.boolean(), child: field(tie('type')) }),
    fc.record({
      kind: fc.constant('fixed_size_list' as const),
      size: fc.integer({ min: 0, max: 4 }),
      child: field(tie('type')),
    }),
    fc.record({
      kind: fc.constant('struct' as const),
      children: fc.uniqueArray(field(tie('type')), { maxLength: 3, selector: child => child.name }),
    }),
    fc.tuple(fc.boolean(), field(tie('type')), field(tie('type'))).map(([keysSorted, key, value]) => ({
      kind: 'map' as const,
      keysSorted,
      child: {
        name: 'entries',
        nullable: false,
        type: {
          kind: 'struct' as const,
          children: [
            { ...key, name: 'key' },
            { ...value, name: 'value' },
          ],
        },
      },
    })),
    fc.record({
      kind: fc.constant('dictionary' as const),
      index: int,
      value: tie('type').filter(value => value.kind !== 'dictionary' && value.kind !== 'null'),
      ordered: fc.boolean(),
    }),
  ),
})).type

/** A value of a type as `rowsToBatch` takes it. */
export function cellValue(type: DataType): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case 'null':
      return fc.constant(null)
    case 'bool':
      return fc.boolean()
    case 'int': {
      const bits = BigInt(type.bits)
      const min = type.signed ? -(1n << (bits - 1n)) : 0n
      const max = type.signed ? (1n << (bits - 1n)) - 1n : (1n << bits) - 1n
      const value = fc.bigInt({ min, max })
      return type.bits === 64 ? value : value.map(Number)
    }
    case 'float':
      if (type.bits === 16) return fc.integer({ min: 0, max: 0xffff }).map(fromFloat16)
      return type.bits === 32 ? fc.float() : fc.double()
    case 'utf8':
      return fc.oneof(fc.string({ maxLength: 12 }), fc.string({ unit: 'grapheme', maxLength: 12 }))
    case 'binary':
      return fc.uint8Array({ maxLength: 12 })
    case 'fixed_size_binary':
      return fc.uint8Array({ minLength: type.width, maxLength: type.width })
    case 'decimal': {
      const limit = 10n ** BigInt(type.precision) - 1n
      return fc.bigInt({ min: -limit, max: limit }).map(value => formatDecimal(value, type.scale))
    }
    case 'date':
      return fc
        .integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
        .map(
          days =>
            toDate(BigInt(days) * 86_400_000n, 'ms') ??
            BigInt(days) * (type.unit === 'ms' ? 86_400_000n : 1n),
        )
    case 'time': {
      const perDay = 86_400n * { s: 1n, ms: 1000n, us: 1_000_000n, ns: 1_000_000_000n }[type.unit]
      return fc.bigInt({ min: 0n, max: perDay - 1n })
    }
    case 'timestamp':
      return fc
        .oneof(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), fc.integer().map(BigInt))
        .map(count => toDate(count, type.unit) ?? count)
    case 'duration':
      return fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n })
    case 'interval':
      if (type.unit === 'year_month') return fc.integer()
      if (type.unit === 'day_time') return fc.record({ days: fc.integer(), milliseconds: fc.integer() })
      return fc.record({
        months: fc.integer(),
        days: fc.integer(),
        nanoseconds: fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
      })
    case 'list':
      return fc.array(cellOf(type.child), { maxLength: 4 })
    case 'fixed_size_list':
      return fc.array(cellOf(type.child), { minLength: type.size, maxLength: type.size })
    case 'struct':
      return fc
        .tuple(...type.children.map(cellOf))
        .map(cells => Object.fromEntries(type.children.map((child, i) => [child.name, cells[i]])))
    case 'map': {
      const [key, value] = type.child.type.kind === 'struct' ? type.child.type.children : []
      return fc.array(fc.tuple(cellOf(key!), cellOf(value!)), { maxLength: 3 })
    }
    case 'dictionary':
      return cellValue(type.value)
  }
}

function cellOf({ type, nullable }: Field): fc.Arbitrary<unknown> {
  return nullable
    ? fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 4, arbitrary: cellValue(type) })
    : cellValue(type)
}

export const schema: fc.Arbitrary<Schema> = fc
  .tuple(fc.uniqueArray(field(dataType), { maxLength: 4, selector: entry => entry.name }), metadata)
  .map(([fields, pairs]) => ({
    fields,
    ...(pairs !== undefined && Object.keys(pairs).length > 0 && { metadata: pairs }),
  }))

function batchOf(of: Schema): fc.Arbitrary<Batch> {
  const row = fc
    .tuple(...of.fields.map(cellOf))
    .map(cells => Object.fromEntries(of.fields.map((entry, i) => [entry.name, cells[i]])))
  return fc.tuple(fc.array(row, { maxLength: 12 }), fc.nat(), fc.nat()).map(([rows, a, b]) => {
    const batch = rowsToBatch(rows, of)
    const start = a % (rows.length + 1)
    return sliceBatch(batch, start, b % (rows.length - start + 1))
  })
}

export interface Batches {
  readonly schema: Schema
  readonly batches: readonly Batch[]
}

/** Some batches of one random schema; every batch has dictionaries of its own. */
export const batches: fc.Arbitrary<Batches> = schema.chain(of =>
  fc.array(batchOf(of), { maxLength: 3 }).map(list => ({ schema: of, batches: list })),
)

/** The values of every column, for comparisons. */
export function contents(batch: Batch): unknown[][] {
  return batch.columns.map(column => columnValues(column, { int64: 'bigint' }))
}

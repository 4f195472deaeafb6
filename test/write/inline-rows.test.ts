import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeBatch } from '../../src/arrow/inline-batch.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType, Schema } from '../../src/arrow/types.js'
import { SheafError } from '../../src/errors.js'
import { conformBatch } from '../../src/write/conform.js'
import { InlineRowEncoder } from '../../src/write/inline-rows.js'
import { inlineBytes } from '../../src/write/stage.js'

/** Encode rows in the usual steps. Returns null if the rows do not fit. */
function inSteps(rows: readonly object[], schema: Schema): Uint8Array | null {
  try {
    return encodeBatch(conformBatch(rowsToBatch(rows, schema), schema, 0))
  } catch (error) {
    if (error instanceof SheafError) return null
    throw error
  }
}

const float32: DataType = { kind: 'float', bits: 32 }
const item = (type: DataType) => ({ name: 'item', type, nullable: true })

const types = fc.constantFrom<DataType>(
  { kind: 'bool' },
  ...([8, 16, 32, 64] as const).flatMap((bits): DataType[] => [
    { kind: 'int', bits, signed: true },
    { kind: 'int', bits, signed: false },
  ]),
  float32,
  { kind: 'float', bits: 64 },
  { kind: 'float', bits: 16 },
  { kind: 'utf8', large: false },
  { kind: 'utf8', large: true },
  { kind: 'binary', large: false },
  { kind: 'timestamp', unit: 'ms', timezone: null },
  { kind: 'fixed_size_list', size: 3, child: item(float32) },
  { kind: 'fixed_size_list', size: 2, child: item({ kind: 'int', bits: 32, signed: true }) },
  { kind: 'list', large: false, child: item({ kind: 'utf8', large: false }) },
  { kind: 'list', large: false, child: item({ kind: 'fixed_size_list', size: 2, child: item(float32) }) },
  { kind: 'struct', children: [item({ kind: 'fixed_size_list', size: 2, child: item(float32) })] },
  { kind: 'decimal', bits: 128, precision: 10, scale: 2 },
)

const odd = fc.constantFrom<unknown>(
  -0,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  1e39,
  2 ** 53,
  -(2 ** 53),
  2 ** 31,
  -(2 ** 31) - 1,
  -1,
  1n,
  2n ** 63n,
  -(2n ** 63n),
  2n ** 64n,
  '',
  '\ud83d',
  '𝄞 𝄞',
  [1, null, 2],
  [1, 2],
  [1, Number.NaN],
  new Float32Array([1, 2, 3]),
  ['a', null],
  [[1, 2], null],
  { item: [1, 2] },
  { item: [1, Number.NaN] },
  new Date(5),
  Symbol.iterator,
  () => 1,
)

/** A value that fits the type, as far as one generator can tell. */
function fitting(type: DataType): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case 'bool':
      return fc.boolean()
    case 'int': {
      const least = type.signed ? -(2n ** BigInt(type.bits - 1)) : 0n
      const any = fc.bigInt(least, least + 2n ** BigInt(type.bits) - 1n)
      return any.map(value => (Number.isSafeInteger(Number(value)) ? Number(value) : value))
    }
    case 'float':
      return fc.float({ noDefaultInfinity: true })
    case 'utf8':
      return fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 70, maxLength: 200 }))
    case 'binary':
      return fc.uint8Array()
    case 'timestamp':
      return fc.integer()
    case 'fixed_size_list':
      return fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: type.size, maxLength: type.size })
    case 'list':
      return fc.array(fitting(type.child.type), { maxLength: 3 })
    case 'decimal':
      return fc.integer({ min: -1e7, max: 1e7 })
    default:
      return fc.constant({ item: [1, 2] })
  }
}

const tables = fc
  .uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'constructor', '__proto__'), { minLength: 1 })
  .chain(names => fc.tuple(...names.map(name => fc.tuple(fc.constant(name), types, fc.boolean()))))
  .chain(columns => {
    const fields = columns.map(([name, type, nullable]) => ({ name, type, nullable }))
    const cells = fields.map(({ name, type, nullable }) =>
      fc
        .oneof(
          { weight: 8, arbitrary: fitting(type) },
          { weight: 2, arbitrary: nullable ? fc.constantFrom(null, undefined) : fitting(type) },
          { weight: 1, arbitrary: odd },
        )
        .map(value => [name, value] as const),
    )
    const row = fc.tuple(...cells).map(entries => Object.fromEntries(entries))
    const rows = fc.array(
      fc.oneof({ weight: 40, arbitrary: row }, { weight: 1, arbitrary: fc.constant({ e: 1 }) }),
      { minLength: 1, maxLength: 12 },
    )
    return fc.record({ schema: fc.constant<Schema>({ fields }), batches: fc.array(rows, { maxLength: 3 }) })
  })

describe('the encoder of inline rows', () => {
  it('makes the bytes of the usual steps, or none', () => {
    let encoded = 0
    fc.assert(
      fc.property(tables, ({ schema, batches }) => {
        const encoder = InlineRowEncoder.of(schema)!
        for (const rows of batches) {
          const bytes = encoder.encode(rows)
          if (bytes === null) continue
          encoded++
          expect(Buffer.from(bytes)).toEqual(Buffer.from(inSteps(rows, schema) ?? []))
        }
      }),
      { numRuns: 2000 },
    )
    expect(encoded).toBeGreaterThan(500)
  })

  it('encodes rows of the common types', () => {
    const schema: Schema = {
      fields: [
        { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: false },
        { name: 'name', type: { kind: 'utf8', large: false }, nullable: true },
        { name: 'vector', type: { kind: 'fixed_size_list', size: 2, child: item(float32) }, nullable: true },
      ],
    }
    const rows = [
      { id: 1, name: 'one', vector: [1, 2] },
      { id: -7n, vector: null },
    ]
    const bytes = InlineRowEncoder.of(schema)!.encode(rows)
    expect(bytes).toEqual(inSteps(rows, schema))
  })

  it('leaves more bytes than fit into a slot to the usual steps', () => {
    const schema: Schema = { fields: [{ name: 't', type: { kind: 'utf8', large: false }, nullable: true }] }
    const encoder = InlineRowEncoder.of(schema)!
    for (const length of [inlineBytes - 1000, inlineBytes, 10 * inlineBytes]) {
      const bytes = encoder.encode([{ t: 'x'.repeat(length) }])
      if (length < inlineBytes) expect(bytes).toEqual(inSteps([{ t: 'x'.repeat(length) }], schema))
      else expect(bytes).toBeNull()
    }
  })

  it('does not encode dictionaries', () => {
    const type: DataType = {
      kind: 'dictionary',
      index: { kind: 'int', bits: 8, signed: true },
      value: { kind: 'utf8', large: false },
      ordered: false,
    }
    expect(InlineRowEncoder.of({ fields: [{ name: 'd', type, nullable: true }] })).toBeNull()
  })
})

/** Values that do not fit the type of their column. */
import { describe, expect, test } from 'vitest'
import { decodeValues, Encoding } from '../../../../adapters/files/parquet/decode-values.js'
import type { LeafPlan } from '../../../../adapters/files/parquet/read-plan.js'
import type { DataType } from '../../../../src/arrow/types.js'

function decode(leaf: object, value: DataType, divisor: bigint, bytes: Uint8Array): unknown {
  const plan = { leaf, value, divisor } as LeafPlan
  return decodeValues(plan, Encoding.plain, { bytes, from: 0, to: bytes.length, at: 0 }, 1).values
}

describe('decodeValues', () => {
  const wide = { physical: 'fixed_len_byte_array', width: 20 }
  const decimal: DataType = { kind: 'decimal', bits: 128, precision: 38, scale: 0 }

  test.each([
    [0, 5],
    [255, 251],
  ])('reads a decimal in more bytes than its type has (sign %i)', (sign, last) => {
    const bytes = new Uint8Array(20).fill(sign)
    bytes[19] = last
    const expected = new Uint8Array(16).fill(sign)
    expected[0] = last
    expect(decode(wide, decimal, 1n, bytes)).toEqual(expected)
  })

  test.each([
    [0, 1],
    [3, 1],
    [4, 128],
  ])('refuses a decimal that does not fit (byte %i is %i)', (at, byte) => {
    const bytes = new Uint8Array(20)
    bytes[at] = byte
    expect(() => decode(wide, decimal, 1n, bytes)).toThrow('a decimal that does not fit 16 bytes')
  })

  test('refuses a time in seconds that does not fit 32 bits', () => {
    const seconds = (value: bigint) =>
      decode(
        { physical: 'int64', width: 0 },
        { kind: 'time', unit: 's' },
        1_000_000n,
        new Uint8Array(BigInt64Array.of(value * 1_000_000n).buffer),
      )
    expect(seconds(86_399n)).toEqual(Int32Array.of(86_399))
    expect(() => seconds(2n ** 32n + 5n)).toThrow('which is not a time')
  })
})

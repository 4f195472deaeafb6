import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Flatbuffer, type Table } from '../../src/arrow/flatbuffer-read.js'
import {
  encodeFlatbuffer,
  int8,
  int16,
  int32,
  int64,
  int64s,
  table,
  tables,
  text,
} from '../../src/arrow/flatbuffer-write.js'
import { SheafError } from '../../src/errors.js'

const root = (bytes: Uint8Array): Table => new Flatbuffer(bytes, 0).root()

describe('a flatbuffer', () => {
  test('gives back every scalar, absent ones as their default', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -128, max: 127 }),
        fc.integer({ min: -32768, max: 32767 }),
        fc.integer(),
        fc.maxSafeInteger(),
        (a, b, c, d) => {
          const bytes = encodeFlatbuffer(table([int8(a), null, int16(b), int32(c), int64(d)]))
          expect(bytes.length % 8).toBe(0)
          const source = root(bytes)
          expect([source.int8(0, 9), source.int16(2, 9), source.int32(3, 9), source.int64(4, 9)]).toEqual([
            a,
            b,
            c,
            d,
          ])
          expect([source.int8(1, 9), source.int32(7, 9), source.text(8), source.table(9)]).toEqual([
            9,
            9,
            null,
            null,
          ])
        },
      ),
    )
  })

  test('lays every value on a multiple of its size', () => {
    const bytes = encodeFlatbuffer(
      table([int8(1), int64(7), text('abc'), int64s([1, 2, 3, 4], 2), int16(5), table([int64(9)])]),
    )
    const at = (value: number): number => {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      for (let i = 0; i + 8 <= bytes.length; i += 8) if (view.getBigInt64(i, true) === BigInt(value)) return i
      return -1
    }
    for (const value of [7, 1, 3, 9]) expect(at(value)).toBeGreaterThanOrEqual(0)
  })

  test('gives back text, vectors of structs and vectors of tables', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme' })),
        fc.array(fc.maxSafeInteger()),
        (texts, numbers) => {
          const items = texts.map(value => table([text(value)]))
          const source = root(encodeFlatbuffer(table([tables(items), int64s(numbers, 1)])))
          expect(source.tables(0).map(item => item.text(0))).toEqual(texts)
          expect(source.int64s(1, 1)).toEqual(numbers)
        },
      ),
    )
  })

  test('refuses an int64 that no number holds, naming the byte', () => {
    const bytes = encodeFlatbuffer(table([int64(2 ** 40)]))
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    for (let at = 0; at < bytes.length; at += 8) {
      if (view.getBigInt64(at, true) === 2n ** 40n) view.setBigInt64(at, 2n ** 60n, true)
    }
    expect(() => new Flatbuffer(bytes, 1000).root().int64(0, 0)).toThrow(
      /^broken arrow metadata: 1152921504606846976 is out of range \(byte 10\d\d\)$/,
    )
  })

  test('does not decode one long text over and over', () => {
    const bytes = encodeFlatbuffer(table([text('x'.repeat(1000))]))
    const source = root(bytes)
    const readOften = (): void => {
      for (let i = 0; i < 100; i++) expect(source.text(0)).toHaveLength(1000)
    }
    expect(readOften).toThrow(/more text than its length allows/)
  })

  test('cut or changed anywhere never does worse than a SheafError', () => {
    const bytes = encodeFlatbuffer(
      table([text('name'), tables([table([int64(5)]), table([])]), int64s([1, 2], 2)]),
    )
    const read = (given: Uint8Array): void => {
      try {
        const source = root(given)
        source.text(0)
        for (const item of source.tables(1)) item.int64(0, 0)
        source.int64s(2, 2)
      } catch (error) {
        expect(error).toBeInstanceOf(SheafError)
      }
    }
    for (let at = 0; at < bytes.length; at++) {
      read(bytes.subarray(0, at))
      for (let value = 0; value < 256; value += 3) {
        const changed = bytes.slice()
        changed[at] = value
        read(changed)
      }
    }
  })
})

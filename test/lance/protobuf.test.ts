import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SheafError } from '../../src/errors.js'
import { MessageReader } from '../../src/lance/protobuf.js'

/** Encode an unsigned integer. */
function varint(value: bigint): number[] {
  const out: number[] = []
  let left = BigInt.asUintN(64, value)
  for (; left > 0x7fn; left >>= 7n) out.push(Number(left & 0x7fn) | 0x80)
  return [...out, Number(left)]
}

const tag = (field: number, wire: number) => varint(BigInt(field * 8 + wire))
const block = (field: number, bytes: ArrayLike<number>) => [
  ...tag(field, 2),
  ...varint(BigInt(bytes.length)),
  ...Array.from(bytes),
]

function open(bytes: readonly number[]): MessageReader {
  const message = new MessageReader(Uint8Array.from(bytes))
  expect(message.next()).toBe(true)
  return message
}

const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

describe('MessageReader', () => {
  test('reads every integer of 64 bits', () => {
    fc.assert(
      fc.property(uint64, fc.integer({ min: 1, max: 2 ** 29 - 1 }), (value, field) => {
        const message = open([...tag(field, 0), ...varint(value)])
        expect(message.field).toBe(field)
        expect(message.uint64()).toBe(value)
        expect(message.next()).toBe(false)
        expect(open([...tag(field, 0), ...varint(value)]).int64()).toBe(BigInt.asIntN(64, value))
      }),
    )
  })

  test('reads negative integers, which have ten bytes', () => {
    expect(open([...tag(1, 0), ...varint(-1n)]).int32()).toBe(-1)
    expect(open([...tag(1, 0), ...varint(-5n)]).int64()).toBe(-5n)
  })

  test('reads text, bytes, messages, floats and bools', () => {
    expect(open(block(3, new TextEncoder().encode('größe'))).text()).toBe('größe')
    expect(open(block(3, [1, 2, 3])).bytes()).toEqual(Uint8Array.of(1, 2, 3))
    expect(open([...tag(1, 0), 1]).bool()).toBe(true)
    const view = new DataView(new ArrayBuffer(8))
    view.setFloat64(0, 1.5, true)
    expect(open([...tag(1, 1), ...new Uint8Array(view.buffer)]).double()).toBe(1.5)
    view.setFloat32(0, 2.5, true)
    expect(open([...tag(1, 5), ...new Uint8Array(view.buffer, 0, 4)]).float()).toBe(2.5)
    const inner = open(block(2, [...tag(7, 0), 9])).message()
    expect(inner.next()).toBe(true)
    expect([inner.field, inner.count()]).toEqual([7, 9])
  })

  test('reads repeated integers, packed or not', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.boolean(), (values, isPacked) => {
        const all = values.flatMap(value => varint(BigInt(value)))
        const bytes = isPacked
          ? block(1, all)
          : values.flatMap(value => [...tag(1, 0), ...varint(BigInt(value))])
        const message = new MessageReader(Uint8Array.from(bytes))
        const read: number[] = []
        while (message.next()) message.countsInto(read)
        expect(read).toEqual(values)
      }),
    )
  })

  test('skips fields of all wire types', () => {
    const message = new MessageReader(
      Uint8Array.from([
        ...tag(1, 0),
        ...varint(300n),
        ...tag(2, 1),
        ...Array(8).fill(1),
        ...block(3, [1, 2]),
        ...tag(4, 5),
        1,
        2,
        3,
        4,
        ...tag(5, 0),
        6,
      ]),
    )
    while (message.next() && message.field < 5) message.skip()
    expect(message.count()).toBe(6)
  })

  test.each([
    ['a cut off integer', [...tag(1, 0), 0x80]],
    ['an integer of more than ten bytes', [...tag(1, 0), ...Array(10).fill(0xff), 1]],
    ['more bytes than are left', [...tag(1, 2), 5, 1]],
    ['a length of 2^64 - 1', [...tag(1, 2), ...varint(2n ** 64n - 1n)]],
    ['an unknown wire type', [...tag(1, 3)]],
    ['field 0', [...tag(0, 0), 1]],
    ['cut off 8 bytes', [...tag(1, 1), 1, 2, 3]],
  ])('refuses %s', (_, bytes) => {
    const message = new MessageReader(Uint8Array.from(bytes))
    expect(() => {
      while (message.next()) message.skip()
    }).toThrow(SheafError)
  })

  test('refuses values of another wire type, text that is not UTF-8, and numbers above 2^53', () => {
    expect(() => open([...tag(1, 0), 1]).bytes()).toThrow('wire type')
    expect(() => open(block(1, [1])).uint64()).toThrow('wire type')
    expect(() => open(block(1, [0xff, 0xfe])).text()).toThrow('not valid UTF-8')
    expect(() => open([...tag(1, 0), ...varint(2n ** 60n)]).count()).toThrow('above 2^53 - 1')
  })

  test('refuses messages that are nested too deeply', () => {
    let bytes: number[] = []
    for (let i = 0; i < 120; i++) bytes = block(1, bytes)
    let message = new MessageReader(Uint8Array.from(bytes))
    expect(() => {
      while (message.next()) message = message.message()
    }).toThrow('more than 100 levels')
  })

  test('ends for any bytes, with a typed error or without one', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), bytes => {
        const message = new MessageReader(bytes)
        try {
          while (message.next()) message.skip()
        } catch (error) {
          expect(error).toBeInstanceOf(SheafError)
        }
      }),
    )
  })
})

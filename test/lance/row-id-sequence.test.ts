/** Sequences of stable row ids. */
import { describe, expect, test } from 'vitest'
import { decodeRowIds } from '../../src/lance/row-id-sequence.js'

/** Encode a field of a message: a number, or bytes. */
function field(number: number, value: number | readonly number[]): number[] {
  return typeof value === 'number'
    ? [number << 3, ...varint(value)]
    : [(number << 3) | 2, ...varint(value.length), ...value]
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]
}

const segment = (type: number, content: readonly number[]) => field(1, field(type, content))
const range = (start: number, end: number) => [...field(1, start), ...field(2, end)]
const u16s = (base: number, ...offsets: number[]) =>
  field(1, [
    ...field(1, base),
    ...field(
      2,
      offsets.flatMap(offset => [offset % 256, offset >> 8]),
    ),
  ])
const u32s = (base: number, ...offsets: number[]) =>
  field(2, [
    ...field(1, base),
    ...field(
      2,
      offsets.flatMap(offset => [offset, 0, 0, 0]),
    ),
  ])
const u64s = (...values: number[]) =>
  field(
    3,
    field(
      2,
      values.flatMap(value => [value, 0, 0, 0, 0, 0, 0, 0]),
    ),
  )

function decoded(bytes: readonly number[], rows: number): number[] {
  const sequence = decodeRowIds(Uint8Array.from(bytes), rows, 'fragment 1')
  return Array.from({ length: sequence.count }, (_, i) => sequence.at(i))
}

describe('row ids', () => {
  test.each([
    ['a range', segment(1, range(5, 8)), [5, 6, 7]],
    ['a range with holes', segment(2, [...range(10, 15), ...field(3, u16s(0, 11, 13))]), [10, 12, 14]],
    ['a range with a bitmap', segment(3, [...range(20, 24), ...field(3, [0b1011])]), [20, 21, 23]],
    ['a sorted array', segment(4, u32s(100, 1, 4, 9)), [101, 104, 109]],
    ['an array', segment(5, u64s(9, 2, 3)), [9, 2, 3]],
    ['two segments', [...segment(1, range(5, 7)), ...segment(1, range(1, 3))], [5, 6, 1, 2]],
  ])('are %s', (_, bytes, ids) => {
    expect(decoded(bytes, ids.length)).toEqual(ids)
  })

  test.each([
    ['another number of ids', segment(1, range(0, 5)), 4],
    ['more ids than rows, without memory for them', segment(1, range(0, 2 ** 40)), 10],
    ['the end of a range before its start', segment(1, range(9, 3)), 1],
    ['an id twice', [...segment(1, range(5, 9)), ...segment(1, range(2, 7))], 9],
    ['a hole outside of the range', segment(2, [...range(10, 15), ...field(3, u16s(0, 30))]), 5],
    ['a bitmap of another length', segment(3, [...range(0, 100), ...field(3, [255])]), 8],
    ['an unknown segment', field(1, field(9, [])), 0],
    ['half a number', segment(4, field(1, [...field(1, 0), ...field(2, [1])])), 0],
  ])('with %s are refused', (_, bytes, rows) => {
    expect(() => decoded(bytes, rows)).toThrow(/row ids of fragment 1|protobuf/)
  })
})

/** Sets of rows are what sets of numbers are, however they are held. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Bitset } from '../../src/primitives/bitset.js'
import { RowSet } from '../../src/primitives/row-set.js'

/** Few of many rows, many of few, and what lies between. */
const lengths = fc.oneof(fc.integer({ min: 0, max: 70 }), fc.integer({ min: 900, max: 3000 }))

function rowsBelow(length: number): fc.Arbitrary<number[]> {
  if (length === 0) return fc.constant([])
  const some = fc.uniqueArray(fc.nat(length - 1), { maxLength: Math.min(length, 60) })
  return fc.oneof(
    some,
    some.map(rows => Array.from({ length }, (_, row) => row).filter(row => !rows.includes(row))),
  )
}

const pair = lengths.chain(length =>
  fc.record({
    length: fc.constant(length),
    a: rowsBelow(length),
    b: rowsBelow(length),
    from: fc.nat(length),
    size: fc.nat(length),
  }),
)

function ascending(rows: Iterable<number>): number[] {
  return [...rows].sort((x, y) => x - y)
}

/** The same rows, as each way of making a set gives them. */
function setsOf(length: number, rows: readonly number[]): RowSet[] {
  const bits = new Bitset(length)
  for (const row of rows) bits.add(row)
  return [
    RowSet.of(length, Uint32Array.from(ascending(rows))),
    RowSet.ofUnordered(length, Uint32Array.from([...rows, ...rows.slice(0, 3)])),
    RowSet.ofBits(bits),
    ...(rows.length === length ? [RowSet.all(length)] : []),
  ]
}

function check(set: RowSet, length: number, rows: Iterable<number>): void {
  const expected = ascending(rows)
  expect([...set.toIndices()]).toEqual(expected)
  expect([...set.toBits().toIndices()]).toEqual(expected)
  expect([set.length, set.count, set.isAll]).toEqual([length, expected.length, expected.length === length])
}

test('a set of rows behaves like a Set of numbers', () => {
  fc.assert(
    fc.property(pair, ({ length, a, b, from, size }) => {
      const [inA, inB] = [new Set(a), new Set(b)]
      const to = Math.min(length, from + size)
      for (const left of setsOf(length, a)) {
        check(left, length, a)
        const probes = [0, 1, length - 1, ...a.slice(0, 5), ...b.slice(0, 5)].filter(
          row => row >= 0 && row < length,
        )
        for (const row of probes) expect(left.has(row)).toBe(inA.has(row))
        const part = a.filter(row => row >= from && row < to).map(row => row - from)
        check(left.slice(from, to), to - from, part)
      }
      for (const left of setsOf(length, a)) {
        check(
          left.shifted(length + from + 3, from),
          length + from + 3,
          a.map(row => row + from),
        )
        for (const right of setsOf(length, b)) {
          const both = a.filter(row => inB.has(row))
          check(left.and(right), length, both)
          check(left.within(right.toBits()), length, both)
          check(left.or(right), length, new Set([...a, ...b]))
          check(
            left.andNot(right),
            length,
            a.filter(row => !inB.has(row)),
          )
        }
      }
    }),
    { numRuns: 80 },
  )
})

test('none and all of no rows are the same', () => {
  check(RowSet.none(0), 0, [])
  check(RowSet.all(0), 0, [])
  check(
    RowSet.all(33),
    33,
    Array.from({ length: 33 }, (_, row) => row),
  )
  check(RowSet.none(33), 33, [])
})

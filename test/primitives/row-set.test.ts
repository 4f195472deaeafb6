/** Sets of rows are what sets of numbers are, however they are held. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Bitset } from '../../src/primitives/bitset.js'
import { RowSet } from '../../src/primitives/row-set.js'

const length = 200
const rows = fc.oneof(
  fc.uniqueArray(fc.nat(length - 1), { maxLength: 5 }),
  fc.uniqueArray(fc.nat(length - 1), { minLength: 20, maxLength: 150 }),
  fc.constantFrom(
    [],
    Array.from({ length }, (_, row) => row),
  ),
)

function setOf(numbers: readonly number[]): RowSet {
  if (numbers.length === length) return RowSet.all(length)
  return RowSet.of(length, Uint32Array.from(numbers).sort())
}

test('they are combined, cut and told apart as sets are', () => {
  fc.assert(
    fc.property(rows, rows, fc.nat(length), fc.nat(length), (some, others, x, y) => {
      const [a, b, bits] = [setOf(some), setOf(others), new Bitset(length)]
      for (const row of others) bits.add(row)
      const [from, to] = [Math.min(x, y), Math.max(x, y)]
      const all = Array.from({ length }, (_, row) => row)
      const [inA, inB] = [new Set(some), new Set(others)]
      const both = all.filter(row => inA.has(row) && inB.has(row))
      expect([...a.and(b).toIndices()]).toEqual(both)
      expect([...a.within(bits).toIndices()]).toEqual(both)
      expect([...a.or(b).toIndices()]).toEqual(all.filter(row => inA.has(row) || inB.has(row)))
      expect([...a.andNot(b).toIndices()]).toEqual(all.filter(row => inA.has(row) && !inB.has(row)))
      const cut = all.slice(from, to).filter(row => inA.has(row))
      expect([...a.slice(from, to).toIndices()]).toEqual(cut.map(row => row - from))
      expect(a.slice(from, to).count).toBe(cut.length)
      expect(all.filter(row => a.has(row))).toEqual([...a.toIndices()])
      expect(a.toBits().toIndices()).toEqual(a.toIndices())
      expect([a.count, a.isAll]).toEqual([some.length, some.length === length])
    }),
  )
})

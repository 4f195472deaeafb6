import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Bitset } from '../../src/primitives/bitset.js'

const members = fc.integer({ min: 0, max: 200 }).chain(length =>
  fc.record({
    length: fc.constant(length),
    a: fc.uniqueArray(fc.nat(Math.max(0, length - 1)), { maxLength: length }),
    b: fc.uniqueArray(fc.nat(Math.max(0, length - 1)), { maxLength: length }),
  }),
)

function setOf(length: number, indices: readonly number[]): Bitset {
  const set = new Bitset(length)
  for (const index of indices) if (index < length) set.add(index)
  return set
}

test('behaves like a Set of numbers', () => {
  fc.assert(
    fc.property(members, ({ length, a, b }) => {
      const inA = new Set(a.filter(i => i < length))
      const inB = new Set(b.filter(i => i < length))
      const all = Array.from({ length }, (_, i) => i)
      const check = (set: Bitset, expected: number[]) => {
        expect([...set.toIndices()]).toEqual(expected)
        expect(set.count()).toBe(expected.length)
        expect(all.filter(i => set.has(i))).toEqual(expected)
      }
      const left = setOf(length, a)
      const right = setOf(length, b)
      check(
        left,
        all.filter(i => inA.has(i)),
      )
      check(
        left.clone().and(right),
        all.filter(i => inA.has(i) && inB.has(i)),
      )
      check(
        left.intersection(right),
        all.filter(i => inA.has(i) && inB.has(i)),
      )
      check(
        left.clone().or(right),
        all.filter(i => inA.has(i) || inB.has(i)),
      )
      check(
        left.clone().andNot(right),
        all.filter(i => inA.has(i) && !inB.has(i)),
      )
      check(
        left.clone().not(),
        all.filter(i => !inA.has(i)),
      )
      check(Bitset.full(length), all)
      const ranks = all.filter((_, i) => i < inA.size && inB.has(i))
      const inOrder = all.filter(i => inA.has(i))
      expect([...left.selectAll(ranks)]).toEqual(ranks.map(rank => inOrder[rank]))
      expect(ranks.map(rank => left.select(rank))).toEqual([...left.selectAll(ranks)])
      expect(left.isEmpty()).toBe(inA.size === 0)
      expect(left.isFull()).toBe(inA.size === length)
      expect(Bitset.full(length).isFull()).toBe(true)
      const [from = 0, to = 0] = b
      check(
        Bitset.range(length, from, Math.min(to, length)),
        all.filter(i => i >= from && i < to),
      )
      const [first, end] = [Math.min(from, length), Math.max(Math.min(from, length), Math.min(to, length))]
      const part = left.slice(first, end)
      expect([...part.toIndices()]).toEqual(inOrder.filter(i => i >= first && i < end).map(i => i - first))
      expect(left.view(first, end)).toEqual(part)
      const longer = setOf(length + first, b)
      longer.addShifted(left, first)
      expect([...longer.toIndices()]).toEqual(
        [...new Set([...inB, ...inOrder.map(i => i + first)])].sort((x, y) => x - y),
      )
      expect([...left.toIndices(3)]).toEqual(all.filter(i => inA.has(i)).slice(0, 3))
    }),
  )
})

test('bits past the end of a byte bitmap are dropped', () => {
  expect(Bitset.fromBytes(new Uint8Array([0xff, 0xff]), 11).count()).toBe(11)
})

test('many bits at once equal bits one by one', () => {
  fc.assert(
    fc.property(fc.uint32Array({ maxLength: 40 }), words => {
      const set = new Bitset(32 * words.length, words)
      let count = 0
      for (let i = 0; i < set.length; i++) count += Number(set.has(i))
      expect(set.count()).toBe(count)
    }),
  )
})

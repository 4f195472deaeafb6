import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NumberRuns } from '../../src/primitives/number-runs.js'

/** Ascending and distinct, with runs, near 0 and near 2^53. */
const numbers = fc
  .tuple(
    fc.constantFrom(0, 1, 127, 2 ** 32, 2 ** 53 - 100_000),
    fc.array(
      fc.tuple(
        fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 400 })),
        fc.integer({ min: 1, max: 150 }),
      ),
      {
        maxLength: 40,
      },
    ),
  )
  .map(([first, runs]) => {
    const all: number[] = []
    let next = first
    for (const [gap, length] of runs) {
      for (let i = 0; i < length; i++) all.push(next++)
      next += gap
    }
    return all
  })

test('a set of runs gives its numbers and their ranks, also after a round trip through bytes', () => {
  fc.assert(
    fc.property(numbers, fc.nat(), fc.nat(), (all, a, b) => {
      const runs = NumberRuns.of(Float64Array.from(all))
      const again = NumberRuns.decode(runs.encode())!
      expect(again).toEqual(runs)
      expect(again.count).toBe(all.length)
      const [from, to] = [a % (all.length + 1), b % (all.length + 1)].sort((x, y) => x - y) as [
        number,
        number,
      ]
      const target = new Float64Array(to - from)
      again.copy(from, to, target)
      expect([...target]).toEqual(all.slice(from, to))
      for (const [rank, number] of all.entries()) {
        expect(again.at(rank)).toBe(number)
        expect(again.rankOf(number)).toBe(rank)
        expect(again.has(number)).toBe(true)
        const next = number + 1
        expect(again.rankOf(next)).toBe(rank + 1)
        expect(again.has(next)).toBe(all[rank + 1] === next)
      }
    }),
  )
})

test('intersects with other numbers, whichever of the two are more', () => {
  fc.assert(
    fc.property(numbers, numbers, fc.integer({ min: -200, max: 200 }), (all, others, shift) => {
      const shifted = others.map(number => number + shift).filter(number => number >= 0)
      const runs = NumberRuns.of(Float64Array.from(all))
      const there = new Map(all.map((number, rank) => [number, rank]))
      const expected = shifted.filter(number => there.has(number)).map(number => there.get(number))
      expect([...runs.ranksOf(Float64Array.from(shifted))]).toEqual(expected)
    }),
  )
})

test('a run costs two bytes, not one per number', () => {
  expect(NumberRuns.range(0, 128).encode()).toEqual(Uint8Array.of(0, 127))
  expect(NumberRuns.range(5, 0).encode()).toEqual(new Uint8Array(0))
})

test.each([
  ['a gap without a length', [0]],
  ['a varint that does not end', [0x80]],
  ['a varint of nine bytes', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0]],
  ['two runs that touch', [0, 0, 0, 0]],
  ['numbers beyond 2^53', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 1]],
  ['more numbers than a fragment can have', [0, 0xff, 0xff, 0xff, 0xff, 0x0f]],
])('%s is no set of numbers', (_, bytes) => {
  expect(NumberRuns.decode(Uint8Array.from(bytes))).toBeNull()
})

test('any bytes are numbers or are refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 30 }), bytes => {
      const runs = NumberRuns.decode(bytes)
      if (runs !== null) expect(runs.count).toBeGreaterThanOrEqual(runs.starts.length)
    }),
  )
})

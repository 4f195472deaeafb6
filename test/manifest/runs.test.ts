/** Sets of numbers as runs against sets of numbers as sets. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  countNumbers,
  difference,
  hasNumber,
  intersection,
  lastOf,
  numbersFrom,
  type Runs,
  union,
  withNext,
} from '../../src/manifest/runs.js'

const numbers = fc
  .uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 25 })
  .map(all => all.sort(ascending))
const bound = fc.integer({ min: 0, max: 42 })

function ascending(a: number, b: number): number {
  return a - b
}

function runsOf(all: readonly number[]): Runs {
  return all.reduce<Runs>((runs, n) => withNext(runs, n), [])
}

function numbersOf(runs: Runs): number[] {
  return runs.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i))
}

/** Ascending, disjoint, not adjacent, none empty. */
function isNormal(runs: Runs): boolean {
  return runs.every(([first, last], i) => first <= last && (i === 0 || first > runs[i - 1]![1] + 1))
}

describe('runs', () => {
  test('built number by number have the numbers, in as few pairs as possible', () => {
    fc.assert(
      fc.property(numbers, all => {
        const runs = runsOf(all)
        expect(numbersOf(runs)).toEqual(all)
        expect(isNormal(runs)).toBe(true)
        expect(countNumbers(runs)).toBe(all.length)
        expect(lastOf(runs)).toBe(all.at(-1))
        for (let n = 0; n <= 42; n++) expect(hasNumber(runs, n)).toBe(all.includes(n))
      }),
    )
    expect(runsOf([1, 2, 3, 5])).toEqual([
      [1, 3],
      [5, 5],
    ])
  })

  test('cut by other runs give their intersection and difference', () => {
    fc.assert(
      fc.property(numbers, numbers, (all, others) => {
        const inside = intersection(runsOf(all), runsOf(others))
        const outside = difference(runsOf(all), runsOf(others))
        expect(numbersOf(inside)).toEqual(all.filter(n => others.includes(n)))
        expect(numbersOf(outside)).toEqual(all.filter(n => !others.includes(n)))
        expect(isNormal(inside) && isNormal(outside)).toBe(true)
      }),
    )
  })

  test('of a hundred thousand sparse numbers are built, cut and joined quickly', () => {
    const begun = performance.now()
    const sparse: Runs = Array.from({ length: 100_000 }, (_, i) => [2 * i, 2 * i])
    const many = union(Array.from({ length: 10_000 }, () => [[0, 300_000]] as const))
    expect(difference(sparse, intersection(sparse, many))).toEqual([])
    let grown: Runs = []
    for (let n = 0; n < 5000; n++) grown = withNext(grown, 2 * n)
    expect(countNumbers(grown)).toBe(5000)
    // What compares every run with every other takes minutes.
    expect(performance.now() - begun).toBeLessThan(2000)
  })

  test('of several sets are their union', () => {
    fc.assert(
      fc.property(fc.array(numbers, { maxLength: 5 }), sets => {
        const runs = union(sets.map(runsOf))
        expect(numbersOf(runs)).toEqual([...new Set(sets.flat())].sort(ascending))
        expect(isNormal(runs)).toBe(true)
      }),
    )
  })

  test('are paged through in both directions', () => {
    fc.assert(
      fc.property(numbers, fc.option(bound, { nil: undefined }), fc.nat(10), (all, after, limit) => {
        const runs = runsOf(all)
        const up = all.filter(n => after === undefined || n > after)
        const down = all.toReversed().filter(n => after === undefined || n < after)
        expect(numbersFrom(runs, after, limit, false)).toEqual(up.slice(0, limit))
        expect(numbersFrom(runs, after, limit, true)).toEqual(down.slice(0, limit))
      }),
    )
  })

  test('give a page from the middle of a million at the cost of the page', () => {
    const runs: Runs = Array.from({ length: 1_000_000 }, (_, i) => [2 * i, 2 * i])
    const begun = performance.now()
    let sum = 0
    for (let i = 0; i < 1000; i++) {
      for (const n of numbersFrom(runs, 1000, 2, true)) sum += n
      for (const n of numbersFrom(runs, 1_999_000, 2, false)) sum += n
    }
    expect(sum).toBe(1000 * (998 + 996 + 1_999_002 + 1_999_004))
    // Walking over what is not asked for takes a second and more.
    expect(performance.now() - begun).toBeLessThan(500)
  })
})

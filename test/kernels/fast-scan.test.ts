import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import type { Arena } from '../../src/kernels/arena.js'
import { roundTables, scanNibbles, sumRow } from '../../src/kernels/fast-scan.js'
import { closeNearest, openNearest } from '../../src/kernels/nearest-lists.js'
import { onTwins } from '../support/twins.js'
import { gaussian } from '../support/vectors.js'

const [list, tables, rounded, ordinals, scratch, heap] = [0, 131_072, 262_144, 393_216, 458_752, 459_264]
const bytes = 524_288

function round(arena: Arena, entries: Float32Array) {
  new Float32Array(arena.buffer, tables, entries.length).set(entries)
  roundTables(arena, tables, entries.length / 16, rounded)
  const [bias, step] = new Float32Array(arena.buffer, rounded, 2)
  return {
    bias: bias!,
    step: step!,
    bytes: new Uint8Array(arena.buffer, rounded + 64, entries.length).slice(),
  }
}

describe('rounded tables', () => {
  test('approximate the entries', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 40 }), (seed, parts) => {
        const entries = gaussian(parts * 16, seededRandom(seed))
        const { bias, step, bytes: steps } = onTwins(bytes, arena => round(arena, entries))
        const row = Array.from({ length: parts }, (_, part) => part * 16 + ((seed + part * 7) % 16))
        const sum = row.reduce((total, entry) => total + entries[entry]!, 0)
        const guess = row.reduce((total, entry) => total + steps[entry]!, 0)
        expect(Math.abs(bias + step * guess - sum)).toBeLessThan(parts * step * 0.51)
      }),
      { numRuns: 15 },
    )
  })

  test('have sums that fit a u16, however many parts there are', () => {
    const parts = 1500
    const entries = new Float32Array(parts * 16).map((_, i) => (i % 16 === 15 ? 1 + (i % 3) / 100 : -3))
    onTwins(bytes, arena => {
      round(arena, entries)
      new Uint8Array(arena.buffer, list, parts * 16).fill(0xff)
      const sum = sumRow(new Uint8Array(arena.buffer), list, 3, parts, parts * 16, rounded)
      expect(sum).toBeGreaterThan(60_000)
      expect(sum).toBeLessThanOrEqual(65_535)
      new Uint32Array(arena.buffer, ordinals, 32).set([...Array(32).keys()])
      openNearest(arena, heap, 32, 0)
      scanNibbles(arena, list, 32, parts, rounded, scratch, ordinals, 0)
      const hits = closeNearest(arena)
      expect(hits.distances[0]! / (1.01 * parts)).toBeCloseTo(1, 1)
      return hits
    })
  })

  test('can be built from entries that are all equal, tiny, huge or NaN', () => {
    for (const entry of [0, 5, 1e-44, 3e38, Infinity, -Infinity, Number.NaN]) {
      for (const other of [entry, 1, -3e38]) {
        const entries = new Float32Array(32).map((_, i) => (i % 5 === 0 ? other : entry))
        const { step } = onTwins(bytes, arena => round(arena, entries))
        expect(step).toBeGreaterThan(0)
      }
    }
  })
})

test('the nearest rows are found for any distances, and any number of results', () => {
  const shape = fc.record({
    seed: fc.nat(),
    parts: fc.integer({ min: 1, max: 9 }),
    rows: fc.integer({ min: 1, max: 200 }),
    k: fc.constantFrom(1, 3, 50),
    base: fc.constantFrom(0, 0.3, 1e7, -1e7, 3e38),
  })
  fc.assert(
    fc.property(shape, ({ seed, parts, rows, k, base }) => {
      const random = seededRandom(seed)
      const entries = gaussian(parts * 16, random)
      const codes = Uint8Array.from({ length: Math.ceil(rows / 32) * parts * 16 }, () => 256 * random())
      const hits = onTwins(bytes, arena => {
        round(arena, entries)
        new Uint8Array(arena.buffer, list, codes.length).set(codes)
        new Uint32Array(arena.buffer, ordinals, rows).set(
          Array.from({ length: rows }, (_, row) => rows - row),
        )
        openNearest(arena, heap, k, 0)
        scanNibbles(arena, list, rows, parts, rounded, scratch, ordinals, base)
        return closeNearest(arena)
      })
      expect(hits.ordinals.length).toBe(Math.min(k, rows))
    }),
    { numRuns: 25 },
  )
})

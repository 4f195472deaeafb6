import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SheafError } from '../../../src/errors.js'
import { addRows, RowsEncoder, writeRows } from '../../../src/indexes/scalar/encoded-rows.js'
import { Bitset } from '../../../src/primitives/bitset.js'

const length = 5000

/** Scattered rows, runs of them, and about every second one of a stretch. */
const rows = fc
  .array(
    fc.oneof(
      fc.nat(length - 1).map(row => [row]),
      fc.tuple(fc.nat(length - 1), fc.nat(600)).map(([from, size]) => range(from, from + size, 1)),
      fc.tuple(fc.nat(length - 1), fc.nat(600), fc.integer({ min: 2, max: 9 })).map(([from, size, step]) => {
        return range(from, from + size, step)
      }),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map(parts => [...new Set(parts.flat())].sort((a, b) => a - b))

function range(from: number, to: number, step: number): number[] {
  const all: number[] = []
  for (let row = from; row <= Math.min(to, length - 1); row += step) all.push(row)
  return all
}

function encoded(encoder: RowsEncoder, set: readonly number[]): Uint8Array {
  for (const row of set) encoder.add(row)
  const out = new Uint8Array(encoder.bound() + 1).fill(0xaa)
  return out.subarray(0, encoder.write(out, 1))
}

/** Both ways of reading, which must agree. */
function decoded(bytes: Uint8Array, from: number, count: number): number[] {
  const bits = new Bitset(length)
  const numbers = new Uint32Array(count)
  const read = [
    () => addRows({ bytes, length }, from, bytes.length, count, bits),
    () => writeRows({ bytes, length }, from, bytes.length, count, numbers, 0),
  ].map(work => {
    try {
      work()
      return null
    } catch (error) {
      expect(error).toBeInstanceOf(SheafError)
      expect((error as SheafError).code).toBe(18)
      return error as Error
    }
  })
  expect(read[0] === null).toBe(read[1] === null)
  if (read[0] != null) throw read[0]
  expect([...bits.toIndices()]).toEqual([...numbers])
  return [...numbers]
}

test('a set is read as it was written, one after the other', () => {
  const encoder = new RowsEncoder(length)
  const tags = new Set<number>()
  fc.assert(
    fc.property(rows, set => {
      const bytes = encoded(encoder, set)
      tags.add(bytes[1]!)
      expect(bytes.length - 2).toBeLessThanOrEqual(Math.ceil(length / 8) + 2)
      expect(decoded(bytes, 1, set.length)).toEqual(set)
    }),
  )
  expect([...tags].sort()).toEqual([0, 1, 2])
})

test('damaged bytes are corruption, or another set with as many rows', () => {
  fc.assert(
    fc.property(rows, fc.nat(), fc.nat(255), fc.boolean(), (set, place, byte, isCut) => {
      const whole = encoded(new RowsEncoder(length), set)
      const at = 1 + (place % (whole.length - 1))
      const bytes = isCut ? whole.slice(0, at) : whole.slice()
      if (!isCut) bytes[at] = byte
      let found: number[]
      try {
        found = decoded(bytes, 1, set.length)
      } catch (error) {
        expect(error).toBeInstanceOf(SheafError)
        return
      }
      expect(found.length).toBe(set.length)
      expect(found.every((row, i) => row < length && (i === 0 || row > found[i - 1]!))).toBe(true)
      if (isCut) expect.unreachable('a set that is cut off is no set')
    }),
    { numRuns: 400 },
  )
})

test('a repeated row is skipped', () => {
  expect(decoded(encoded(new RowsEncoder(length), [3, 3, 4, 4, 4]), 1, 2)).toEqual([3, 4])
})

test('a row past the last one is corruption, in any encoding', () => {
  for (const set of [[4999], range(4000, 4999, 1), range(4000, 4999, 2).concat([4999])]) {
    const bytes = encoded(new RowsEncoder(length), set)
    const read = () => addRows({ bytes, length: 4999 }, 1, bytes.length, set.length, new Bitset(4999))
    expect(read).toThrow('damaged')
  }
})

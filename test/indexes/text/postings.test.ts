import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type EncodedPostings,
  encodePostings,
  type TermRows,
} from '../../../src/indexes/text/encode-postings.js'
import { blockDocs } from '../../../src/indexes/text/packed.js'
import { Postings } from '../../../src/indexes/text/postings.js'
import { systemClock } from '../../../src/primitives/clock.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { runTask } from '../../../src/primitives/task.js'

interface Row {
  readonly ordinal: number
  readonly positions: readonly number[]
}

/** Without a pause, so at once. */
const patient = new Pacer(undefined, { ...systemClock, elapsed: () => 0 })
const encoded = (rows: TermRows) => runTask(encodePostings(rows, patient)) as EncodedPostings

/** Rows of a term, encoded and opened again, at some place among other bytes. */
function reopened(rows: readonly Row[], lengths = new Uint32Array(0), at = 0): Postings {
  const { postings, positions } = encoded({
    ordinals: Uint32Array.from(rows, ({ ordinal }) => ordinal),
    frequencies: Uint32Array.from(rows, row => row.positions.length),
    positions: Uint32Array.from(rows.flatMap(row => row.positions)),
    lengths,
  })
  const placed = (bytes: Uint8Array) => {
    const all = new Uint8Array(at + bytes.length + 4).fill(255)
    all.set(bytes, at)
    return { bytes: all, at, end: at + bytes.length }
  }
  return new Postings(rows.length, placed(postings), placed(positions!), { name: 'test', lengths })
}

function check(postings: Postings, rows: readonly Row[], lengths = new Uint32Array(0)): void {
  const cursor = postings.cursor()
  expect([postings.docs, postings.blocks]).toEqual([rows.length, Math.ceil(rows.length / blockDocs)])
  // Blocks in any order.
  for (let b = postings.blocks - 1; b >= 0; b--) {
    const block = rows.slice(b * blockDocs, (b + 1) * blockDocs)
    cursor.load(b)
    expect([cursor.block, cursor.count]).toEqual([b, block.length])
    expect([...cursor.docs.subarray(0, cursor.count)]).toEqual(block.map(({ ordinal }) => ordinal))
    expect([...cursor.frequencies.subarray(0, cursor.count)]).toEqual(block.map(row => row.positions.length))
    expect(cursor.last(b)).toBe(block.at(-1)!.ordinal)
    expect(cursor.mostFrequent(b)).toBe(Math.max(...block.map(row => row.positions.length)))
    expect(cursor.shortest(b)).toBe(
      Math.min(...block.map(({ ordinal }) => lengths[ordinal] ?? 0xffffffff), 0xffffffff),
    )
    for (const i of [...block.keys(), 0, block.length >>> 1]) {
      expect([...cursor.positions(i).subarray(0, cursor.frequencies[i])]).toEqual(block[i]!.positions)
    }
  }
  checkSingleRows(postings, rows)
}

/** Rows are read one by one, before the frequencies of their block are decoded. */
function checkSingleRows(postings: Postings, rows: readonly Row[]): void {
  const cursor = postings.cursor()
  for (const step of [1, 5]) {
    for (let i = 0; i < rows.length; i += step) {
      cursor.load(Math.floor(i / blockDocs))
      const { positions } = rows[i]!
      expect(cursor.frequencyAt(i % blockDocs)).toBe(positions.length)
      expect([...cursor.positions(i % blockDocs).subarray(0, positions.length)]).toEqual(positions)
    }
  }
}

const rowsOf = (gaps: readonly number[], positions: readonly (readonly number[])[]): Row[] => {
  let ordinal = -1
  return gaps.map((gap, i) => {
    ordinal += gap + 1
    return { ordinal, positions: positions[i % positions.length]! }
  })
}

test('rows survive a round trip, with any gaps', () => {
  const gaps = fc.integer({ min: 0, max: 23 }).chain(bits => fc.array(fc.nat(2 ** bits), { maxLength: 300 }))
  const places = fc
    .uniqueArray(fc.nat(1e5), { minLength: 1, maxLength: 12 })
    .map(all => all.sort((a, b) => a - b))
  fc.assert(
    fc.property(gaps, fc.array(places, { minLength: 1, maxLength: 7 }), (chosen, positions) => {
      const rows = rowsOf(chosen, positions)
      check(reopened(rows, undefined, 8), rows)
    }),
    { numRuns: 60 },
  )
})

test.each([0, 1, 127, 128, 129, 255, 256, 257])('%i rows', count => {
  const rows = rowsOf(new Array(count).fill(0), [[3]])
  const lengths = Uint32Array.from({ length: count }, (_, i) => 9 + ((i * 7) % 131))
  check(reopened(rows, lengths), rows, lengths)
  const sparse = rowsOf(
    rows.map(({ ordinal }) => ordinal % 9),
    [[1], [0, 2], [4, 5, 6, 7, 300, 70_000]],
  )
  check(reopened(sparse), sparse)
  // Frequencies of one bit, with positions of one byte and of several bytes.
  const twice = rowsOf(
    rows.map(({ ordinal }) => ordinal % 5),
    [[1], [0, 2], [7], [9], [3, 5]],
  )
  check(reopened(twice), twice)
  const far = twice.map(({ ordinal, positions }) => ({ ordinal, positions: positions.map(at => 100 * at) }))
  check(reopened(far), far)
})

test('rows up to the largest possible number', () => {
  const last = 2 ** 32 - 2
  for (const rest of [[], Array.from({ length: 200 }, (_, i) => i)]) {
    for (const before of [[], [2 ** 31 - 1, 2 ** 31]]) {
      const rows = [...rest, ...before, last].map(ordinal => ({ ordinal, positions: [ordinal] }))
      check(reopened(rows), rows)
    }
  }
  const tail = Array.from({ length: 129 }, (_, i) => ({ ordinal: last - 128 + i, positions: [i] }))
  check(reopened(tail), tail)
  const wide = Array.from({ length: 128 }, (_, i) => ({ ordinal: i < 127 ? i : last, positions: [i] }))
  check(reopened(wide), wide)
})

test('rows with a very high term frequency', () => {
  for (const count of [1, 128, 130]) {
    const frequencies = Uint32Array.from({ length: count }, (_, i) =>
      i === 0 ? 2 ** 32 - 1 : 1 + i * 70_001,
    )
    const ordinals = Uint32Array.from(frequencies, (_, i) => i)
    const { postings, positions } = encoded({
      ordinals,
      frequencies,
      positions: null,
      lengths: frequencies,
    })
    expect(positions).toBeNull()
    const bytes = { bytes: postings, at: 0, end: postings.length }
    const opened = new Postings(count, bytes, null, { name: 'test', lengths: frequencies })
    const cursor = opened.cursor()
    const read: number[] = []
    for (let b = 0; b < opened.blocks; b++) {
      cursor.load(b)
      read.push(...cursor.frequencies.subarray(0, cursor.count))
    }
    expect(read).toEqual([...frequencies])
    expect(cursor.mostFrequent(0)).toBe(2 ** 32 - 1)
    expect(() => cursor.positions(0)).toThrow('without positions')
  }
})

test('damaged postings whose checksum fits are refused or read, without a hang', () => {
  const positions = fc.constantFrom([0], [3, 9], [1, 2, 300, 70_000])
  const damage = fc.record({
    at: fc.double({ min: 0, max: 0.9999, noNaN: true }),
    bits: fc.integer({ min: 1, max: 255 }),
  })
  let refused = 0
  fc.assert(
    fc.property(
      fc.constantFrom(1, 90, 128, 300),
      fc.array(positions, { minLength: 1, maxLength: 5 }),
      fc.array(damage, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      (count, places, damages, inPositions) => {
        const rows = rowsOf(new Array(count).fill(5), places)
        const encodedRows = encoded({
          ordinals: Uint32Array.from(rows, ({ ordinal }) => ordinal),
          frequencies: Uint32Array.from(rows, row => row.positions.length),
          positions: Uint32Array.from(rows.flatMap(row => row.positions)),
          lengths: new Uint32Array(6 * count).fill(9),
        })
        const broken = (inPositions ? encodedRows.positions : encodedRows.postings)!
        for (const { at, bits } of damages) broken[Math.floor(at * broken.length)]! ^= bits
        const whole = (bytes: Uint8Array) => ({ bytes, at: 0, end: bytes.length })
        const owner = { name: 'test', lengths: new Uint32Array(6 * count) }
        try {
          const opened = new Postings(
            count,
            whole(encodedRows.postings),
            whole(encodedRows.positions!),
            owner,
          )
          const cursor = opened.cursor()
          for (let b = 0; b < opened.blocks; b++) {
            cursor.load(b)
            for (let i = 0; i < cursor.count; i++) cursor.positions(i)
          }
        } catch (error) {
          expect(error).toMatchObject({ code: 18 })
          refused++
        }
      },
    ),
    { numRuns: 500 },
  )
  expect(refused).toBeGreaterThan(100)
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { equalBytes } from '../../src/sql/equal-bytes.js'

const word = fc.constantFrom(
  ...['', 'a', 'b', 'ab', 'abcd', 'abce', 'abcdefg', 'abcdefgh', 'abcdefgx', 'abcdefghi', '\0', 'a\0'],
)

test('finds exactly the rows that are the string, short or long, up to the last byte of the buffer', () => {
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 200 }),
      word,
      fc.nat({ max: 9 }),
      fc.boolean(),
      (words, wanted, spare, isMasked) => {
        const offsets = Int32Array.from([0, ...words].map((_, i) => words.slice(0, i).join('').length))
        // Bytes after the last row may be there, and may look like more of it.
        const bytes = new TextEncoder().encode(
          words.join('') + wanted.padEnd(spare, wanted || 'a').slice(0, spare),
        )
        const mask = isMasked ? new Uint32Array((words.length + 31) >>> 5).fill(0x55555555) : null
        if (mask !== null && (words.length & 31) !== 0)
          mask[mask.length - 1]! &= (1 << (words.length & 31)) - 1
        const out = new Uint32Array((words.length + 31) >>> 5)
        equalBytes({ bytes, offsets }, new TextEncoder().encode(wanted), out, words.length, mask)
        const found = words.map((_, i) => ((out[i >>> 5]! >>> (i & 31)) & 1) === 1)
        expect(found).toEqual(words.map((text, i) => text === wanted && (mask === null || i % 2 === 0)))
      },
    ),
    { numRuns: 3000 },
  )
})

test.each([31, 32, 33, 64, 70])('%i rows of one byte each, with nothing behind them', length => {
  const offsets = Int32Array.from({ length: length + 1 }, (_, i) => i)
  const out = new Uint32Array((length + 31) >>> 5)
  equalBytes({ bytes: new Uint8Array(length).fill(97), offsets }, Uint8Array.of(97), out, length, null)
  for (let row = 0; row < out.length * 32; row++) {
    expect(((out[row >>> 5]! >>> (row & 31)) & 1) === 1).toBe(row < length)
  }
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { equalAny, equalBytes, findBytes } from '../../../src/sql/kernels/equal-bytes.js'

const word = fc.constantFrom(
  ...['', 'a', 'b', 'ab', 'abcd', 'abce', 'abcdefg', 'abcdefgh', 'abcdefgx', 'abcdefghi', '\0', 'a\0'],
  ...['abcdefghijk', 'xabcdefghi', 'yyabcdefghijk', 'gh', 'h'],
)

/** Rows one after the other, bytes behind the last that may look like more of it, and rows that matter. */
const rows = fc.record({
  words: fc.oneof(
    fc.array(word, { maxLength: 200 }),
    // Whole words of the bitmap without a short row, so that there is something before and behind each.
    fc.array(fc.constantFrom('abcdefghi', 'abcdefghijk', 'xabcdefghi'), { minLength: 64, maxLength: 130 }),
  ),
  spare: fc.constantFrom('', 'a', 'abcdefghi'),
  /** Rows i with i % every = 0 matter. */
  every: fc.constantFrom(1, 2, 3, 7),
})

function laidOut({ words, spare, every }: { words: string[]; spare: string; every: number }) {
  const encoder = new TextEncoder()
  const offsets = new Int32Array(words.length + 1)
  for (const [i, text] of words.entries()) offsets[i + 1] = offsets[i]! + text.length
  const mask = new Uint32Array((words.length + 31) >>> 5)
  for (let i = 0; i < words.length; i += every) mask[i >>> 5]! |= 1 << (i & 31)
  return {
    column: { bytes: encoder.encode(words.join('') + spare), offsets },
    mask: every === 1 ? null : mask,
    out: new Uint32Array(mask.length),
    matters: (row: number) => row % every === 0,
  }
}

function found(out: Uint32Array): number[] {
  return Array.from({ length: out.length * 32 }, (_, row) => row).filter(
    row => ((out[row >>> 5]! >>> (row & 31)) & 1) === 1,
  )
}

const encode = (text: string) => new TextEncoder().encode(text)

test.each([
  ['whole', (text: string, wanted: string) => text === wanted],
  ['start', (text: string, wanted: string) => text.startsWith(wanted)],
  ['end', (text: string, wanted: string) => text.endsWith(wanted)],
] as const)(
  'finds exactly the rows with the string as their %s, up to the last byte of the buffer',
  (anchor, isFit) => {
    fc.assert(
      fc.property(rows, word, (given, wanted) => {
        const { column, mask, out, matters } = laidOut(given)
        findBytes(column, encode(wanted), anchor, out, given.words.length, mask)
        const expected = [...given.words.keys()].filter(
          row => matters(row) && isFit(given.words[row]!, wanted),
        )
        expect(found(out)).toEqual(expected)
      }),
      { numRuns: 2000 },
    )
  },
)

test('the search finds exactly the rows that equal one of several strings', () => {
  fc.assert(
    fc.property(rows, fc.array(word, { maxLength: 5 }), (given, wanted) => {
      const { column, mask, out, matters } = laidOut(given)
      equalAny(column, wanted.map(encode), out, given.words.length, mask)
      const expected = [...given.words.keys()].filter(
        row => matters(row) && wanted.includes(given.words[row]!),
      )
      expect(found(out)).toEqual(expected)
    }),
    { numRuns: 2000 },
  )
})

test.each([31, 32, 33, 64, 70])('%i rows of one byte each, at the end of the buffer', length => {
  const offsets = Int32Array.from({ length: length + 1 }, (_, i) => i)
  const out = new Uint32Array((length + 31) >>> 5)
  equalBytes({ bytes: new Uint8Array(length).fill(97), offsets }, Uint8Array.of(97), out, length, null)
  expect(found(out)).toEqual(Array.from({ length }, (_, row) => row))
})

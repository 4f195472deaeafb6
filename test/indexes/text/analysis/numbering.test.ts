/** The terms of many texts as numbers are those of each text. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Analyzer } from '../../../../src/indexes/text/analysis/analyzer.js'
import type { TextOptions } from '../../../../src/indexes/text/options.js'
import { lettersTokenizer, plainAnalyzer, spacedTexts, texts } from '../../../support/words.js'

const encoder = new TextEncoder()

/** Reads the texts one after the other, from the midst of a buffer, and compares each with its tokens. */
function check(analyzer: Analyzer, read: readonly (string | Uint8Array)[]): void {
  const numbering = analyzer.numbering()
  for (const text of read) {
    const bytes = typeof text === 'string' ? encoder.encode(text) : text
    const around = new Uint8Array(bytes.length + 2).fill(0x61)
    around.set(bytes, 1)
    const count = numbering.read(around, 1, 1 + bytes.length)
    const expected = analyzer.tokens(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
    const got = Array.from({ length: count }, (_, i) => [
      numbering.terms[numbering.numbers[i]!],
      numbering.positions[i],
    ])
    expect(got).toEqual(expected.map(({ term, position }) => [term, position]))
    if (typeof text === 'string') expect(analyzer.tokens(text)).toEqual(expected)
  }
  expect(new Set(numbering.terms).size).toBe(numbering.terms.length)
}

const someOptions: fc.Arbitrary<Partial<TextOptions>> = fc.record({
  baseTokenizer: fc.constantFrom('simple', 'whitespace', 'raw', 'ngram', 'icu', 'letters'),
  maxTokenLength: fc.constantFrom(null, 1, 3, 5, 40),
  lowerCase: fc.boolean(),
  stem: fc.boolean(),
  removeStopWords: fc.boolean(),
  customStopWords: fc.constantFrom(null, ['cat', 'café', '']),
  asciiFolding: fc.boolean(),
  ngramMin: fc.constantFrom(1, 2, 3),
  ngramMax: fc.constantFrom(3, 5),
  prefixOnly: fc.boolean(),
})

test('numbers and positions are those of the tokens', () => {
  const read = fc.array(fc.oneof(texts, spacedTexts), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(someOptions, read, (options, many) =>
      check(plainAnalyzer(options, [lettersTokenizer]), many),
    ),
    { numRuns: 150 },
  )
})

test('bytes that are not UTF-8 are decoded as TextDecoder does', () => {
  const bytes = fc.array(
    fc.oneof(fc.constantFrom(0x20, 0x41, 0xe9, 0xc3, 0xa9, 0xf0, 0x9f, 0xed, 0xa0, 0x80, 0xff), fc.nat(255)),
    {
      maxLength: 30,
    },
  )
  fc.assert(
    fc.property(
      fc.constantFrom('simple', 'whitespace', 'ngram', 'raw'),
      fc.array(bytes),
      (baseTokenizer, many) =>
        check(
          plainAnalyzer({ baseTokenizer }),
          many.map(part => Uint8Array.from(part)),
        ),
    ),
    { numRuns: 100 },
  )
})

describe('texts of every length', () => {
  test.each(['simple', 'whitespace', 'raw'])('%s: long tokens, and texts of a megabyte', baseTokenizer => {
    for (const maxTokenLength of [40, null]) {
      const analyzer = plainAnalyzer({ baseTokenizer, maxTokenLength })
      const long = [
        'a'.repeat(10_000),
        'é'.repeat(10_000),
        `x ${'b'.repeat(70_000)} y ${'語'.repeat(30_000)}`,
      ]
      check(analyzer, ['', ...long, ...long, 'a'])
      const numbering = analyzer.numbering()
      const text = 'the cats ran. '.repeat(75_000)
      const bytes = encoder.encode(text)
      expect(numbering.read(bytes, 0, bytes.length)).toBe(analyzer.tokens(text).length)
    }
  })
  test('n-grams: long tokens', () => {
    check(plainAnalyzer({ baseTokenizer: 'ngram' }), ['abc'.repeat(2000), 'é'.repeat(2000), ''])
  })
  test('a token of megabytes', () => {
    const analyzer = plainAnalyzer({ maxTokenLength: null, asciiFolding: false })
    const numbering = analyzer.numbering()
    const bytes = new Uint8Array(8 << 20).fill(0x61)
    expect(numbering.read(bytes, 0, bytes.length)).toBe(1)
    expect(numbering.read(bytes, 0, bytes.length)).toBe(1)
    expect(numbering.terms.map(term => term.length)).toEqual([8 << 20])
    expect(numbering.bytes).toBeGreaterThan(16 << 20)
  })
})

test('more distinct tokens than the initial table holds', () => {
  const analyzer = plainAnalyzer()
  const numbering = analyzer.numbering()
  const before = numbering.bytes
  const bytes = encoder.encode(Array.from({ length: 20_000 }, (_, i) => `word${i} WORD${i}s`).join(' '))
  for (let round = 0; round < 2; round++) {
    expect(numbering.read(bytes, 0, bytes.length)).toBe(40_000)
    expect(numbering.terms).toHaveLength(20_000)
    expect(numbering.numbers[39_999]).toBe(19_999)
    expect(numbering.positions[39_999]).toBe(39_999)
  }
  expect(numbering.bytes - before).toBeGreaterThan(20_000 * 80)
})

test('texts that look like regular expressions are plain texts', () => {
  check(plainAnalyzer({ baseTokenizer: 'whitespace' }), [
    '(.*)+ [a-z]{2} \\p{L} $& $1 ^|',
    '__proto__ constructor',
  ])
})

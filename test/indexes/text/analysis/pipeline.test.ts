/** From tokens to terms. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TextOptions } from '../../../../src/indexes/text/options.js'
import { lettersTokenizer, plainAnalyzer, texts } from '../../../support/words.js'

function terms(text: string, options: Partial<TextOptions> = {}): string[] {
  return plainAnalyzer(options)
    .tokens(text)
    .map(({ term }) => term)
}

const nothing = { stem: false, removeStopWords: false, asciiFolding: false, lowerCase: false }

test('a dropped token leaves its position empty', () => {
  expect(plainAnalyzer().tokens('The Cats of Crête')).toEqual([
    { term: 'cat', position: 1, start: 4, end: 8 },
    { term: 'crete', position: 3, start: 12, end: 17 },
  ])
})

test.each(['', ' ', '.,-', 'the', 'The, OF the', '\n\t'])('%j has no terms', text => {
  expect(plainAnalyzer().tokens(text)).toEqual([])
})

describe('the order of things', () => {
  test('length counts bytes of UTF-8 of the original token', () => {
    expect(terms('abcde abcd éé ééé 語 𐐀', { maxTokenLength: 5 })).toEqual(['abcd', 'ee', '語', '𐐨'])
    expect(terms('a'.repeat(39))).toHaveLength(1)
    expect(terms('a'.repeat(40))).toHaveLength(0)
    expect(terms('a'.repeat(10_000), { maxTokenLength: null })).toEqual(['a'.repeat(10_000)])
  })
  test('stems are of lower case', () => {
    expect(terms('CATS', { lowerCase: false })).toEqual(['CATS'])
    expect(terms('CATS')).toEqual(['cat'])
  })
  test('stop words are compared with stems', () => {
    expect(terms('this thi these')).toEqual(['these'])
    expect(terms('this', { stem: false })).toEqual(['this'])
  })
  test('custom stop words replace those of the language', () => {
    expect(terms('the cat', { customStopWords: ['cat'] })).toEqual(['the'])
    expect(terms('the cat', { customStopWords: [] })).toEqual(['the', 'cat'])
    expect(terms('the cat', { customStopWords: ['cat'], removeStopWords: false })).toEqual(['the', 'cat'])
  })
  test('folding comes last', () => {
    expect(terms('thé catś')).toEqual(['the', 'cats'])
  })
  test('empty tokens are dropped at the end', () => {
    expect(plainAnalyzer({ baseTokenizer: 'whitespace' }).tokens('a \u0301 b')).toEqual([
      { term: 'a', position: 0, start: 0, end: 1 },
      { term: 'b', position: 2, start: 4, end: 5 },
    ])
  })
})

describe('lower case', () => {
  test('a sigma at the end is a final one, whatever the case', () => {
    expect(terms('ΟΔΟΣ οδος', nothing)).toEqual(['ΟΔΟΣ', 'οδος'])
    expect(terms('ΟΔΟΣ οδος ΣΑΣ', { ...nothing, lowerCase: true })).toEqual(['οδος', 'οδος', 'σας'])
  })
  test('İ and I are i', () => {
    expect(terms('İSTANBUL ISPARTA', { ...nothing, lowerCase: true })).toEqual(['istanbul', 'isparta'])
  })
})

test('half of a surrogate pair is U+FFFD', () => {
  expect(plainAnalyzer({ baseTokenizer: 'raw', ...nothing }).tokens('a\ud800b\udc00')).toEqual([
    { term: 'a\ufffdb\ufffd', position: 0, start: 0, end: 4 },
  ])
  expect(
    plainAnalyzer()
      .tokens('x\ud800y')
      .map(({ start, end }) => [start, end]),
  ).toEqual([
    [0, 1],
    [2, 3],
  ])
})

test('offsets are those of the token in the text', () => {
  fc.assert(
    fc.property(
      texts,
      fc.constantFrom('simple', 'whitespace', 'raw', 'ngram', 'icu'),
      (text, baseTokenizer) => {
        const well = text.replace(/\p{Surrogate}/gu, '\ufffd')
        const tokens = plainAnalyzer({ baseTokenizer, ...nothing, maxTokenLength: null }).tokens(text)
        for (const { term, start, end } of tokens) expect(well.slice(start, end)).toBe(term)
        for (let i = 1; i < tokens.length; i++) {
          expect(tokens[i]!.position).toBeGreaterThanOrEqual(tokens[i - 1]!.position)
          expect(tokens[i]!.start).toBeGreaterThanOrEqual(tokens[i - 1]!.start)
        }
      },
    ),
  )
})

test('a text of a megabyte', () => {
  const text = 'the cats ran. '.repeat(75_000)
  expect(plainAnalyzer().tokens(text)).toHaveLength(150_000)
})

test('the identity names exactly the parts in use', () => {
  expect(plainAnalyzer().identity).toBe('simple/1 stem:plain/1 stop:few/2 fold:marks/3')
  expect(plainAnalyzer({ language: 'French', asciiFolding: false, customStopWords: [] }).identity).toBe(
    'simple/1 stem:plain/1',
  )
  expect(plainAnalyzer({ ...nothing, baseTokenizer: 'ngram' }).identity).toBe('ngram/1')
  expect(plainAnalyzer({ ...nothing, baseTokenizer: 'letters' }, [lettersTokenizer]).identity).toBe(
    'letters/1',
  )
})

describe('the last word as a prefix', () => {
  const prefixOf = (text: string, options: Partial<TextOptions> = {}) => {
    const { tokens, prefix } = plainAnalyzer(options, [lettersTokenizer]).prefixText(text)
    return [tokens.map(({ term }) => term).join(' '), prefix?.start ?? null, prefix?.term ?? null]
  }

  test('the other words are analyzed, the prefix is only normalized', () => {
    expect(prefixOf('The Cats of CRÊTES')).toEqual(['cat', 'cretes', 'crete'])
    expect(prefixOf('CRÊTES', nothing)).toEqual(['', 'CRÊTES', 'CRÊTES'])
    expect(prefixOf('cats cats')).toEqual(['cat', 'cats', 'cat'])
  })
  test('a prefix is not dropped as a stop word or for its length', () => {
    expect(prefixOf('cats of the')).toEqual(['cat', 'the', null])
    expect(prefixOf('a'.repeat(50))).toEqual(['', 'a'.repeat(50), null])
  })
  test.each(['cats ', 'cats.', 'cats\n', 'cats-', 'cats’'])(
    '%j has no prefix, because its last word is complete',
    text => {
      expect(prefixOf(text)).toEqual(['cat', null, null])
    },
  )
  test.each(['', ' ', '!?'])('%j has no prefix and no word', text => {
    expect(prefixOf(text)).toEqual(['', null, null])
  })
  test('the base tokenizer decides what a word is', () => {
    expect(prefixOf('a foo_bar')).toEqual(['a foo', 'bar', 'bar'])
    expect(prefixOf('a foo_bar.', { baseTokenizer: 'whitespace' })).toEqual(['a', 'foo_bar.', 'foo_bar.'])
    expect(prefixOf('Green ener', { baseTokenizer: 'raw' })).toEqual(['', 'green ener', 'green ener'])
    expect(prefixOf('green ', { baseTokenizer: 'raw' })).toEqual(['', 'green ', 'green '])
    expect(prefixOf('green ener', { baseTokenizer: 'icu' })).toEqual(['green', 'ener', 'ener'])
    expect(prefixOf('green ', { baseTokenizer: 'icu' })).toEqual(['green', null, null])
  })
  test('a registered tokenizer decides too, also if it changes its tokens', () => {
    expect(prefixOf('Green ENER', { baseTokenizer: 'letters' })).toEqual(['green', 'ener', 'ener'])
    expect(prefixOf('green ener ', { baseTokenizer: 'letters' })).toEqual(['green ener', null, null])
    const upper = {
      name: 'upper',
      version: '1',
      tokenize: (text: string) => text.split(' ').map(each => `<${each}>`),
    }
    const analyzer = plainAnalyzer({ baseTokenizer: 'upper' }, [upper])
    expect(analyzer.prefixText('a b').prefix).toEqual({ start: '<b>', term: '<b>' })
  })
  test('of n-grams, only a text shorter than an n-gram is a prefix', () => {
    const ngram = { baseTokenizer: 'ngram', stem: false, removeStopWords: false }
    expect(prefixOf('ÉN', ngram)).toEqual(['', 'en', null])
    expect(prefixOf('ener', ngram)).toEqual(['ene ner', null, null])
    expect(prefixOf('', ngram)).toEqual(['', null, null])
  })
})

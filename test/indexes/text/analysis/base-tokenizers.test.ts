/** Where texts are cut. */
import { describe, expect, test, vi } from 'vitest'
import { SheafError } from '../../../../src/errors.js'
import { connect, tokenize } from '../../../../src/index.js'
import type { CustomTokenizer } from '../../../../src/indexes/text/analysis/analyzer.js'
import { baseTokenizerOf, checkTokenizers } from '../../../../src/indexes/text/analysis/base-tokenizers.js'
import { defaultTextOptions, type TextOptions } from '../../../../src/indexes/text/options.js'
import { lettersTokenizer } from '../../../support/words.js'

function tokens(text: string, options: Partial<TextOptions> = {}, custom: readonly CustomTokenizer[] = []) {
  const taken: { token: string; position: number; at: string }[] = []
  const base = baseTokenizerOf({ ...defaultTextOptions, ...options }, custom)
  base.cut(text, (token, position, start, end) => taken.push({ token, position, at: text.slice(start, end) }))
  return taken
}

function words(text: string, baseTokenizer: string): string[] {
  const taken = tokens(text, { baseTokenizer })
  expect(taken.map(({ position }) => position)).toEqual(taken.map((_, i) => i))
  expect(taken.map(({ at }) => at)).toEqual(taken.map(({ token }) => token))
  return taken.map(({ token }) => token)
}

function refused(act: () => unknown): SheafError {
  try {
    act()
  } catch (error) {
    if (error instanceof SheafError && error.code === 13) return error
    throw error
  }
  throw new Error('was not refused')
}

describe('simple', () => {
  test.each([
    ['', []],
    [' .,_-\n', []],
    ['foo_bar', ['foo', 'bar']],
    ['Hello, World!', ['Hello', 'World']],
    ["can't 3.14", ['can', 't', '3', '14']],
    ['東京タワー。大阪', ['東京タワー', '大阪']],
    ['Ⅷ ½ ² ٣ ①', ['Ⅷ', '½', '²', '٣', '①']],
    ['\ud835\udc00\ud835\udc01 👍 𐐀', ['\ud835\udc00\ud835\udc01', '𐐀']],
    ['cafe\u0301s', ['cafe', 's']],
    ['(.*)+[a-z]\\d$^', ['a', 'z', 'd']],
  ])('%j', (text, expected) => expect(words(text, 'simple')).toEqual(expected))
})

describe('whitespace', () => {
  test.each([
    ['', []],
    [' \t\n\v\f\r\u00a0\u3000\u2028', []],
    ['  foo_bar,\tbaz ', ['foo_bar,', 'baz']],
    ['東京\u3000大阪 👍', ['東京', '大阪', '👍']],
    ['(.*)+ [a-z]', ['(.*)+', '[a-z]']],
  ])('%j', (text, expected) => expect(words(text, 'whitespace')).toEqual(expected))
})

test('raw returns the text as one token', () => {
  expect(words(' The end. ', 'raw')).toEqual([' The end. '])
})

test.each(['simple', 'whitespace'])('%s takes tokens of millions of characters', baseTokenizer => {
  const long = '語'.repeat(3_000_000)
  expect(words(`x ${long} y`, baseTokenizer)).toEqual(['x', long, 'y'])
})

describe('ngram', () => {
  const grams = (text: string, options: Partial<TextOptions>) =>
    tokens(text, { baseTokenizer: 'ngram', ...options }).map(({ token, position }) => `${position}${token}`)

  test('by start, shorter ones first, across words', () => {
    expect(grams('he yo', { ngramMin: 2, ngramMax: 3 })).toEqual([
      '0he',
      '0he ',
      '1e ',
      '1e y',
      '2 y',
      '2 yo',
      '3yo',
    ])
  })
  test('only n-grams at the beginning of words', () => {
    expect(grams('hεllo', { ngramMin: 2, ngramMax: 9, prefixOnly: true })).toEqual([
      '0hε',
      '0hεl',
      '0hεll',
      '0hεllo',
    ])
    expect(grams('h', { ngramMin: 2, ngramMax: 9, prefixOnly: true })).toEqual([])
  })
  test('counts code points', () => {
    expect(grams('👍𐐀x', { ngramMin: 2, ngramMax: 2 })).toEqual(['0👍𐐀', '1𐐀x'])
  })
  test('texts that are too short have no n-grams', () => {
    expect(grams('', {})).toEqual([])
    expect(grams('ab', {})).toEqual([])
  })
  test('does not cut tokens that their length would drop', () => {
    expect(grams('abcdef', { ngramMin: 2, ngramMax: 1e9, maxTokenLength: 4, prefixOnly: true })).toEqual([
      '0ab',
      '0abc',
    ])
  })
  test.each([
    [{ ngramMin: 4 }, /must not exceed the maximum, got 4 and 3/],
    [{ ngramMin: 0 }, /at least 1 character, got 0/],
  ])('%j is refused', (options, message) => {
    expect(refused(() => grams('', options)).message).toMatch(message)
  })
})

describe('icu', () => {
  const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })
  test('finds words in text without spaces', () => {
    expect(words('東京都は、日本の首都です。', 'icu')).toEqual(
      expect.arrayContaining(['日本', '首都', 'です']),
    )
    expect(words("can't stop, 3.14 👍", 'icu')).toEqual(["can't", 'stop', '3.14'])
    expect(words('', 'icu')).toEqual([])
  })
  test('a long text is cut into chunks between words', () => {
    const sentence = '彼は東京に住んでいる。'
    const once = words(sentence, 'icu')
    const often = words(sentence.repeat(500), 'icu')
    expect(often).toEqual(Array.from({ length: 500 }, () => once).flat())
    const english = words('antidisestablishmentarianism '.repeat(1000), 'icu')
    expect(english).toEqual(Array(1000).fill('antidisestablishmentarianism'))
  })
  test('a long run without a break is cut between characters', () => {
    expect(words('𐐀'.repeat(5001), 'icu').join('')).toBe('𐐀'.repeat(5001))
    expect(words(`a${'𐐀'.repeat(5001)}`, 'icu').join('')).toBe(`a${'𐐀'.repeat(5001)}`)
  })
  test('says which dictionaries it has', () => {
    const { identity } = baseTokenizerOf({ ...defaultTextOptions, baseTokenizer: 'icu' }, [])
    expect(identity).toBe(`icu/1 icu:${process.versions.icu} unicode:${process.versions.unicode}`)
  })
  test.each([
    ['one word per text', (text: string) => [text]],
    ['one word per character', (text: string) => characters.segment(text)],
  ])('names the dictionaries that this Node does not have: %s', (_, cut) => {
    const { identity: complete } = baseTokenizerOf({ ...defaultTextOptions, baseTokenizer: 'icu' }, [])
    const original = Intl.Segmenter.prototype.segment
    const spy = vi.spyOn(Intl.Segmenter.prototype, 'segment').mockImplementation(function (
      this: Intl.Segmenter,
      text,
    ) {
      const lacks = this.resolvedOptions().granularity === 'word' && /[ก-๛一-鿿]/u.test(text)
      return (lacks ? cut(text) : original.call(this, text)) as Intl.Segments
    })
    const { identity } = baseTokenizerOf({ ...defaultTextOptions, baseTokenizer: 'icu' }, [])
    spy.mockRestore()
    expect(identity).toBe(`${complete} without:cjk,thai`)
  })
})

describe('registered', () => {
  const by = (tokenize: (text: string) => unknown): CustomTokenizer => ({
    name: 'mine',
    version: '7',
    tokenize: tokenize as CustomTokenizer['tokenize'],
  })
  const cut = (text: string, tokenize: (text: string) => unknown) =>
    tokens(text, { baseTokenizer: 'mine' }, [by(tokenize)])

  test('an encoder of another library is one line', () => {
    const encoder = { encode: (text: string) => text.toLowerCase().split(' ') }
    const mine = { name: 'flex', version: '0.8', tokenize: (text: string) => encoder.encode(text) }
    expect(tokens('Red Fox', { baseTokenizer: 'flex' }, [mine])).toEqual([
      { token: 'red', position: 0, at: 'Red' },
      { token: 'fox', position: 1, at: 'Fox' },
    ])
  })
  test('tokens are found in their order, whatever their case and accents', () => {
    const found = cut('A cat, a CÁT; İzmir ΟΔΟΣ.', () => ['cat', 'cat', 'izmir', 'οδος'])
    expect(found.map(({ at }) => at)).toEqual(['cat', 'CÁT', 'İzmir', 'ΟΔΟΣ'])
  })
  test('an encoder token that is not in the text has length 0 at the search position', () => {
    const base = baseTokenizerOf({ ...defaultTextOptions, baseTokenizer: 'mine' }, [
      by(() => ['b', 'x', 'c', '']),
    ])
    const places: number[][] = []
    base.cut('a b c', (_token, position, start, end) => places.push([position, start, end]))
    expect(places).toEqual([
      [0, 2, 3],
      [1, 3, 3],
      [2, 4, 5],
      [3, 5, 5],
    ])
  })
  test('tokens that are missing in a long text do not each scan all of it', () => {
    const many = Array.from({ length: 100_000 }, (_, i) => `q${i}`)
    expect(cut('word '.repeat(200_000), () => many)).toHaveLength(many.length)
  })
  test.each([
    [() => 'text', /"mine" must return an array of strings, got "text"/],
    [() => null, /got null/],
    [() => ['a', 1], /"mine" must return strings, got 1 at index 1/],
    [
      () => {
        throw new Error('no dictionary')
      },
      /"mine" failed: no dictionary/,
    ],
  ])('%s is refused', (tokenize, message) => {
    expect(refused(() => cut('a', tokenize)).message).toMatch(message)
  })
  test.each([
    [{ name: 'simple' }, /named "simple" already/],
    [{ name: 'letters' }, /named "letters" already/],
  ])('%j cannot be registered', (part, message) => {
    const other: CustomTokenizer = { ...lettersTokenizer, ...part }
    expect(refused(() => checkTokenizers([lettersTokenizer, other])).message).toMatch(message)
  })
  test.each([
    [{ name: '' }, /tokenizers\[0\]\.name must be .*, got ""/],
    [{ version: 2 }, /tokenizers\[0\]\.version must be a string, got 2/],
    [{ tokenize: null }, /tokenizers\[0\]\.tokenize must be a function, got null/],
  ])('%j is refused where a root is opened', async (part, message) => {
    const tokenizers = [{ ...lettersTokenizer, ...part } as CustomTokenizer]
    await expect(connect('memory://', { tokenizers })).rejects.toMatchObject({
      code: 13,
      message: expect.stringMatching(message),
    })
  })
  test('a registered tokenizer is used by its name', () => {
    expect(() => checkTokenizers([lettersTokenizer])).not.toThrow()
    for (const name of [
      'jieba/default',
      'lindera/ipadic',
      'segmenter',
      'icu/split',
      'constructor',
      'Simple',
    ]) {
      expect(refused(() => tokens('', { baseTokenizer: name }, [lettersTokenizer])).message).toBe(
        `there is no base tokenizer named ${JSON.stringify(name)}; available: simple, whitespace, raw, ngram, icu, letters`,
      )
    }
  })
})

test('accents that are characters of their own separate words, as in tantivy', () => {
  const terms = (text: string) =>
    tokenize(text, { stem: false, removeStopWords: false }).map(({ term }) => term)
  expect(terms('crème'.normalize('NFC'))).toEqual(['creme'])
  expect(terms('crème'.normalize('NFD'))).toEqual(['cre', 'me'])
})

/** Marks and snippets. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SheafError } from '../../../src/errors.js'
import { type HighlightOptions, highlighted } from '../../../src/indexes/text/highlight.js'
import type { TextOptions } from '../../../src/indexes/text/options.js'
import { lettersTokenizer, plainAnalyzer, spacedTexts, texts } from '../../support/words.js'

function shown(
  text: string,
  terms: readonly string[],
  options: HighlightOptions = {},
  analysis: Partial<TextOptions> = {},
) {
  const analyzer = plainAnalyzer(analysis, [lettersTokenizer])
  return highlighted(text, analyzer, term => terms.includes(term), options)
}

describe('a whole text', () => {
  test('tokens are marked as written', () => {
    expect(shown('Cats, the CAT & Crête', ['cat', 'crete'])).toEqual({
      text: '<b>Cats</b>, the <b>CAT</b> & <b>Crête</b>',
      ranges: [
        { start: 0, end: 4 },
        { start: 10, end: 13 },
        { start: 16, end: 21 },
      ],
    })
  })
  test('other marks', () => {
    expect(shown('a cat', ['cat'], { pre: '[$&', post: ']' }).text).toBe('a [$&cat]')
  })
  test('the text is escaped, the marks are not', () => {
    expect(shown(`<a href="x">cat's & cats</a>`, ['cat'], { escape: 'html' }).text).toBe(
      '&lt;a href=&quot;x&quot;&gt;<b>cat</b>&#39;s &amp; <b>cats</b>&lt;/a&gt;',
    )
    expect(shown('<cat&>', ['<cat&>'], { escape: 'html' }, { baseTokenizer: 'raw' }).text).toBe(
      '<b>&lt;cat&amp;&gt;</b>',
    )
  })
  test('overlapping n-grams are marked as one', () => {
    expect(shown('concatenate', ['cat', 'ate', 'nat'], {}, { baseTokenizer: 'ngram' })).toEqual({
      text: 'con<b>cate</b><b>nate</b>',
      ranges: [
        { start: 3, end: 7 },
        { start: 7, end: 11 },
      ],
    })
  })
  test.each(['', '...', 'the of', 'dogs'])('%j has no marks', text => {
    expect(shown(text, ['cat', 'the'])).toEqual({ text, ranges: [] })
  })
  test('words of a tokenizer that are not in the text are not marked', () => {
    const analyzer = plainAnalyzer({ baseTokenizer: 'mine' }, [
      { name: 'mine', version: '1', tokenize: () => ['feline', 'cat'] },
    ])
    expect(highlighted('the cat', analyzer, () => true).text).toBe('the <b>cat</b>')
  })
})

describe('snippets', () => {
  const text = 'one two cat four five six seven cat dog ten eleven twelve cat fourteen'

  test('the one with the most distinct terms', () => {
    expect(shown(text, ['cat', 'dog'], { snippetLength: 20 }).text).toBe('…seven <b>cat</b> <b>dog</b> ten…')
  })
  test('then the one with the most matches, then the first', () => {
    expect(shown('cat a b c d cat cat e f g', ['cat'], { snippetLength: 9 }).text).toBe(
      '…<b>cat</b> <b>cat</b> e…',
    )
    expect(shown(text, ['cat'], { snippetLength: 12 }).text).toBe('…two <b>cat</b> four…')
  })
  test('several, in text order', () => {
    expect(shown(text, ['cat', 'dog'], { snippetLength: 12, snippets: 2 }).text).toBe(
      '…two <b>cat</b> four…<b>cat</b> <b>dog</b> ten…',
    )
    expect(shown(text, ['cat', 'dog'], { snippetLength: 12, snippets: 9 }).text).toBe(
      '…two <b>cat</b> four…<b>cat</b> <b>dog</b> ten…<b>cat</b> fourteen',
    )
  })
  test('each may be as short as a match', () => {
    expect(shown('cat dog', ['cat', 'dog'], { snippetLength: 3, snippets: 2 }).text).toBe(
      '<b>cat</b>…<b>dog</b>',
    )
  })
  test('unused length at one end of the text goes to the other side', () => {
    expect(shown('cat one two three four', ['cat'], { snippetLength: 12 }).text).toBe('<b>cat</b> one two…')
    expect(shown('one two three four, cat!', ['cat'], { snippetLength: 12 }).text).toBe('…four, <b>cat</b>!')
  })
  test('without a match: the beginning of the text', () => {
    expect(shown(text, ['bird'], { snippetLength: 12 })).toEqual({ text: 'one two cat…', ranges: [] })
    expect(shown('.'.repeat(30), ['bird'], { snippetLength: 3 }).text).toBe('...…')
  })
  test('a token longer than a snippet is cut between characters', () => {
    expect(shown('𐐨'.repeat(9), ['𐐨'.repeat(9)], { snippetLength: 5 }).text).toBe('<b>𐐨𐐨</b>…')
  })
  test('the maximum number is chosen without comparing all pairs', () => {
    const before = process.cpuUsage()
    const { text } = shown('cat '.repeat(4096), ['cat'], {
      snippetLength: 3,
      snippets: 100,
      pre: '',
      post: '',
    })
    expect(text).toBe(`${'cat…'.repeat(100)}`)
    // A fifteenth of a second; looking through all of the text for each part of what is left would take two.
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(1)
  })
  test('ranges refer to the whole text', () => {
    expect(shown(text, ['cat'], { snippetLength: 12 }).ranges).toHaveLength(3)
  })
  test.each([{ snippetLength: 0 }, { snippetLength: 1.5 }, { snippets: -1 }, { snippets: 101 }])(
    '%j is refused',
    options => {
      expect(() => shown('', [], options)).toThrow(SheafError)
    },
  )
})

test('without its marks, a snippet is part of the text, and within the allowed length', () => {
  fc.assert(
    fc.property(
      fc.oneof(texts, spacedTexts),
      fc.constantFrom('simple', 'whitespace', 'raw', 'ngram', 'icu', 'letters'),
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 1, max: 3 }),
      (text, baseTokenizer, snippetLength, snippets) => {
        const terms = ['cat', 'cafe', 'café', 'foo', 'x1', 'caf', '東京タワー']
        const plain = { pre: '', post: '' }
        const whole = shown(text, terms, plain, { baseTokenizer })
        expect(whole.text).toBe(text)
        const some = shown(text, terms, { ...plain, snippetLength, snippets }, { baseTokenizer })
        expect(some.ranges).toEqual(whole.ranges)
        const parts = some.text.split('…').filter(part => part !== '')
        let from = 0
        for (const part of parts) {
          from = text.indexOf(part, from)
          expect(from).toBeGreaterThanOrEqual(0)
          from += part.length
        }
        expect(parts.join('').length).toBeLessThanOrEqual(snippetLength * snippets)
        const marked = shown(text, terms, { pre: '\u0001', post: '', snippetLength }, { baseTokenizer })
        expect(marked.text.includes('\u0001')).toBe(whole.ranges.length > 0 || text.includes('\u0001'))
      },
    ),
    { numRuns: 200 },
  )
})

/** Words of a language that is easy to foretell, and texts that are not. */
import fc from 'fast-check'
import type { Analyzer, CustomTokenizer } from '../../src/indexes/text/analysis/analyzer.js'
import { baseTokenizerOf } from '../../src/indexes/text/analysis/base-tokenizers.js'
import { Pipeline, type Words } from '../../src/indexes/text/analysis/pipeline.js'
import { defaultTextOptions, type TextOptions } from '../../src/indexes/text/options.js'

/** Stems have no `s` at the end, folded terms no accents. */
export const plainWords: Words = {
  stemmerOf: () => word => word.replace(/s$/, ''),
  stopWordsOf: () => new Set(['the', 'of', 'thi', 's']),
  folded: text => text.normalize('NFD').replace(/\p{M}/gu, ''),
  identity: { stemmer: 'plain/1', stopWords: 'few/2', folded: 'marks/3' },
}

export function plainAnalyzer(
  options: Partial<TextOptions> = {},
  custom: readonly CustomTokenizer[] = [],
): Analyzer {
  const all = { ...defaultTextOptions, ...options }
  return new Pipeline(all, baseTokenizerOf(all, custom), plainWords)
}

/** Like the encoder of a search library: lower case, no accents, some words left out. */
export const lettersTokenizer: CustomTokenizer = {
  name: 'letters',
  version: '1',
  tokenize: text =>
    text
      .toLowerCase()
      .normalize('NFD')
      .match(/[a-zα-ω]{2,}/g) ?? [],
}

const pieces = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom('the', 'The', 'cats', 'CATS', 'cat', 'this', 's', 'x1', 'foo_bar', '12.5'),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'café',
      'CAFÉ',
      'naïve',
      'İstanbul',
      'ΟΔΟΣ',
      'straße',
      '“cat”',
      'cats—dogs',
      '東京タワー',
      '吾輩は猫である。',
      '👍',
      '\ud835\udc00\ud835\udc01',
      'e\u0301',
      '\u0301',
      '\ufeff',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(' ', '\t', '\n', '\v', '.', '-', '_', '\u00a0', '\u3000', '—', '\0'),
  },
  { weight: 1, arbitrary: fc.constantFrom('\ud800', '\udc00', '\ufffd') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 5 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'a'.repeat(39),
      'a'.repeat(40),
      'é'.repeat(20),
      'é'.repeat(33),
      '語'.repeat(30),
    ),
  },
)

/** Texts of words that come again, between separators of all sorts, or none. */
export const texts = fc.array(pieces, { maxLength: 12 }).map(parts => parts.join(''))
export const spacedTexts = fc.array(pieces, { maxLength: 12 }).map(parts => parts.join(' '))

/** Provides a tokenizer for scripts without spaces. It uses the dictionaries of ICU (Unicode Standard Annex 29). */
import type { BaseTokenizer } from './base-tokenizer.js'

/** A text of several words for each dictionary of ICU, by the scripts that the dictionary covers. */
const samples = {
  cjk: '東京都は日本の首都です',
  khmer: 'ភាសាខ្មែរជាភាសា',
  lao: 'ພາສາລາວເປັນພາສາ',
  myanmar: 'မြန်မာဘာသာစကား',
  thai: 'ภาษาไทยเป็นภาษาที่สวยงาม',
}

/**
 * Return a tokenizer whose tokens are the words of `Intl.Segmenter`. Its identity contains the versions of ICU and
 * Unicode, because the dictionaries differ between versions. The locale is fixed, because the dictionaries do not
 * depend on it. Some systems package Node without dictionaries, for example Alpine Linux. The identity then names the
 * missing dictionaries.
 */
export function icuTokenizer(): BaseTokenizer {
  const segmenter = new Intl.Segmenter('en', { granularity: 'word' })
  const missing = missingDictionaries(segmenter)
  const without = missing.length === 0 ? '' : ` without:${missing.join(',')}`
  return {
    identity: `icu/1 icu:${process.versions.icu} unicode:${process.versions.unicode}${without}`,
    ascii: null,
    cut: (text, take) => {
      let position = 0
      for (let from = 0; from < text.length; ) {
        const to = endOfChunk(text, from)
        for (const { segment, index, isWordLike } of segmenter.segment(text.slice(from, to))) {
          if (isWordLike) take(segment, position++, from + index, from + index + segment.length)
        }
        from = to
      }
    },
  }
}

/** Return the scripts without a dictionary. Without it, a text is one word, or each character is one. */
function missingDictionaries(segmenter: Intl.Segmenter): string[] {
  const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })
  const count = (by: Intl.Segmenter, text: string) => [...by.segment(text)].length
  return Object.entries(samples).flatMap(([script, text]) => {
    const words = count(segmenter, text)
    return words > 1 && words < count(characters, text) ? [] : [script]
  })
}

/**
 * UTF-16 units that one call of ICU gets. Texts are divided, because the time of ICU grows faster than the text length.
 */
const chunkLength = 1024

/** Characters after which no word continues: whitespace, and full stops and commas of scripts without spaces. */
const breaks = /[\s\u3001\u3002\uff01\uff0c\uff1f]/

/**
 * Return the end of a chunk: after the last break in its second half. If there is no break, the chunk may end in a
 * word.
 */
function endOfChunk(text: string, from: number): number {
  const full = from + chunkLength
  if (full >= text.length) return text.length
  for (let to = full; to > from + chunkLength / 2; to--) if (breaks.test(text[to - 1]!)) return to
  const isWithinPair = (text.charCodeAt(full) & 0xfc00) === 0xdc00
  return isWithinPair ? full - 1 : full
}

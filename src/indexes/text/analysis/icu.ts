/** Provides a tokenizer for scripts without spaces. It uses the dictionaries of ICU (Unicode Standard Annex 29). */
import type { BaseTokenizer } from './base-tokenizer.js'

/**
 * Return a tokenizer whose tokens are the words of `Intl.Segmenter`. Its identity contains the versions of ICU and
 * Unicode, because the dictionaries differ between versions. The locale is fixed, because the dictionaries do not
 * depend on it.
 */
export function icuTokenizer(): BaseTokenizer {
  const segmenter = new Intl.Segmenter('en', { granularity: 'word' })
  return {
    identity: `icu/1 icu:${process.versions.icu} unicode:${process.versions.unicode}`,
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

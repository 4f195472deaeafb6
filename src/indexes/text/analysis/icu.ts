/** Words by the dictionaries of ICU, for scripts that put nothing between them (Unicode Standard Annex 29). */
import type { BaseTokenizer } from './base-tokenizer.js'

/**
 * What `Intl.Segmenter` takes as words. Other versions of ICU have other dictionaries, so the identity names it. The locale is always the same,
 * whatever the machine's: the dictionaries do not depend on it.
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

/** UTF-16 units that are given to ICU at once, at most: of no script more than 4 KB. It takes more than twice as long for a text of twice the length. */
const chunkLength = 1024

/** Behind these no word goes on: whitespace, and the full stops and commas of scripts without it. */
const breaks = /[\s\u3001\u3002\uff01\uff0c\uff1f]/

/** Behind the last break, if there is one in the second half of a full chunk; else between any two characters. */
function endOfChunk(text: string, from: number): number {
  const full = from + chunkLength
  if (full >= text.length) return text.length
  for (let to = full; to > from + chunkLength / 2; to--) if (breaks.test(text[to - 1]!)) return to
  const isWithinPair = (text.charCodeAt(full) & 0xfc00) === 0xdc00
  return isWithinPair ? full - 1 : full
}

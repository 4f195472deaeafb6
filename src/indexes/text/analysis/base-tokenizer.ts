/** What every base tokenizer is, and the ones that come with Sheaf and need nothing but the text (rule A-085). */

/**
 * Takes a token of the base tokenizer: as it is before anything is done to it, its position, and where it stands in the text (UTF-16
 * units, `end` exclusive).
 */
export type TakeToken = (token: string, position: number, start: number, end: number) => void

/** How a text of nothing but ASCII is cut, for those who have it as bytes: the same tokens as `cut` gives. */
export type AsciiCut =
  /**
   * By characters alone: 1 at those that stand between tokens, of 128. Not ASCII or not, each of them ends a token, so what is between
   * two of them can be cut by itself.
   */
  { readonly kind: 'runs'; readonly separators: Uint8Array } | ({ readonly kind: 'grams' } & Grams) | null

/** Lengths in code points. */
export interface Grams {
  readonly min: number
  readonly max: number
  readonly prefixOnly: boolean
}

export interface BaseTokenizer {
  /** Names it and its version: changes whenever it gives other tokens. */
  readonly identity: string
  readonly ascii: AsciiCut
  /** The tokens of a text without halves of surrogate pairs, in their order; positions ascend, too. */
  cut(text: string, take: TakeToken): void
}

/**
 * Runs of letters and numbers, as Unicode understands them (Alphabetic, or of the category N), like tantivy's SimpleTokenizer. `foo_bar` is two
 * tokens, a run of Han characters one. The version of Unicode is no part of the identity: a newer one makes letters of
 * characters that there were not before, and leaves alone what texts are made of.
 */
export const simpleTokenizer = runs('simple/1', /[\p{Alphabetic}\p{N}]/gu, /[^\p{Alphabetic}\p{N}]/gu)

/** Runs of what is not whitespace. Beyond ASCII, too, other than in Lance: an ideographic space separates words as any other does. */
export const whitespaceTokenizer = runs('whitespace/1', /\S/gu, /\s/gu)

/** The text, whole. */
export const rawTokenizer: BaseTokenizer = {
  identity: 'raw/1',
  ascii: null,
  cut: (text, take) => take(text, 0, 0, text.length),
}

/**
 * All n-grams of the text, words or not, like tantivy's NgramTokenizer: by where they start, shorter ones first; with `prefixOnly` those it starts with.
 * Their position is the code point at which they start (in Lance it is 0 for all), so that a phrase of n-grams is a substring.
 */
export function ngramTokenizer({ min, max, prefixOnly }: Grams): BaseTokenizer {
  return {
    identity: 'ngram/1',
    ascii: { kind: 'grams', min, max, prefixOnly },
    cut: (text, take) => {
      const starts = codePointStarts(text)
      const points = starts.length - 1
      const last = prefixOnly ? Math.min(0, points - min) : points - min
      for (let at = 0; at <= last; at++) {
        const start = starts[at]!
        for (let size = min; size <= max && at + size <= points; size++) {
          const end = starts[at + size]!
          take(text.slice(start, end), at, start, end)
        }
      }
    },
  }
}

/** Where each code point starts, and at the end where the text ends. */
function codePointStarts(text: string): Uint32Array {
  const starts = new Uint32Array(text.length + 1)
  let count = 0
  for (let at = 0; at < text.length; at += text.codePointAt(at)! > 0xffff ? 2 : 1) starts[count++] = at
  starts[count++] = text.length
  return starts.subarray(0, count)
}

/**
 * Two expressions that match one character each take turns: one for whole runs would keep a way back for every character of a run, and
 * fail on one of many millions.
 */
function runs(identity: string, inside: RegExp, outside: RegExp): BaseTokenizer {
  const separators = Uint8Array.from({ length: 128 }, (_, code) =>
    String.fromCharCode(code).search(inside) < 0 ? 1 : 0,
  )
  return {
    identity,
    ascii: { kind: 'runs', separators },
    cut: (text, take) => {
      for (let position = 0, from = 0; ; position++) {
        const start = next(inside, text, from)
        if (start === text.length) return
        const end = next(outside, text, start)
        take(text.slice(start, end), position, start, end)
        from = end
      }
    },
  }
}

/** Where the next character is that matches; at the end of the text if there is none. */
function next(character: RegExp, text: string, from: number): number {
  character.lastIndex = from
  if (!character.test(text)) return text.length
  const last = character.lastIndex - 1
  return isLowSurrogate(text.charCodeAt(last)) ? last - 1 : last
}

function isLowSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00
}

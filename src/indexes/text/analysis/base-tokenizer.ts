/** Defines the interface of base tokenizers, and all built-in base tokenizers except `icu` (rule A-085). */
import { lazyPattern } from '../../../primitives/lazy-pattern.js'

/**
 * A callback that receives one token of the base tokenizer: the unchanged token, its position, and its range in the
 * text in UTF-16 units. `end` is exclusive.
 */
type TakeToken = (token: string, position: number, start: number, end: number) => void

/**
 * A fast way to cut the bytes of an ASCII text into the same tokens as `cut`. Null if the tokenizer has no fast way.
 */
type AsciiCut =
  /**
   * Tokens are the runs between separators. `separators`: 128 flags by ASCII code; 1 marks a separator. A separator
   * ends a token also in texts with non-ASCII characters. Therefore the text between two separators can be cut
   * separately.
   */
  { readonly kind: 'runs'; readonly separators: Uint8Array } | ({ readonly kind: 'grams' } & Grams) | null

/** Options for n-grams. Lengths are in code points. */
export interface Grams {
  readonly min: number
  readonly max: number
  readonly prefixOnly: boolean
}

/** Cuts texts into tokens. */
export interface BaseTokenizer {
  /** Name and version of the tokenizer. Must change whenever the tokenizer returns other tokens. */
  readonly identity: string
  readonly ascii: AsciiCut
  /** Pass the tokens of a well-formed text to `take`, in text order. Positions ascend. */
  cut(text: string, take: TakeToken): void
}

/**
 * A tokenizer whose tokens are runs of Unicode letters and numbers (Alphabetic, or category N), like tantivy's
 * SimpleTokenizer. `foo_bar` has two tokens; a run of Han characters is one token. The identity does not contain the
 * version of Unicode, because new versions only add characters and do not reclassify the characters of existing texts.
 */
export const simpleTokenizer = runs(
  'simple/1',
  lazyPattern(String.raw`[\p{Alphabetic}\p{N}]`, 'gu'),
  lazyPattern(String.raw`[^\p{Alphabetic}\p{N}]`, 'gu'),
)

/**
 * A tokenizer whose tokens are runs of non-whitespace characters. Unlike in Lance, non-ASCII whitespace such as the
 * ideographic space separates tokens too.
 */
export const whitespaceTokenizer = runs(
  'whitespace/1',
  lazyPattern(String.raw`\S`, 'gu'),
  lazyPattern(String.raw`\s`, 'gu'),
)

/** A tokenizer whose only token is the whole text. */
export const rawTokenizer: BaseTokenizer = {
  identity: 'raw/1',
  ascii: null,
  cut: (text, take) => take(text, 0, 0, text.length),
}

/**
 * Return a tokenizer whose tokens are all n-grams of the text, also across words, like tantivy's NgramTokenizer. They
 * are ordered by start, then by length. With `prefixOnly`, the tokens are only the n-grams at the start of the text.
 * The position of an n-gram is the code point at which it starts, so that a phrase of n-grams matches a substring. In
 * Lance it is always 0.
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

/** Return the start of each code point, and the end of the text as the last element. */
function codePointStarts(text: string): Uint32Array {
  const starts = new Uint32Array(text.length + 1)
  let count = 0
  for (let at = 0; at < text.length; at += text.codePointAt(at)! > 0xffff ? 2 : 1) starts[count++] = at
  starts[count++] = text.length
  return starts.subarray(0, count)
}

/**
 * Return a tokenizer whose tokens are runs of characters that match `inside`. `outside` matches the other characters.
 * Both must match single characters. An expression for a whole run would keep a backtracking state per character, and
 * would fail for runs of many millions of characters.
 */
function runs(identity: string, inside: () => RegExp, outside: () => RegExp): BaseTokenizer {
  let known: Uint8Array | null = null
  // Computed at the first use, because most processes use no tokenizer.
  const separatorsOnce = () => {
    known ??= Uint8Array.from({ length: 128 }, (_, code) =>
      String.fromCharCode(code).search(inside()) < 0 ? 1 : 0,
    )
    return known
  }
  return {
    identity,
    get ascii(): AsciiCut {
      return { kind: 'runs', separators: separatorsOnce() }
    },
    cut: (text, take) => {
      const separators = separatorsOnce()
      for (let position = 0, from = 0; ; position++) {
        const start = next(inside(), text, skip(text, from, separators, 1))
        if (start === text.length) return
        const end = next(outside(), text, skip(text, start, separators, 0))
        take(text.slice(start, end), position, start, end)
        from = end
      }
    },
  }
}

/**
 * Return the end of the ASCII characters from `from` on for which `separators` has `value`. This takes a fraction of the
 * time of a regular expression.
 */
function skip(text: string, from: number, separators: Uint8Array, value: number): number {
  let at = from
  while (at < text.length && separators[text.charCodeAt(at)] === value) at++
  return at
}

/** Return the start of the next matching character at or after `from`. Return the end of the text if there is none. */
function next(character: RegExp, text: string, from: number): number {
  if (from >= text.length || text.charCodeAt(from) < 128) return from
  character.lastIndex = from
  if (!character.test(text)) return text.length
  const last = character.lastIndex - 1
  return isLowSurrogate(text.charCodeAt(last)) ? last - 1 : last
}

function isLowSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00
}

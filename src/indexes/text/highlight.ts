/** Marks the matching words of a text. The result is the whole text, or the snippets with the most matching words. */
import { invalidInput, quote } from '../../errors.js'
import type { Analyzer } from './analysis/analyzer.js'

/** A range of a text, in UTF-16 units. `end` is exclusive. */
interface TextRange {
  readonly start: number
  readonly end: number
}

/** Options for highlighting matching words. */
export interface HighlightOptions {
  /** The text inserted before each match. It is never escaped. Default `<b>`. */
  readonly pre?: string | undefined
  /** The text inserted after each match. It is never escaped. Default `</b>`. */
  readonly post?: string | undefined
  /** Escaping of the text. `html` replaces the characters `& < > " '` by entities. Default `none`: no change. */
  readonly escape?: 'none' | 'html' | undefined
  /**
   * Maximum length of a snippet in UTF-16 units, without `pre` and `post`. At least 1. Default: no snippets, but the
   * whole text.
   */
  readonly snippetLength?: number | undefined
  /** Maximum number of snippets, 1 to 100. Ignored without `snippetLength`. Default 1. */
  readonly snippets?: number | undefined
}

/** A highlighted text. */
interface Highlighted {
  /** The text with marked matches, or its snippets in text order. `…` replaces omitted parts. */
  readonly text: string
  /** All matches in the whole text, in text order. Overlapping matches are merged. */
  readonly ranges: readonly TextRange[]
}

/** A matching token and its index among all tokens. */
interface Match extends TextRange {
  readonly term: string
  readonly token: number
}

/**
 * Mark the tokens of a text whose terms satisfy `matches`.
 *
 * Snippets begin and end at token boundaries. The best snippet has the most distinct matching terms. Ties are broken by
 * the number of matches, then by the position in the text. The matches are in the middle of the snippet if possible. If
 * nothing matches, the snippet is the start of the text. Throws InvalidInput for invalid snippet options.
 */
export function highlighted(
  text: string,
  analyzer: Analyzer,
  matches: (term: string) => boolean,
  options: HighlightOptions = {},
): Highlighted {
  const tokens = analyzer.tokens(text).filter(({ start, end }) => start < end)
  const found: Match[] = []
  tokens.forEach(({ term, start, end }, token) => {
    if (matches(term)) found.push({ term, token, start, end })
  })
  const ranges = joined(found)
  checkHighlighting(options)
  const { snippetLength, snippets = 1 } = options
  const whole = { start: 0, end: text.length }
  const shown =
    snippetLength === undefined || text.length <= snippetLength
      ? [whole]
      : bestSnippets(text, tokens, found, snippetLength, snippets)
  return { text: marked(text, ranges, shown, options), ranges }
}

/** Maximum number of snippets. The limit bounds the time, because each snippet takes another pass over the matches. */
const snippetsMax = 100

/**
 * Check the snippet options. Throws InvalidInput if the length is not a positive integer, or the number is not from 1
 * to 100.
 */
export function checkHighlighting({ snippetLength = 1, snippets = 1 }: HighlightOptions): void {
  if (!(Number.isInteger(snippetLength) && snippetLength > 0)) {
    throw invalidInput(`snippetLength must be a positive integer, got ${quote(snippetLength)}`)
  }
  if (!(Number.isInteger(snippets) && snippets > 0 && snippets <= snippetsMax)) {
    throw invalidInput(`snippets must be an integer from 1 to ${snippetsMax}, got ${quote(snippets)}`)
  }
}

function joined(found: readonly TextRange[]): TextRange[] {
  const ranges: { start: number; end: number }[] = []
  for (const { start, end } of found) {
    const last = ranges.at(-1)
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end)
    else ranges.push({ start, end })
  }
  return ranges
}

function bestSnippets(
  text: string,
  tokens: readonly TextRange[],
  found: readonly Match[],
  length: number,
  most: number,
): TextRange[] {
  const chosen: TextRange[] = []
  /** The chosen snippets divide the text into parts. These are the best windows of all parts, in text order. */
  let windows = windowsIn({ start: 0, end: text.length }, found, length)
  while (chosen.length < most && windows.length > 0) {
    const best = windows.reduce((a, b) => (isBetter(b, a) ? b : a))
    const { part, inside } = best
    const snippet = widened(text, tokens, best, length)
    chosen.push(snippet)
    windows = windows.flatMap(each =>
      each === best
        ? [
            ...windowsIn({ start: part.start, end: snippet.start }, inside, length),
            ...windowsIn({ start: snippet.end, end: part.end }, inside, length),
          ]
        : [each],
    )
  }
  if (chosen.length === 0) return [{ start: 0, end: lastEnd(text, tokens, 0, 0, length) }]
  return chosen.sort((a, b) => a.start - b.start)
}

/** A range of consecutive matches in one part of the text, which may become a snippet. */
interface Window {
  readonly part: TextRange
  /** All matches in `part`. The window has the matches from `first` to `last`. */
  readonly inside: readonly Match[]
  readonly first: Match
  readonly last: Match
  /** Number of distinct matching terms in the window, and number of matches. */
  readonly terms: number
  readonly matches: number
}

function isBetter(a: Pick<Window, 'terms' | 'matches'>, b: Pick<Window, 'terms' | 'matches'>): boolean {
  return a.terms > b.terms || (a.terms === b.terms && a.matches > b.matches)
}

/**
 * Return an array with the best window of `part` that has at most `length` UTF-16 units. The array is empty if the part
 * has no matches. A match that is longer than `length` is a window of its own.
 */
function windowsIn(part: TextRange, found: readonly Match[], length: number): readonly Window[] {
  const inside = found.filter(({ start, end }) => part.start <= start && end <= part.end)
  let best: Window | null = null
  const counts = new Map<string, number>()
  let from = 0
  for (let to = 0; to < inside.length; to++) {
    const last = inside[to]!
    counts.set(last.term, (counts.get(last.term) ?? 0) + 1)
    for (; from < to && last.end - inside[from]!.start > length; from++) {
      const { term } = inside[from]!
      const left = counts.get(term)! - 1
      if (left === 0) counts.delete(term)
      else counts.set(term, left)
    }
    const size = { terms: counts.size, matches: to - from + 1 }
    if (best === null || isBetter(size, best)) best = { part, inside, first: inside[from]!, last, ...size }
  }
  return best === null ? [] : [best]
}

/**
 * Extend a window by surrounding tokens up to `length` UTF-16 units. About half of the free space goes before the
 * window.
 */
function widened(
  text: string,
  tokens: readonly TextRange[],
  { first, last, part }: Window,
  length: number,
): TextRange {
  const free = Math.max(0, length - (last.end - first.start))
  const before = Math.max(Math.floor(free / 2), free - (part.end - last.end))
  const earliest = Math.max(part.start, first.start - before)
  let token = first.token
  while (token > 0 && tokens[token - 1]!.start >= earliest) token--
  const start = earliest === 0 ? 0 : tokens[token]!.start
  return { start, end: lastEnd(text, tokens, token, start, Math.min(start + length, part.end)) }
}

/**
 * Return the end of the last token that ends at or before `limit`. Tokens before index `from` do not count. If there is
 * no such token, return `limit`, so that the snippet ends inside a token.
 */
function lastEnd(
  text: string,
  tokens: readonly TextRange[],
  from: number,
  start: number,
  limit: number,
): number {
  if (limit >= text.length) return text.length
  let end = start
  for (let i = from; i < tokens.length && tokens[i]!.start < limit; i++) {
    if (tokens[i]!.end <= limit) end = Math.max(end, tokens[i]!.end)
  }
  if (end > start) return end
  const isWithinPair = (text.charCodeAt(limit) & 0xfc00) === 0xdc00
  return isWithinPair ? limit - 1 : limit
}

function marked(
  text: string,
  ranges: readonly TextRange[],
  shown: readonly TextRange[],
  { pre = '<b>', post = '</b>', escape: escaping = 'none' }: HighlightOptions,
): string {
  const written = (start: number, end: number) =>
    escaping === 'html' ? escaped(text.slice(start, end)) : text.slice(start, end)
  let out = ''
  let at = 0
  for (const part of shown) {
    if (part.start > at) out += '…'
    at = part.start
    for (const range of ranges) {
      const start = Math.max(range.start, at)
      const end = Math.min(range.end, part.end)
      if (start >= end) continue
      out += written(at, start) + pre + written(start, end) + post
      at = end
    }
    out += written(at, part.end)
    at = part.end
  }
  return at < text.length ? `${out}…` : out
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, character => entities[character]!)
}

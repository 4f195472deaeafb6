/** Texts with the words marked for which they were found, whole or the parts of them that say most. */
import { invalidInput, quote } from '../../errors.js'
import type { Analyzer } from './analysis/analyzer.js'

/** UTF-16 units of a text, `end` exclusive. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

export interface HighlightOptions {
  /** What stands before and after each match. Defaults `<b>` and `</b>`; never escaped. */
  readonly pre?: string | undefined
  readonly post?: string | undefined
  /** `html`: what the text has of `& < > " '` is written as entities. Default `none`: the text is as it was. */
  readonly escape?: 'none' | 'html' | undefined
  /** Only snippets of the text, of at most so many UTF-16 units each, marks left out of account. Default: all of the text. */
  readonly snippetLength?: number | undefined
  /** How many snippets at most, up to 100. Default 1. */
  readonly snippets?: number | undefined
}

export interface Highlighted {
  /** The text, or its snippets in their order; `…` stands where something was left out. */
  readonly text: string
  /** All matches in the whole text, in their order; those that overlap are one. */
  readonly ranges: readonly TextRange[]
}

/** A token for which the text was found, and its place among all tokens. */
interface Match extends TextRange {
  readonly term: string
  readonly token: number
}

/**
 * Marks the tokens of the text for whose terms `matches` is true. A snippet begins and ends where a token does and is chosen for
 * how many distinct terms it has that match, then for how many matches, then for coming first; what it has no room for is spread to either side.
 * Where nothing matches, it is how the text begins. Throws as `checkHighlighting` does.
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

/** For each of them what is left of the text is looked through. */
const snippetsMax = 100

/** Throws invalid input (code 13) where snippets have no length or number, or are too many. */
export function checkHighlighting({ snippetLength = 1, snippets = 1 }: HighlightOptions): void {
  if (!(Number.isInteger(snippetLength) && snippetLength > 0)) {
    throw invalidInput(`snippetLength must be a whole number from 1 on, got ${quote(snippetLength)}`)
  }
  if (!(Number.isInteger(snippets) && snippets > 0 && snippets <= snippetsMax)) {
    throw invalidInput(`snippets must be a whole number from 1 to ${snippetsMax}, got ${quote(snippets)}`)
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
  /** The best of each part of the text in which no snippet lies, in the order of those. */
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

/** Matches `first` to `last` of those that lie in one part of the text, `inside`. */
interface Window {
  readonly part: TextRange
  readonly inside: readonly Match[]
  readonly first: Match
  readonly last: Match
  /** Distinct ones, and all. */
  readonly terms: number
  readonly matches: number
}

function isBetter(a: Pick<Window, 'terms' | 'matches'>, b: Pick<Window, 'terms' | 'matches'>): boolean {
  return a.terms > b.terms || (a.terms === b.terms && a.matches > b.matches)
}

/** The best window of at most `length`; none where nothing is found in this part. A match that is longer has a window to itself. */
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

/** The window and as many tokens around it as there is room for: half of it is for those before. */
function widened(
  text: string,
  tokens: readonly TextRange[],
  { first, last, part }: Window,
  length: number,
): TextRange {
  const room = Math.max(0, length - (last.end - first.start))
  const before = Math.max(Math.floor(room / 2), room - (part.end - last.end))
  const earliest = Math.max(part.start, first.start - before)
  let token = first.token
  while (token > 0 && tokens[token - 1]!.start >= earliest) token--
  const start = earliest === 0 ? 0 : tokens[token]!.start
  return { start, end: lastEnd(text, tokens, token, start, Math.min(start + length, part.end)) }
}

/** The last end of a token up to `limit`, from a token on; where there is none, a token is cut. */
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

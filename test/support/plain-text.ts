/** Texts whose terms are what stands between spaces, and segments of them; beside them, the same by maps and loops. */
import type { Column } from '../../src/arrow/column.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { Analyzer, TermNumbering } from '../../src/indexes/text/analysis/analyzer.js'
import { defaultTextOptions } from '../../src/indexes/text/options.js'
import type { Corpus, PhraseQuery, WeightedTerm } from '../../src/indexes/text/query.js'
import { scannedSegment } from '../../src/indexes/text/search/scan.js'
import type { TextSegment } from '../../src/indexes/text/segment.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { runTask } from '../../src/primitives/task.js'

/** A position counts every space; none is a term. */
class SpaceNumbering implements TermNumbering {
  readonly terms: string[] = []
  readonly #numbers = new Map<string, number>()
  numbers = new Uint32Array(0)
  positions = new Uint32Array(0)
  readonly bytes = 0

  read(bytes: Uint8Array, from: number, to: number): number {
    const tokens = tokensOf(new TextDecoder().decode(bytes.subarray(from, to)))
    this.numbers = Uint32Array.from(tokens, ({ term }) => {
      let number = this.#numbers.get(term)
      if (number === undefined) {
        number = this.terms.push(term) - 1
        this.#numbers.set(term, number)
      }
      return number
    })
    this.positions = Uint32Array.from(tokens, ({ position }) => position)
    return tokens.length
  }
}

function tokensOf(text: string): { term: string; position: number }[] {
  return text
    .split(' ')
    .map((term, position) => ({ term, position }))
    .filter(({ term }) => term !== '')
}

export const spaceAnalyzer: Analyzer = {
  options: { ...defaultTextOptions, positions: true },
  identity: 'spaces',
  tokens: text => tokensOf(text).map(token => ({ ...token, start: 0, end: 0 })),
  prefixText: text => ({ tokens: spaceAnalyzer.tokens(text), prefix: null }),
  numbering: () => new SpaceNumbering(),
}

export function textColumn(texts: readonly (string | null)[]): Column {
  const type = { kind: 'utf8', large: false } as const
  return rowsToBatch(
    texts.map(text => ({ text })),
    { fields: [{ name: 'text', type, nullable: true }] },
  ).columns[0]!
}

/** All terms of the texts are in it. `prefixes`: those it can be asked for. */
export async function segmentOfTexts(
  texts: readonly (string | null)[],
  prefixes: readonly string[] = [],
): Promise<TextSegment> {
  const scanned = [{ column: textColumn(texts), rows: null }]
  const wanted = { accept: () => true, prefixes, positions: true }
  return runTask(scannedSegment(scanned, spaceAnalyzer, wanted, new Pacer()))
}

export function corpusOfTexts(texts: readonly (string | null)[]): Corpus {
  const lengths = texts.map(text => tokensOf(text ?? '').length).filter(length => length > 0)
  return { averageLength: lengths.reduce((sum, length) => sum + length, 0) / lengths.length }
}

export interface ScoredRow {
  readonly row: number
  /** float32. */
  readonly score: number
}

/** A query without joined postings. */
export type QueryOfTerms =
  | PhraseQuery
  | { readonly kind: 'terms'; readonly groups: readonly (readonly WeightedTerm[])[]; readonly all: boolean }

/** Rows that match, by ordinal. */
export function matchesByLoops(
  texts: readonly (string | null)[],
  query: QueryOfTerms,
  { averageLength }: Corpus,
): ScoredRow[] {
  const found: ScoredRow[] = []
  texts.forEach((text, row) => {
    const places = new Map<string, number[]>()
    const tokens = tokensOf(text ?? '')
    for (const { term, position } of tokens) places.set(term, [...(places.get(term) ?? []), position])
    const has = ({ term }: { term: string }) => places.has(term)
    if (query.kind === 'phrase') {
      if (!query.terms.every(has) || !standsIn(places, query)) return
    } else if (query.all ? !query.groups.every(group => group.some(has)) : !query.groups.flat().some(has))
      return
    let score = 0
    for (const { term, weight } of query.kind === 'phrase' ? query.terms : query.groups.flat()) {
      const frequency = places.get(term)?.length ?? 0
      if (frequency === 0) continue
      score += weight * (frequency / (frequency + 1.2 * (1 - 0.75 + (0.75 * tokens.length) / averageLength)))
    }
    found.push({ row, score: Math.fround(score) })
  })
  return found
}

/** Every choice of places is looked at. */
function standsIn(places: ReadonlyMap<string, readonly number[]>, { terms, slop }: PhraseQuery): boolean {
  const tries = (i: number, before: number): boolean => {
    if (i === terms.length) return true
    const { term, offset } = terms[i]!
    return places.get(term)!.some(place => {
      const late = i === 0 ? 0 : place - offset - before
      return late >= 0 && late <= slop && tries(i + 1, place - offset)
    })
  }
  return tries(0, 0)
}

/** The best first, equal ones by ordinal; and those that score as much as the last of `k`. */
export function bestByLoops(matches: readonly ScoredRow[], k: number): ScoredRow[] {
  const sorted = [...matches].sort((a, b) => b.score - a.score || a.row - b.row)
  return sorted.filter(({ score }, i) => i < k || (k > 0 && score === sorted[k - 1]!.score))
}

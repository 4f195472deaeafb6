/** What a query for text finds, by maps and loops over the terms of every row: BM25 as the formulas have it. */

import type { TextQuery } from '../../src/index.js'
import { openAnalyzer } from '../../src/indexes/text/analysis/open-analyzer.js'
import { defaultTextOptions } from '../../src/indexes/text/options.js'

export type TextRow = Readonly<Record<string, string | readonly (string | null)[] | null>>

interface Doc {
  /** Positions by term. */
  readonly at: ReadonlyMap<string, readonly number[]>
  readonly length: number
}

/** Scores by the number of the row; rows that do not match are missing. */
export type Scores = ReadonlyMap<number, number>

const analyzer = openAnalyzer(defaultTextOptions, [])

export class TextOracle {
  readonly #columns = new Map<string, Doc[]>()

  constructor(rows: readonly TextRow[], columns: readonly string[]) {
    for (const column of columns)
      this.#columns.set(
        column,
        rows.map(row => docOf(row[column] ?? null)),
      )
  }

  search(query: string | TextQuery, columns: readonly string[] = [...this.#columns.keys()]): Scores {
    if (typeof query === 'string') return this.search({ multiMatch: query, columns })
    if ('match' in query) {
      const {
        match,
        column,
        operator = 'or',
        fuzziness = 0,
        prefixLength = 0,
        maxExpansions = 50,
        prefix = false,
        boost = 1,
      } = query
      const asked = { match, operator, fuzziness, prefixLength, maxExpansions, prefix }
      const own = column === undefined ? columns : [column]
      return best(own.map(name => this.#match(name, asked, boost)))
    }
    if ('multiMatch' in query) {
      const { multiMatch: match, boosts, operator = 'or', fuzziness = 0, prefix = false } = query
      const asked = { match, operator, fuzziness, prefixLength: 0, maxExpansions: 50, prefix }
      return best(query.columns.map((name, i) => this.#match(name, asked, boosts?.[i] ?? 1)))
    }
    if ('phrase' in query) {
      const own = query.column === undefined ? columns : [query.column]
      return best(own.map(name => this.#phrase(name, query.phrase, query.slop ?? 0)))
    }
    if ('positive' in query) {
      const negative = this.search(query.negative, columns)
      const share = query.negativeBoost ?? 0.5
      return mapped(this.search(query.positive, columns), (score, row) =>
        negative.has(row) ? Math.fround(score - share * negative.get(row)!) : score,
      )
    }
    const must = (query.must ?? []).map(each => this.search(each, columns))
    const should = (query.should ?? []).map(each => this.search(each, columns))
    const mustNot = (query.mustNot ?? []).map(each => this.search(each, columns))
    const found = new Map<number, number>()
    const candidates = must.length > 0 ? must[0]!.keys() : new Set(should.flatMap(each => [...each.keys()]))
    for (const row of candidates) {
      if (must.some(each => !each.has(row)) || mustNot.some(each => each.has(row))) continue
      let score: number | null = null
      for (const each of [...must, ...should]) {
        const own = each.get(row)
        if (own !== undefined) score = score === null ? own : Math.fround(score + own)
      }
      found.set(row, score!)
    }
    return found
  }

  #match(
    column: string,
    { match, operator, fuzziness, prefixLength, maxExpansions, prefix }: Asked,
    boost: number,
  ): Scores {
    const docs = this.#columns.get(column)!
    const start = prefix ? /[\p{L}\p{N}]+$/u.exec(match)?.[0] : undefined
    const words = start === undefined ? match : match.slice(0, -start.length)
    const counts = new Map<string, number>()
    for (const { term } of analyzer.tokens(words)) counts.set(term, (counts.get(term) ?? 0) + 1)
    const all = [...new Set(docs.flatMap(({ at }) => [...at.keys()]))]
    const similar = (term: string): readonly string[] => {
      const distance = fuzziness === 'auto' ? automatic(term) : fuzziness
      if (distance === 0) return [term]
      const prefix = [...term].slice(0, prefixLength).join('')
      return all
        .filter(each => each.startsWith(prefix))
        .map(each => ({ term: each, edits: edits([...term], [...each]) }))
        .filter(each => each.edits <= distance)
        .sort((a, b) => a.edits - b.edits || Buffer.compare(Buffer.from(a.term), Buffer.from(b.term)))
        .slice(0, maxExpansions)
        .map(each => each.term)
    }
    /** Terms of an element of a group count as one term. */
    const groups = Array.from(counts, ([term, count]) =>
      similar(term).map(each => ({ terms: new Set([each]), count })),
    )
    if (start !== undefined) {
      const folded = start.toLowerCase().replaceAll('ß', 'ss')
      const whole = analyzer.tokens(start).flatMap(({ term }) => similar(term))
      const begun = all.filter(term => term.startsWith(folded))
      groups.push([{ terms: new Set([...begun, ...whole]), count: 1 }])
    }
    const found = new Map<number, number>()
    if (groups.length === 0) return found
    for (const [row, doc] of docs.entries()) {
      const has = groups.map(group => group.some(({ terms }) => occurrences(doc, terms) > 0))
      if (operator === 'and' ? has.includes(false) : !has.includes(true)) continue
      let score = 0
      for (const { terms, count } of groups.flat()) score += count * boost * this.#share(docs, doc, terms)
      found.set(row, Math.fround(score))
    }
    return found
  }

  #phrase(column: string, text: string, slop: number): Scores {
    const docs = this.#columns.get(column)!
    const tokens = analyzer.tokens(text)
    const found = new Map<number, number>()
    if (tokens.length === 0) return found
    for (const [row, doc] of docs.entries()) {
      const places = tokens.map(({ term, position }) =>
        (doc.at.get(term) ?? []).map(at => ({ by: at - position })),
      )
      if (places.some(({ length }) => length === 0) || !standsIn(places, slop)) continue
      let score = 0
      for (const { term } of tokens) score += this.#share(docs, doc, new Set([term]))
      found.set(row, Math.fround(score))
    }
    return found
  }

  /** Return the part of a row's score for terms that count as one term. */
  #share(docs: readonly Doc[], doc: Doc, terms: ReadonlySet<string>): number {
    const frequency = occurrences(doc, terms)
    const having = docs.filter(each => occurrences(each, terms) > 0).length
    const lengths = docs.map(({ length }) => length).filter(length => length > 0)
    const average = lengths.reduce((sum, length) => sum + length, 0) / lengths.length
    const idf = Math.log(1 + (lengths.length - having + 0.5) / (having + 0.5))
    if (frequency === 0) return 0
    return (2.2 * idf * frequency) / (frequency + 1.2 * (0.25 + (0.75 * doc.length) / average))
  }
}

interface Asked {
  readonly match: string
  readonly operator: 'or' | 'and'
  readonly fuzziness: number | 'auto'
  readonly prefixLength: number
  readonly maxExpansions: number
  readonly prefix: boolean
}

function occurrences({ at }: Doc, terms: ReadonlySet<string>): number {
  let count = 0
  for (const term of terms) count += at.get(term)?.length ?? 0
  return count
}

function docOf(value: string | readonly (string | null)[] | null): Doc {
  const at = new Map<string, number[]>()
  let length = 0
  let base = 0
  for (const text of typeof value === 'string' ? [value] : (value ?? [])) {
    let next = 0
    for (const { term, position } of text === null ? [] : analyzer.tokens(text)) {
      const places = at.get(term) ?? []
      places.push(base + position)
      at.set(term, places)
      length++
      next = position + 1
    }
    base += next + 100
  }
  return { at, length }
}

type Places = readonly (readonly { readonly by: number }[])[]

/** Whether there is a choice of places in which each follows the one before it, by no more than the slop too late. */
function standsIn(places: Places, slop: number, chosen: readonly number[] = []): boolean {
  if (chosen.length === places.length) return true
  return places[chosen.length]!.some(({ by }) => {
    const late = chosen.length === 0 ? 0 : by - chosen.at(-1)!
    return late >= 0 && late <= slop && standsIn(places, slop, [...chosen, by])
  })
}

function best(lists: readonly Scores[]): Scores {
  const found = new Map<number, number>()
  for (const list of lists)
    for (const [row, score] of list) found.set(row, Math.max(score, found.get(row) ?? -Infinity))
  return found
}

function mapped(scores: Scores, change: (score: number, row: number) => number): Scores {
  return new Map(Array.from(scores, ([row, score]) => [row, change(score, row)]))
}

function automatic(term: string): number {
  const { length } = [...term]
  return length <= 2 ? 0 : length <= 5 ? 1 : 2
}

function edits(a: readonly string[], b: readonly string[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[b.length]!
}

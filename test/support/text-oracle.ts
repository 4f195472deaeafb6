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
        boost = 1,
      } = query
      const own = column === undefined ? columns : [column]
      return best(
        own.map(name => this.#match(name, match, operator, fuzziness, prefixLength, maxExpansions, boost)),
      )
    }
    if ('multiMatch' in query) {
      const { multiMatch, boosts, operator = 'or', fuzziness = 0 } = query
      return best(
        query.columns.map((name, i) =>
          this.#match(name, multiMatch, operator, fuzziness, 0, 50, boosts?.[i] ?? 1),
        ),
      )
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
    text: string,
    operator: 'or' | 'and',
    fuzziness: number | 'auto',
    prefixLength: number,
    most: number,
    boost: number,
  ): Scores {
    const docs = this.#columns.get(column)!
    const counts = new Map<string, number>()
    for (const { term } of analyzer.tokens(text)) counts.set(term, (counts.get(term) ?? 0) + 1)
    const all = [...new Set(docs.flatMap(({ at }) => [...at.keys()]))]
    const groups = [...counts].map(([term, count]) => {
      const distance = fuzziness === 'auto' ? automatic(term) : fuzziness
      if (distance === 0) return [{ term, count }]
      const prefix = [...term].slice(0, prefixLength).join('')
      return all
        .filter(each => each.startsWith(prefix))
        .map(each => ({ term: each, edits: edits([...term], [...each]) }))
        .filter(each => each.edits <= distance)
        .sort((a, b) => a.edits - b.edits || Buffer.compare(Buffer.from(a.term), Buffer.from(b.term)))
        .slice(0, most)
        .map(each => ({ term: each.term, count }))
    })
    const found = new Map<number, number>()
    if (groups.length === 0) return found
    for (const [row, doc] of docs.entries()) {
      const has = groups.map(group => group.some(({ term }) => doc.at.has(term)))
      if (operator === 'and' ? has.includes(false) : !has.includes(true)) continue
      let score = 0
      for (const { term, count } of groups.flat()) score += count * boost * this.#share(docs, doc, term)
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
      for (const { term } of tokens) score += this.#share(docs, doc, term)
      found.set(row, Math.fround(score))
    }
    return found
  }

  /** What a term adds to the score of a row. */
  #share(docs: readonly Doc[], doc: Doc, term: string): number {
    const frequency = doc.at.get(term)?.length ?? 0
    const having = docs.filter(({ at }) => at.has(term)).length
    const lengths = docs.map(({ length }) => length).filter(length => length > 0)
    const average = lengths.reduce((sum, length) => sum + length, 0) / lengths.length
    const idf = Math.log(1 + (lengths.length - having + 0.5) / (having + 0.5))
    if (frequency === 0) return 0
    return (2.2 * idf * frequency) / (frequency + 1.2 * (0.25 + (0.75 * doc.length) / average))
  }
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

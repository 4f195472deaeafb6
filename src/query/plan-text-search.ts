/** Plans a full-text search: the columns, their indexes, and the query as terms (rules ). */
import { typeName } from '../arrow/type-name.js'
import { invalidInput, quote } from '../errors.js'
import type { Analyzer, Token } from '../indexes/text/analysis/analyzer.js'
import { checkHighlighting } from '../indexes/text/highlight.js'
import { defaultTextOptions, type TextOptions } from '../indexes/text/options.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { FtsQuery, MatchQuery, PhraseQuery, QueryRequest } from '../protocol/query-shapes.js'
import { holdsText } from '../table/text-column.js'
import { namedColumn } from './named-column.js'
import type { Highlighting, QueryTerm, TextColumn, TextNode, TextSearch } from './text-plan.js'

/** The properties of a text index that decide whether a query can use it. */
export interface TextIndex {
  readonly name: string
  /** Path of the column: one name, or several names if it is inside structs. */
  readonly path: readonly string[]
  readonly options: TextOptions
  /** Reason why the index is not used for the rows that it covers. Null: it is used. */
  readonly reason: string | null
  /**
   * Reason why queries use only the analyzer of the index, and read every row: it is still being built, or it is an index
   * of LanceDB. Default: queries use the index.
   */
  readonly onlyAnalyzer?:
    | 'it is being built'
    | 'Sheaf uses the options of text indexes of LanceDB, and reads every row'
}

/** Opens the analyzer for the options of a text index. Throws `InvalidInput` if there is no such analyzer. */
export type OpenAnalyzer = (options: TextOptions) => Analyzer

/** Maximum depth of nested operators. */
const depthMax = 64

/** Throw `InvalidInput` if operators are nested too deeply. */
export function checkDepth(depth: number): void {
  if (depth > depthMax)
    throw invalidInput(
      `operators of a full-text query may be nested at most ${depthMax} levels deep, got ${depth}`,
    )
}

/** Maximum edit distance of fuzzy words. */
const fuzzinessMax = 2
/** Maximum number of fuzzy words and prefixes of a query: each may be compared with every term of the index. */
const fuzzyMax = 64

/** Maximum boost. It keeps scores far below the maximum of a float32. */
const boostMax = 1e9

/**
 * Plan the text search of a request. Returns null for a query without a text. `indexes`: the text indexes of the
 * version, then the indexes of which only the analyzer is used. Throws `ColumnNotFound` or `InvalidInput`.
 */
export function planTextSearch(
  request: Pick<QueryRequest, 'full_text_query' | 'fast_search' | 'require_index'>,
  schema: TableSchema,
  indexes: readonly TextIndex[],
  open: OpenAnalyzer,
): TextSearch | null {
  const { full_text_query: asked, fast_search, require_index } = request
  if (asked === undefined) return null
  const { structured_query: structured } = asked
  const planner = new TextPlanner(
    schema,
    indexes,
    open,
    structured !== undefined && hasPhrase(structured.query),
  )
  const query =
    asked.string_query !== undefined
      ? planner.plain(asked.string_query.query, asked.string_query.columns)
      : planner.node(structured!.query, 0)
  const bare = require_index === true ? planner.columns.find(({ index }) => index === null) : undefined
  if (bare !== undefined) {
    const isAwaited = indexes.some(
      index => index.onlyAnalyzer === 'it is being built' && isSame(index.path, bare.path),
    )
    throw invalidInput(
      `column ${quote(bare.path.join('.'))} has no full-text index${isAwaited ? ' yet' : ''}, and requireIndex (require_index) is given`,
      { hint: isAwaited ? 'wait until it is built: waitForIndex' : 'create an index of type FTS' },
    )
  }
  return { columns: planner.columns, query, fast: fast_search === true, unused: planner.unused }
}

function hasPhrase({ phrase, boost, boolean }: FtsQuery): boolean {
  if (boost !== undefined) return hasPhrase(boost.positive) || hasPhrase(boost.negative)
  const { must = [], must_not = [], should = [] } = boolean ?? {}
  return phrase !== undefined || [...must, ...must_not, ...should].some(hasPhrase)
}

class TextPlanner {
  readonly columns: TextColumn[] = []
  readonly unused: { readonly index: string; readonly reason: string }[] = []
  readonly #schema: TableSchema
  readonly #indexes: readonly TextIndex[]
  readonly #open: OpenAnalyzer
  readonly #needsPositions: boolean
  /** Number of fuzzy words and prefixes so far. */
  #fuzzy = 0

  /** `needsPositions`: whether the query has a phrase, which an index without positions cannot answer. */
  constructor(
    schema: TableSchema,
    indexes: readonly TextIndex[],
    open: OpenAnalyzer,
    needsPositions: boolean,
  ) {
    this.#schema = schema
    this.#indexes = indexes
    this.#open = open
    this.#needsPositions = needsPositions
  }

  /** `columns`: if there are none, all columns with a text index are searched. */
  plain(terms: string, columns: readonly string[] = []): TextNode {
    const paths = columns.length === 0 ? this.#paths() : columns.map(name => this.#pathOf(name))
    return best(paths.map(path => this.#match(path, { terms, fuzziness: 0 })))
  }

  node(query: FtsQuery, depth: number): TextNode {
    checkDepth(depth)
    if (query.match !== undefined) return this.#matches(query.match)
    if (query.phrase !== undefined) return this.#phrases(query.phrase)
    if (query.multi_match !== undefined) {
      return best(query.multi_match.match_queries.map(each => this.#matches(each)))
    }
    if (query.boost !== undefined) {
      const { positive, negative, negative_boost = 0.5 } = query.boost
      return {
        kind: 'boost',
        positive: this.node(positive, depth + 1),
        negative: this.node(negative, depth + 1),
        negativeBoost: negative_boost,
      }
    }
    const { must = [], must_not = [], should = [] } = query.boolean!
    if (must.length === 0 && should.length === 0) {
      throw invalidInput('a boolean query must have must or should, this query has neither')
    }
    const nodes = (queries: readonly FtsQuery[]) => queries.map(each => this.node(each, depth + 1))
    return { kind: 'boolean', must: nodes(must), mustNot: nodes(must_not), should: nodes(should) }
  }

  #matches(query: MatchQuery): TextNode {
    const paths = query.column === undefined ? this.#paths() : [this.#pathOf(query.column)]
    return best(paths.map(path => this.#match(path, query)))
  }

  #match(path: readonly string[], query: MatchQuery): TextNode {
    const { terms, operator = 'Or', fuzziness = 0, prefix_length = 0, max_expansions = 50, boost = 1 } = query
    if (fuzziness !== null && fuzziness > fuzzinessMax) {
      throw invalidInput(`fuzziness must be at most ${fuzzinessMax} edits, got ${fuzziness}`, {
        hint: 'to find parts of words, use an index with the ngram tokenizer',
      })
    }
    if (!(boost >= 0 && boost <= boostMax)) {
      throw invalidInput(`boost must be from 0 to ${boostMax}, got ${boost}`)
    }
    const column = this.#column(path, false)
    const { analyzer } = this.columns[column]!
    const { tokens, prefix } =
      query.prefix === true ? analyzer.prefixText(terms) : { tokens: analyzer.tokens(terms), prefix: null }
    const found = counted(tokens)
    if (fuzziness !== 0) this.#fuzzy += found.length
    if (prefix !== null) this.#fuzzy++
    if (this.#fuzzy > fuzzyMax) {
      throw invalidInput(
        `a query may have at most ${fuzzyMax} fuzzy words and prefixes, this query has more`,
        {
          hint: 'use fewer words, no fuzziness, or no prefix',
        },
      )
    }
    return {
      kind: 'match',
      column,
      terms: found,
      prefix,
      all: operator === 'And',
      fuzziness,
      prefixLength: prefix_length,
      mostExpansions: max_expansions,
      boost,
    }
  }

  #phrases({ terms, column, slop = 0 }: PhraseQuery): TextNode {
    const paths = column === undefined ? this.#paths() : [this.#pathOf(column)]
    return best(
      paths.map((path): TextNode => {
        const number = this.#column(path, true)
        const tokens = this.columns[number]!.analyzer.tokens(terms)
        const found = tokens.map(({ term, position }) => ({ term, offset: position }))
        return { kind: 'phrase', column: number, terms: found, slop }
      }),
    )
  }

  /**
   * Return the columns to search if the query does not name any: the columns with an index, which may still be being
   * built, or all text columns if there is no index.
   */
  #paths(): readonly (readonly string[])[] {
    const indexed: (readonly string[])[] = []
    for (const { path } of this.#indexes) if (!indexed.some(known => isSame(known, path))) indexed.push(path)
    if (indexed.length > 0) return indexed
    const paths = this.#schema.fields.filter(({ type }) => holdsText(type)).map(({ name }) => [name])
    if (paths.length > 0) return paths
    throw invalidInput('the table has no text column to search')
  }

  #pathOf(name: string): readonly string[] {
    const { path, type } = namedColumn(name, this.#schema)
    if (holdsText(type)) return path
    throw invalidInput(
      `column ${quote(name)} is of type ${typeName(type)}: full-text search needs strings or lists of strings`,
    )
  }

  /**
   * Return the number of a column in the search. Adds the column if it is new. A query uses one index per column. If
   * the query has a phrase, it prefers an index with positions.
   */
  #column(path: readonly string[], forPhrase: boolean): number {
    const own = this.#indexes.filter(index => isSame(index.path, path))
    const index = (this.#needsPositions ? own.find(({ options }) => options.positions) : undefined) ?? own[0]
    if (forPhrase && index !== undefined && !index.options.positions) {
      throw invalidInput(`index ${quote(index.name)} has no positions, which a phrase query needs`, {
        hint: 'create it again with withPosition: true (with_position)',
      })
    }
    const known = this.columns.findIndex(column => isSame(column.path, path))
    if (known !== -1) return known
    const name = index === undefined || index.onlyAnalyzer !== undefined ? null : index.name
    for (const { name: other, reason, onlyAnalyzer } of own) {
      if (onlyAnalyzer !== undefined) this.unused.push({ index: other, reason: onlyAnalyzer })
      else if (other !== name) this.unused.push({ index: other, reason: `${name ?? index!.name} is used` })
      else if (reason !== null) this.unused.push({ index: other, reason })
    }
    const options = index?.options ?? defaultTextOptions
    return this.columns.push({ path, analyzer: this.#open(options), index: name }) - 1
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((name, i) => name === b[i]))
}

/** Maximum number of tokens for which comparing all of them is faster than a map. */
const fewTokens = 8

function counted(tokens: readonly Token[]): readonly QueryTerm[] {
  const isNew = ({ term }: Token, i: number) => tokens.findIndex(other => other.term === term) === i
  if (tokens.length <= fewTokens && tokens.every(isNew)) return tokens.map(({ term }) => ({ term, count: 1 }))
  const counts = new Map<string, { readonly term: string; count: number }>()
  for (const { term } of tokens) {
    const known = counts.get(term)
    if (known === undefined) counts.set(term, { term, count: 1 })
    else known.count++
  }
  return [...counts.values()]
}

function best(nodes: readonly TextNode[]): TextNode {
  return nodes.length === 1 ? nodes[0]! : { kind: 'best', of: nodes }
}

/**
 * Plan the highlighted columns. Returns [] without `highlight`. Throws `InvalidInput` for a column that is not
 * searched.
 */
export function planHighlights(
  { highlight, group_by, distinct }: QueryRequest,
  text: TextSearch | null,
  schema: TableSchema,
): readonly Highlighting[] {
  if (highlight === undefined) return []
  if (text === null)
    throw invalidInput(
      'highlight is given, but the query has no words that could be marked: it needs fullText (full_text_query)',
    )
  if (group_by !== undefined || distinct === true) {
    throw invalidInput('highlight cannot be combined with groups or distinct rows')
  }
  const { columns, snippet_length, ...marks } = highlight
  const options = { ...marks, ...(snippet_length !== undefined && { snippetLength: snippet_length }) }
  checkHighlighting(options)
  const paths = text.columns.map(({ path }) => path.join('.'))
  const names = columns?.map(name => namedColumn(name, schema).path.join('.')) ?? paths
  return names.map(name => {
    const column = paths.indexOf(name)
    if (column !== -1) return { column, options }
    throw invalidInput(`highlight names column ${quote(name)}, which is not searched`, {
      hint: `searched: ${paths.map(quote).join(', ')}`,
    })
  })
}

/** Full-text queries of the client, and their conversion to wire fields. */
import { invalidInput } from '../errors.js'
import type { Request } from '../protocol/calls.js'
import type { FtsQuery } from '../protocol/query-shapes.js'
import {
  array,
  boolean,
  either,
  having,
  integer,
  named,
  number,
  oneOf,
  options,
  type Shape,
  string,
} from '../protocol/shape.js'
import { checkDepth } from '../query/plan-text-search.js'

/** Finds rows with words of a text. */
export interface MatchWords {
  /** The words to look for. They are analyzed like the text of the column. */
  readonly match: string
  /** Column to search. Default: all columns that the query searches. */
  readonly column?: string
  /** Whether a row needs one of the words (`or`, the default) or all of them (`and`). */
  readonly operator?: 'or' | 'and'
  /**
   * Most edits between a word and a matching word: 0 (default) to 2. `auto`: 0 for up to two letters, 1 for up to
   * five, else 2.
   */
  readonly fuzziness?: number | 'auto'
  /** Number of letters at the beginning that must be equal in a fuzzy match. Default 0. */
  readonly prefixLength?: number
  /** Most words that a fuzzy word expands to, nearest first. Default 50. */
  readonly maxExpansions?: number
  /**
   * Whether the last word may be incomplete (autocomplete): it then also matches all words that begin with it. A text
   * that ends with a space or punctuation has only complete words. Default false.
   */
  readonly prefix?: boolean
  /** Factor of the score, 0 to 1e9. Default 1. */
  readonly boost?: number
}

/** Finds rows with these words in sequence. An index of the column must store positions (`withPosition`). */
export interface MatchPhrase {
  /** The words of the phrase, analyzed like the text of the column. */
  readonly phrase: string
  /** Column to search. Default: all columns that the query searches. */
  readonly column?: string
  /** Most additional positions between two neighboring words. The order of the words must stay. Default 0. */
  readonly slop?: number
}

/** Finds rows with words of a text in any of the columns. The score is the best score of a column. */
export interface MatchColumns {
  /** The words to look for, as in `MatchWords.match`. */
  readonly multiMatch: string
  /** Columns to search, at least one. */
  readonly columns: readonly string[]
  /** A score factor for each column. Default 1. */
  readonly boosts?: readonly number[]
  /** As in `MatchWords.operator`. */
  readonly operator?: 'or' | 'and'
  /** As in `MatchWords.fuzziness`. */
  readonly fuzziness?: number | 'auto'
  /** As in `MatchWords.prefix`. */
  readonly prefix?: boolean
}

/** Finds rows of `positive`. Subtracts `negativeBoost` (default 0.5) times the score of `negative` from their score. */
export interface BoostText {
  readonly positive: TextQuery
  readonly negative: TextQuery
  /** Factor of the subtracted score. Default 0.5. */
  readonly negativeBoost?: number
}

/**
 * Finds rows that match all of `must` (without `must`: at least one of `should`) and none of `mustNot`. The score is
 * the sum of the scores.
 */
export interface CombineText {
  /** Queries that a row must match, all of them. */
  readonly must?: readonly TextQuery[]
  /** Queries that add to the score. Without `must`, a row must match at least one of them. */
  readonly should?: readonly TextQuery[]
  /** Queries that a row must not match. */
  readonly mustNot?: readonly TextQuery[]
}

/** A structured full-text query. Queries can be nested. */
export type TextQuery = MatchWords | MatchPhrase | MatchColumns | BoostText | CombineText

const words = {
  operator: oneOf('or', 'and'),
  fuzziness: either<number | 'auto'>(
    { is: value => typeof value === 'string', shape: oneOf('auto') },
    { is: () => true, shape: integer(0) },
  ),
  prefix: boolean,
}

const textQuery: Shape<TextQuery> = named('TextQuery', () =>
  either<TextQuery>(
    having(['match'], matchWords),
    having(['phrase'], matchPhrase),
    having(['multiMatch'], matchColumns),
    having(['positive', 'negative', 'negativeBoost'], boostText),
    having(['must', 'should', 'mustNot'], combineText),
  ),
)

const matchWords = options<MatchWords>()(
  {
    match: string(),
    column: string('nonEmpty'),
    ...words,
    prefixLength: integer(0),
    maxExpansions: integer(0),
    boost: number,
  },
  { match: true },
)

const matchPhrase = options<MatchPhrase>()(
  { phrase: string(), column: string('nonEmpty'), slop: integer(0) },
  { phrase: true },
)

const matchColumns = options<MatchColumns>()(
  { multiMatch: string(), columns: array(string('nonEmpty'), { min: 1 }), boosts: array(number), ...words },
  { multiMatch: true, columns: true },
)

const boostText: Shape<BoostText> = options<BoostText>()(
  { positive: textQuery, negative: textQuery, negativeBoost: number },
  { positive: true, negative: true },
)

const combineText: Shape<CombineText> = options<CombineText>()({
  must: array(textQuery),
  should: array(textQuery),
  mustNot: array(textQuery),
})

/** Words, or a structured query. */
export const textShape = either<string | TextQuery>(
  { is: value => typeof value === 'string', shape: string() },
  { is: value => typeof value === 'object' && value !== null, shape: textQuery },
)

type FullText = NonNullable<Request<'queryTable'>['full_text_query']>

/**
 * Return the wire field of a checked query. `columns`: columns to search. Default: all columns with an FTS index, or
 * all text columns if none has an index.
 */
export function fullTextField(query: string | TextQuery, columns: readonly string[] | undefined): FullText {
  if (typeof query === 'string') {
    return { string_query: { query, ...(columns !== undefined && { columns }) } }
  }
  if (columns !== undefined) {
    throw invalidInput('fullText: columns are given together with a structured query', {
      hint: 'name the columns in the parts of the query',
    })
  }
  return { structured_query: { query: wireQuery(query, 0) } }
}

function wireQuery(query: TextQuery, depth: number): FtsQuery {
  checkDepth(depth)
  if ('match' in query) {
    const { match: terms, column, prefixLength, maxExpansions, boost } = query
    return {
      match: {
        terms,
        ...(column !== undefined && { column }),
        ...wordsOf(query),
        ...(prefixLength !== undefined && { prefix_length: prefixLength }),
        ...(maxExpansions !== undefined && { max_expansions: maxExpansions }),
        ...(boost !== undefined && { boost }),
      },
    }
  }
  if ('phrase' in query) {
    const { phrase: terms, column, slop } = query
    return { phrase: { terms, ...(column !== undefined && { column }), ...(slop !== undefined && { slop }) } }
  }
  if ('multiMatch' in query) {
    const { multiMatch: terms, columns, boosts } = query
    if (boosts !== undefined && boosts.length !== columns.length) {
      throw invalidInput(`fullText: boosts has ${boosts.length} factors for ${columns.length} columns`)
    }
    const queries = columns.map((column, i) => ({
      terms,
      column,
      ...wordsOf(query),
      ...(boosts !== undefined && { boost: boosts[i]! }),
    }))
    return { multi_match: { match_queries: queries } }
  }
  if ('positive' in query) {
    const { positive, negative, negativeBoost } = query
    return {
      boost: {
        positive: wireQuery(positive, depth + 1),
        negative: wireQuery(negative, depth + 1),
        ...(negativeBoost !== undefined && { negative_boost: negativeBoost }),
      },
    }
  }
  const { must, should, mustNot } = query
  if (must === undefined && should === undefined && mustNot === undefined) {
    throw invalidInput('fullText: the query needs one of must, should, mustNot')
  }
  const wired = (queries: readonly TextQuery[]) => queries.map(each => wireQuery(each, depth + 1))
  return {
    boolean: {
      ...(must !== undefined && { must: wired(must) }),
      ...(should !== undefined && { should: wired(should) }),
      ...(mustNot !== undefined && { must_not: wired(mustNot) }),
    },
  }
}

function wordsOf({ operator, fuzziness, prefix }: Pick<MatchWords, 'operator' | 'fuzziness' | 'prefix'>) {
  return {
    ...(operator !== undefined && {
      operator: ({ or: 'Or', and: 'And' } as const)[operator],
    }),
    ...(fuzziness !== undefined && { fuzziness: fuzziness === 'auto' ? null : fuzziness }),
    ...(prefix !== undefined && { prefix }),
  }
}

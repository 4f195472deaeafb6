/** The queries of `Search.fullText`, and their conversion to wire fields. */
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

/** A query for rows that contain words of a text in one column, or in any of several columns. */
export interface MatchWords {
  /** The words to search for. They are analyzed like the texts of the column. */
  readonly match: string
  /** Column to search. Default: all columns that the query searches. */
  readonly column?: string
  /** Whether a row needs one of the words (`or`, the default) or all of them (`and`). */
  readonly operator?: 'or' | 'and'
  /**
   * Maximum number of edits (inserted, deleted or replaced characters) between a query word and a matching word, 0 to
   * 2. Default 0. `auto`: 0 for words of up to two characters, 1 for words of up to five characters, otherwise 2.
   */
  readonly fuzziness?: number | 'auto'
  /** Number of characters at the beginning of a word that must be equal in a fuzzy match. Default 0. */
  readonly prefixLength?: number
  /** Maximum number of index terms that a fuzzy word matches. The terms with the fewest edits are used. Default 50. */
  readonly maxExpansions?: number
  /**
   * Whether the last word may be incomplete (autocomplete): it then also matches all words that begin with it. A text
   * that ends with a space or punctuation has only complete words. Default false.
   */
  readonly prefix?: boolean
  /** Factor of the score, 0 to 1e9. Default 1. */
  readonly boost?: number
}

/** A query for rows that contain words in sequence. An index of the column must store positions (`withPosition`). */
export interface MatchPhrase {
  /** The words of the phrase. They are analyzed like the texts of the column. */
  readonly phrase: string
  /** Column to search. Default: all columns that the query searches. */
  readonly column?: string
  /** Maximum number of other words between two neighboring words of the phrase, which stay in order. Default 0. */
  readonly slop?: number
}

/** A query for rows that contain words of a text in any of the columns. The score is the highest score of a column. */
export interface MatchColumns {
  /** The words to search for. They are analyzed like the texts of each column. */
  readonly multiMatch: string
  /** Columns to search, at least one. */
  readonly columns: readonly string[]
  /** Factors of the score, one for each column. Default: 1 for all columns. */
  readonly boosts?: readonly number[]
  /** Whether a row needs one of the words (`or`, the default) or all words (`and`), like in `MatchWords`. */
  readonly operator?: 'or' | 'and'
  /** Maximum number of edits between a query word and a matching word, like in `MatchWords`. Default 0. */
  readonly fuzziness?: number | 'auto'
  /** As in `MatchWords.prefix`. */
  readonly prefix?: boolean
}

/** A query for the rows of `positive`. A row that also matches `negative` gets a lower score. */
export interface BoostText {
  readonly positive: TextQuery
  readonly negative: TextQuery
  /** The score of `negative`, times this factor, is subtracted from the score of `positive`. Default 0.5. */
  readonly negativeBoost?: number
}

/**
 * A query for rows that match all of `must` and none of `mustNot`. Without `must`, a row must match at least one of
 * `should`. The score is the sum of the scores of `must` and `should`.
 */
export interface CombineText {
  /** Queries that a row must all match. */
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

/** The shape of a text query: words, or a structured query. */
export const textShape = either<string | TextQuery>(
  { is: value => typeof value === 'string', shape: string() },
  { is: value => typeof value === 'object' && value !== null, shape: textQuery },
)

type FullText = NonNullable<Request<'queryTable'>['full_text_query']>

/**
 * Return the wire field of a checked query. `columns`: names of the columns to search. Default: all columns with an FTS
 * index, or all columns of texts and of lists of texts if no column has an index.
 */
export function fullTextField(query: string | TextQuery, columns: readonly string[] | undefined): FullText {
  if (typeof query === 'string') {
    return { string_query: { query, ...(columns !== undefined && { columns }) } }
  }
  if (columns !== undefined) {
    throw invalidInput('fullText: the option columns is not allowed with a structured query', {
      hint: "name the columns in the parts of the query, for example { match: 'words', column: 'title' }",
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
    throw invalidInput('fullText: the query needs at least one of must, should and mustNot')
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

/** An immutable query builder. Methods such as `where` return a new query; methods such as `toArray` run the query. */
import type { Batch } from '../arrow/column.js'
import type { ArrowBatch, ArrowTable } from '../arrow/to-arrow.js'
import { invalidInput } from '../errors.js'
import type { HighlightOptions } from '../indexes/text/highlight.js'
import { lazyImport } from '../lazy-import.js'
import { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, whenResolved } from '../primitives/task.js'
import { refuseArray, takeNoMore } from '../protocol/arguments.js'
import {
  type ArrowReply,
  type CallOptions,
  callFields,
  callShape,
  type Operations,
  type Request,
} from '../protocol/calls.js'
import { type DirectRead, directReadsOf, searchLimit } from '../protocol/direct-reads.js'
import type { Parameters } from '../protocol/parameters.js'
import { parse } from '../protocol/parse.js'
import { queryRequest } from '../protocol/query-shapes.js'
import {
  array,
  boolean,
  callback,
  options as declare,
  either,
  exactly,
  given,
  integer,
  oneOf,
  string,
} from '../protocol/shape.js'
import type { SqlFragment } from '../sql/syntax/sql-fragment.js'
import { type ColumnCondition, conditionFrom } from './column-fragments.js'
import type { FuseRows } from './custom-fusion.js'
import { filterFields } from './filter-fields.js'
import { fullTextField, type TextQuery, textShape } from './full-text.js'
import { importReplies } from './import-replies.js'
import type { OpenQuery, OwnSql } from './join-conditions.js'
import { type Order, orderFields } from './order-keys.js'
import { PreparedQuery, type ReadDirectly } from './prepared-query.js'
import type {
  Cell,
  Computed,
  FilterColumn,
  OrderedName,
  OrderText,
  RowsAs,
  Selected,
  SelectedName,
  WithoutAdded,
} from './row-types.js'
import { type ConnectionInt64, callOptions, type RowsOptions, rowsShape, withInt64 } from './rows-options.js'
import { isScan, scanPages } from './scan-pages.js'
import type { FacetValue, PageOptions } from './search-page.js'
import { isOfGroups, selectedFields } from './selection.js'
import type { Row } from './table-data.js'

const importCountMatches = lazyImport(() => import('./count-matches.js'))
const importCustomFusion = lazyImport(() => import('./custom-fusion.js'))
const importSearchPage = lazyImport(() => import('./search-page.js'))
const importJoinConditions = lazyImport(() => import('./join-conditions.js'))

type QueryRequest = Request<'queryTable'>

type SearchRequest = Omit<QueryRequest, 'k'> & { readonly k?: number }

/** The parts of a query that the client computes. */
interface ClientSteps {
  /** The representation of 64-bit integers that the connection has. Undefined: numbers. */
  readonly int64: ConnectionInt64
  /** The caller's fusion function. Undefined: the engine fuses the results. */
  readonly fuse: FuseRows | undefined
  /** The second and later `where`, and other SQL with its own values. All SQL is joined when the query runs. */
  readonly own: readonly OwnSql[]
}

const noSql: readonly OwnSql[] = []
const noSteps: ClientSteps = { int64: undefined, fuse: undefined, own: noSql }

/** Return the steps of a query that has only a representation of 64-bit integers. */
export function stepsWith(int64: ConnectionInt64): ClientSteps {
  return int64 === undefined ? noSteps : { ...noSteps, int64 }
}

/** Default of `BatchesOptions.rows`. */
const batchRows = 8 * 1024

/** Options of `batches`. */
export interface BatchesOptions extends CallOptions {
  /** Maximum number of rows per batch. Default 8,192. */
  readonly rows?: number | undefined
}

export const batchesShape = declare<BatchesOptions>()({ rows: integer(1), ...callFields })

/** Options for joining the results of the vector search and the text search of a hybrid search. */
export interface FuseOptions {
  /**
   * Use reciprocal rank fusion: the relevance is the sum of 1 / (k + rank), with ranks from 0. The default, with `k`
   * 60.
   */
  readonly rrf?: { readonly k?: number | undefined } | undefined
  /**
   * Use weighted scores. The value is the weight of the vector search, 0 to 1; the text search has the remaining
   * weight. Both scores are first scaled to 0 to 1. Not together with `rrf`.
   */
  readonly vectorWeight?: number | undefined
  /** Maximum number of rows that each of the two searches contributes. Default: 4 times the limit, at least 200. */
  readonly candidates?: number | undefined
}

/** Minimum and maximum for `Search.nprobes`. */
interface ProbesOptions {
  /** Number of partitions that every query searches. */
  readonly min?: number | undefined
  /** Maximum number of partitions to search if the first `min` partitions have too few rows. Default 0: no limit. */
  readonly max?: number | undefined
}

/** The fields of a query request. Each method checks its argument by the shape of the field that it sets. */
const fields = queryRequest.fields

const distanceType = exactly(fields.distance_type.shape)

export const probesShape = declare<ProbesOptions>()({
  min: fields.minimum_nprobes.shape,
  max: fields.maximum_nprobes.shape,
})

const probes = either<number | ProbesOptions>(
  { is: value => typeof value === 'object' && value !== null, shape: probesShape },
  { is: () => true, shape: fields.nprobes.shape },
)

/** Options of `Search.fullText`. */
interface FullTextOptions {
  /**
   * Columns to search. Default: all columns with an FTS index. If no column has one: all columns of texts or of lists of
   * texts.
   */
  readonly columns?: readonly string[] | undefined
  /** Whether to refuse columns without an index, instead of reading all of their rows. Default false. */
  readonly requireIndex?: boolean | undefined
}

export const fullTextShape = declare<FullTextOptions>()({
  columns: array(string('nonEmpty')),
  requireIndex: boolean,
})

export const fuseShape = declare<FuseOptions>()({
  rrf: declare<NonNullable<FuseOptions['rrf']>>()({
    k: given<number>('a number > 0', value => Number.isFinite(value) && Number(value) > 0),
  }),
  vectorWeight: given<number>(
    'a number from 0 to 1',
    value => typeof value === 'number' && value >= 0 && value <= 1,
  ),
  candidates: integer(1),
})

const fuseBy = either<FuseOptions | FuseRows>(
  { is: value => typeof value === 'function', shape: callback<FuseRows>() },
  { is: () => true, shape: fuseShape },
)

/** Options that are allowed with a fusion function. */
export const candidatesShape = declare<Pick<FuseOptions, 'candidates'>>()({ candidates: integer(1) })

/** Options of `Search.highlight`. */
interface SearchHighlightOptions extends HighlightOptions {
  /** Names of the columns to highlight. Default: the searched columns. */
  readonly columns?: readonly string[] | undefined
}

export const highlightShape = declare<SearchHighlightOptions>()({
  columns: array(string('nonEmpty'), { distinct: name => name }),
  pre: string(),
  post: string(),
  escape: oneOf('none', 'html'),
  snippetLength: integer(1),
  snippets: integer(1),
})

/**
 * The rows of a text search or a hybrid search. In a hybrid search, the score of a search that did not find a row is
 * null.
 */
export type FoundByText<R extends object> = R extends { readonly _distance: number }
  ? { readonly [K in keyof R as K extends '_distance' ? never : K]: R[K] } & {
      readonly _distance: number | null
      readonly _score: number | null
      readonly _relevance_score: number
    }
  : R & { readonly _score: number }

/** The answer of `Search.page`: rows `R` of a table with rows `T`, and facets of the columns `F`. */
export type Page<R extends object, T extends object, F extends string, O> = {
  readonly rows: R[]
} & (O extends { readonly total: true } ? { readonly total: number } : { readonly total?: number }) &
  ([F] extends [never]
    ? { readonly facets?: undefined }
    : { readonly facets: { readonly [K in F]: readonly FacetValue<Cell<object, T, K>>[] } })

/**
 * A query, with or without a search. Each step returns a new query; it runs when the rows are read. If a step is given
 * twice, the last one counts, with two exceptions: conditions of several `where` are joined with AND, and a second
 * `fullText` is refused.
 *
 * `R` is the type of the rows, as far as it is known at compile time. `T` is the type of the rows of the table. A function
 * that takes any query declares both: `<R extends object, T extends object>(query: Search<R, T>)`.
 *
 * A query is an async iterable of its rows. All rows are from one version. A scan has one page of rows in memory at a
 * time, like `batches`.
 *
 * ```js
 * for await (const row of table.query().where('year > ?', [1950])) console.log(row.title)
 * ```
 */
export class Search<out R extends object = Row, out T extends object = R> implements AsyncIterable<R> {
  readonly #operations: Operations
  readonly #request: SearchRequest
  readonly #steps: ClientSteps

  constructor(operations: Operations, request: SearchRequest, steps: ClientSteps = noSteps) {
    this.#operations = operations
    this.#request = request
    this.#steps = steps
  }

  /**
   * Keep only rows for which `filter` is true. `filter` is an SQL text, or a fragment made by the tag `sql`. In a text,
   * `?`, `$1` and `:name` take their values from `parameters`. If `where` is called several times, a row must pass all
   * filters. Each filter has its own parameters. Texts of `select` and `groupBy` use the parameters of the first `where`.
   */
  where(filter: string | SqlFragment, parameters?: Parameters): Search<R, T>
  /**
   * Keep only rows for which the condition is true. `condition` receives the columns of the table as fragments, so
   * that the compiler checks their names.
   *
   * ```js
   * table.query().where(c => sql`${c.year} > ${1950} AND ${c.title} LIKE ${'A%'}`)
   * ```
   */
  where(condition: ColumnCondition<T>): Search<R, T>
  where(given: string | SqlFragment | ColumnCondition<T>, parameters?: Parameters): Search<R, T> {
    const filter = typeof given === 'function' ? conditionFrom('where', given) : given
    const condition = filterFields('where', filter, parameters)
    if (this.#request.filter === undefined) return this.#with(condition)
    return this.#with({}, [...this.#steps.own, { call: 'where', ...condition }])
  }

  /**
   * Select the columns of the answer and their order: names of columns, or SQL expressions keyed by column name.
   * Default: all columns. A search appends its columns `_distance`, `_score` and `_relevance_score`.
   *
   * Expressions may read the columns of the table, the columns that the search appends, `_rowid`, and `_rowoffset` (the
   * number of earlier rows in the version). `$1` and `:name` take their values from the parameters of `where`.
   * Fragments made by the tag `sql` have their own values. If an expression contains an aggregate such as `count` or
   * `sum`, the answer has one row per group (see `groupBy`).
   *
   * In TypeScript, columns and aggregates of columns have their types. The tag can declare the type of another
   * expression, which is `unknown` otherwise.
   *
   * ```ts
   * table.query().select({ id: 'id', total: sql<number>`price * amount` })
   * ```
   */
  select<S extends object, U extends object, const C extends Readonly<Record<string, string | SqlFragment>>>(
    this: Search<S, U>,
    columns: C,
  ): Search<Computed<S, C, U>, U>
  select<S extends object, U extends object, const K extends SelectedName<S, U>>(
    this: Search<S, U>,
    columns: readonly K[],
  ): Search<Selected<S, K, U>, U>
  select(
    columns: readonly string[] | Readonly<Record<string, string | SqlFragment>>,
  ): Search<object, object> {
    const { fields, withValues } = selectedFields('select', columns)
    return this.#with<object>(fields, this.#ownWith('select', withValues))
  }

  /**
   * Return one row per group. Rows with equal keys form a group; NULL equals NULL. `keys` are columns or SQL
   * expressions; without keys, all rows form one group. Groups are in the order of their first rows. Use `select` to
   * return the keys and aggregates.
   *
   * With a text search or a `distanceRange`, groups and aggregates cover all matching rows, and `limit` and `offset`
   * count groups. A vector search without a `distanceRange` is refused. A hybrid search needs `fuse({ candidates })`,
   * which limits the rows that are grouped.
   *
   * ```js
   * table.query().groupBy('city').select({ city: 'city', mean: 'avg(price)' })
   * ```
   */
  groupBy(...keys: readonly string[]): Search<WithoutAdded<R>, T> {
    refuseArray('groupBy', keys)
    return this.#with<WithoutAdded<R>>({ group_by: parse(fields.group_by.shape, keys, 'groupBy') })
  }

  /** Return equal rows of the answer only once. With a search, the rows that `groupBy` would group are compared. */
  distinct(): Search<R, T> {
    return this.#with({ distinct: true })
  }

  /**
   * Order the rows by columns of the answer or of the table: by the first key, then by the next. A key is an object, or
   * a column name, optionally followed by `asc` or `desc`, and then by `nulls first` or `nulls last`. A name with
   * blanks is written in double quotes or backticks.
   *
   * The default is ascending, with NULL last. NaN is greater than all numbers. Texts are ordered by code point. Rows
   * with equal keys are in row order.
   *
   * With a text search or a `distanceRange`, all matching rows are ordered before `limit` cuts the answer. A vector
   * search without a `distanceRange` is refused.
   *
   * ```js
   * table.query().orderBy('year desc', 'id')
   * ```
   */
  orderBy<S extends object, U extends object>(
    this: Search<S, U>,
    ...keys: readonly (OrderText<S, U> | Order<OrderedName<S, U>>)[]
  ): Search<S, U>
  orderBy(...keys: readonly (string | Order)[]): Search<R, T> {
    if (keys.length === 0) {
      throw invalidInput('orderBy: no sort key is given', {
        hint: 'leave orderBy out if the order does not matter',
      })
    }
    refuseArray('orderBy', keys)
    return this.#with({ order_by: orderFields(keys) })
  }

  /**
   * Limit the number of rows of the answer. Default: 10 for a search by vector or text. Scans, and queries with groups
   * or distinct rows, have no default limit.
   */
  limit(k: number): Search<R, T> {
    return this.#with({ k: parse(fields.k.shape, k, 'limit') })
  }

  /** Skip this number of rows. Default 0. */
  offset(offset: number): Search<R, T> {
    return this.#with({ offset: parse(fields.offset.shape, offset, 'offset') })
  }

  /**
   * Set the distance type: `l2` (squared), `cosine` (1 - cos), `dot` (1 - dot), or `hamming` (the number of different
   * bits). `hamming` requires a column of vectors of uint8 and a query of integers from 0 to 255. Default: the distance
   * type of the column's vector index. Without an index it is `l2`, or `cosine` for lists of vectors. If the index has
   * another distance type, the search does not use the index and measures every row.
   */
  distanceType(metric: 'l2' | 'cosine' | 'dot' | 'hamming'): Search<R, T> {
    return this.#with({ distance_type: parse(distanceType, metric, 'distanceType') })
  }

  /**
   * Choose the vector column to search, or a field of a struct by its path (`image.embedding`). Required only if
   * several columns have vectors of the same dimension as the query.
   */
  column(name: string): Search<R, T> {
    return this.#with({ vector_column: parse(fields.vector_column.shape, name, 'column') })
  }

  /** Keep only rows with `lower <= _distance < upper`. At least one of the two bounds must be given. */
  distanceRange(lower?: number, upper?: number): Search<R, T> {
    if (lower === undefined && upper === undefined) {
      throw invalidInput('distanceRange: give a lower bound, an upper bound, or both')
    }
    const bound = fields.lower_bound.shape
    return this.#with({
      ...(lower !== undefined && { lower_bound: parse(bound, lower, 'distanceRange: the lower bound') }),
      ...(upper !== undefined && { upper_bound: parse(bound, upper, 'distanceRange: the upper bound') }),
    })
  }

  /**
   * Set the number of partitions of a vector index that a search visits. Default: the number that was tuned when the
   * index was built. A number, or `min`, is the minimum. If the minimum partitions have too few rows for the answer,
   * the search visits more partitions, at most `max` (default 0: no limit). With `max`, the answer may have fewer rows
   * than there are matching rows.
   */
  nprobes(n: number | ProbesOptions): Search<R, T> {
    const count = parse(probes, n, 'nprobes')
    if (typeof count === 'number') return this.#with({ nprobes: count })
    const { min, max } = count
    return this.#with({
      ...(min !== undefined && { minimum_nprobes: min }),
      ...(max !== undefined && { maximum_nprobes: max }),
    })
  }

  /**
   * Set the number of candidates that a search in an HNSW graph keeps. A smaller number than `limit` plus `offset` is
   * raised to this sum. Default: the number that was tuned when the index was built.
   */
  ef(n: number): Search<R, T> {
    return this.#with({ ef: parse(fields.ef.shape, n, 'ef') })
  }

  /**
   * Set the number of candidates per requested row whose exact distance is computed, in each segment of a vector index.
   * Default: the number that was tuned when the index was built, and more until the nearest rows no longer change. A
   * smaller `n` is faster and finds fewer of the nearest rows. Returned distances are always exact.
   */
  refineFactor(n: number): Search<R, T> {
    return this.#with({ refine_factor: parse(fields.refine_factor.shape, n, 'refineFactor') })
  }

  /**
   * Search by words. `query` is a text, or a structured query. A row matches a text if it contains at least one of its
   * words. Rows are ordered by `_score` (BM25), best first. Together with a vector, this is a hybrid search: its rows
   * match the vector or the text, and `fuse` sets their order.
   *
   * `columns` defaults to all columns with an FTS index, or to all columns of texts and of lists of texts if no column has
   * an index. For a column without an index, the search reads all rows and analyzes their texts with the default options
   * of an index. With `requireIndex`, such a column is refused. Throws `InvalidInput` if the query already has a text search.
   */
  fullText(query: string | TextQuery, options: FullTextOptions = {}): Search<FoundByText<R>, T> {
    if (this.#request.full_text_query !== undefined) {
      throw invalidInput('fullText: the query already has a text search', {
        hint: 'join both texts in one query: fullText({ must: [{ match: "a" }, { match: "b" }] })',
      })
    }
    const { columns, requireIndex } = parse(fullTextShape, options, 'fullText')
    return this.#with<FoundByText<R>>({
      full_text_query: fullTextField(parse(textShape, query, 'fullText'), columns),
      ...(requireIndex !== undefined && { require_index: requireIndex }),
    })
  }

  /**
   * Set how a hybrid search joins its two results into one list, which is ordered by `_relevance_score`. Default:
   * reciprocal rank fusion, the sum of 1 / (k + rank) over both searches, with ranks from 0 and `k` 60. With
   * `vectorWeight` (0 to 1), the relevance is the weighted sum of both scores. Each score is first scaled from 0 for
   * the worst to 1 for the best result. The text score has the remaining weight. The score of a search that did not
   * find the row is null.
   *
   * `candidates` is the number of rows that each search contributes. Default: 4 times the limit, at least 200. The
   * default does not depend on the offset, so pages with the same limit are parts of the same list. Set `candidates` if
   * answers with different limits above 50 must have the same relevance scores.
   *
   * Throws `InvalidInput` if the last row of the page is beyond the candidates. Aggregates, groups, distinct rows and
   * `orderBy` throw `InvalidInput` without `candidates`.
   *
   * `by` can be a function that receives the rows of both searches and returns the relevance of each row. The answer is
   * ordered by this relevance, and can only be read as objects, not as Arrow data. A second `fuse` replaces the first.
   */
  fuse(by: FuseOptions): Search<R, T>
  /**
   * Set a function that joins the rows of both searches. `candidates`: the number of rows of each search to pass to it.
   */
  fuse(by: FuseRows, options?: Pick<FuseOptions, 'candidates'>): Search<R, T>
  fuse(by: FuseOptions | FuseRows, options: Pick<FuseOptions, 'candidates'> = {}): Search<R, T> {
    const fusionOption = parse(fuseBy, by, 'fuse')
    const functionOptions = parse(candidatesShape, options, 'fuse')
    const isFunction = typeof fusionOption === 'function'
    if (!isFunction && functionOptions.candidates !== undefined) {
      throw invalidInput('fuse: candidates is given in a second argument', {
        hint: 'write it in the first argument, with the other options: fuse({ vectorWeight: 0.5, candidates: 500 })',
      })
    }
    const { candidates, rrf, vectorWeight }: FuseOptions = isFunction ? functionOptions : fusionOption
    const fusion = {
      ...(rrf !== undefined && { rrf }),
      ...(vectorWeight !== undefined && { weighted: { vector_weight: vectorWeight } }),
      ...(candidates !== undefined && { candidates }),
    }
    const request = Object.assign({}, this.#request, { fusion })
    const fuse = isFunction ? fusionOption : undefined
    return new Search<R, T>(this.#operations, request, { ...this.#steps, fuse })
  }

  /**
   * Add the column `_highlights`: for each column of `columns` (default: the searched columns), the text of the row
   * with the words of the query marked. Words of `negative` and `mustNot` are not marked. The text is cut after 16,384
   * UTF-16 units. With `snippetLength`, the snippets with the most matches are returned instead.
   */
  highlight(
    options: SearchHighlightOptions = {},
  ): Search<R & { readonly _highlights: Readonly<Record<string, string | null>> }, T> {
    const { columns, snippetLength, ...marks } = parse(highlightShape, options, 'highlight')
    const highlight = {
      ...marks,
      ...(columns !== undefined && { columns }),
      ...(snippetLength !== undefined && { snippet_length: snippetLength }),
    }
    return this.#with<R & { readonly _highlights: Readonly<Record<string, string | null>> }>({ highlight })
  }

  /** Do not use a vector index. The search computes the distance of every row, so the answer is exact. */
  bypassVectorIndex(): Search<R, T> {
    return this.#with({ bypass_vector_index: true })
  }

  /**
   * Search indexed rows only. Without an index, the answer is empty. In a vector search, this has no effect together
   * with `bypassVectorIndex`.
   */
  fastSearch(): Search<R, T> {
    return this.#with({ fast_search: true })
  }

  /**
   * Apply the filter after the search, to the rows that the search found. So the answer may have fewer rows than the
   * limit. In a search by vector or by text, `limit` and `offset` count rows before the filter, so a page may be empty
   * although later pages have rows. In a hybrid search, `limit` and `offset` count the candidates that pass the filter.
   */
  postfilter(): Search<R, T> {
    return this.#with({ prefilter: false })
  }

  /** Add the column `_rowid`, the id of the row. */
  withRowId(): Search<R & { readonly _rowid: number }, T> {
    return this.#with<R & { readonly _rowid: number }>({ with_row_id: true })
  }

  /** Return the rows as objects. Throws for 64-bit integers beyond 2^53 unless `int64` is `bigint` or `string`. */
  async toArray(options?: RowsOptions & { readonly int64?: undefined }): Promise<R[]>
  async toArray<S extends object, U extends object, const O extends RowsOptions>(
    this: Search<S, U>,
    options: O,
  ): Promise<RowsAs<S, O>[]>
  async toArray(given: RowsOptions = {}): Promise<object[]> {
    const options = withInt64(parse(rowsShape, given, 'toArray'), this.#steps.int64)
    const rows = this.#directRead()?.rows(this.#request.parameters, this.#request, options)
    if (rows != null) return rows
    const call = callOptions(options)
    const { fuse } = this.#steps
    if (fuse !== undefined) {
      const { fusedRows } = await importCustomFusion()
      return fusedRows(this.#operations, await this.#resolvedRequest(), fuse, options, call)
    }
    const reply = await this.#run(call)
    const { readReply, rowObjects } = await importReplies()
    return rowObjects(readReply(reply).batches, options)
  }

  /** Return the first row after `offset`, or null if there is no such row. Accepts the options of `toArray`. */
  async first(options?: RowsOptions & { readonly int64?: undefined }): Promise<R | null>
  async first<S extends object, U extends object, const O extends RowsOptions>(
    this: Search<S, U>,
    options: O,
  ): Promise<RowsAs<S, O> | null>
  async first(given: RowsOptions = {}): Promise<object | null> {
    const options = withInt64(parse(rowsShape, given, 'first'), this.#steps.int64)
    const rows = this.#directRead()?.rows(this.#request.parameters, this.#request, options, 1)
    const all: MaybePromise<object[]> = rows ?? this.limit(this.#request.k === 0 ? 0 : 1).toArray(options)
    return whenResolved(all, ([row = null]) => row)
  }

  /** Return a reader of the rows that needs no request. Null or undefined: the query must be sent as a request. */
  #directRead(): DirectRead | null | undefined {
    const { own, fuse } = this.#steps
    return own.length > 0 || fuse !== undefined
      ? null
      : directReadsOf(this.#operations)?.prepare(this.#request)
  }

  /**
   * Count the matching rows, without the rows that `offset` skips. A limit that was set is the maximum of the count.
   * The default limit of a text search does not apply. With groups or distinct rows, counts the rows of the answer.
   *
   * Throws `InvalidInput` for a vector search without `distanceRange` and for a hybrid search, because their limit
   * alone decides the number of rows.
   */
  async count(options: CallOptions = {}): Promise<number> {
    const call = parse(callShape, options, 'count')
    if (this.#steps.fuse !== undefined) throw onlyRows()
    const { countMatches } = await importCountMatches()
    return countMatches(this.#operations, await this.#resolvedRequest(), this.#request.k, call)
  }

  /**
   * Return the rows together with counts of all matching rows. `limit` and `offset` do not affect the counts. `total` is
   * the number of matching rows. `facets` has, for each named column, the number of matching rows by value, the most
   * frequent first. All parts are of one version. Takes the options of `toArray`, too.
   *
   * Throws `InvalidInput` where `count` does, and for facets of groups or distinct rows.
   *
   * ```js
   * const { rows, total, facets } = await table.search('wind').limit(20).page({ total: true, facets: ['lang'] })
   * console.log(total, facets.lang[0].value, facets.lang[0].count)
   * ```
   */
  async page<
    S extends object,
    U extends object,
    const F extends FilterColumn<U> = never,
    const O extends Omit<PageOptions, 'facets'> = object,
  >(this: Search<S, U>, options: O & { readonly facets?: readonly F[] }): Promise<Page<RowsAs<S, O>, U, F, O>>
  async page(options: PageOptions): Promise<object> {
    const { pageShape, searchPage } = await importSearchPage()
    const { int64, ...checked } = parse(pageShape, options, 'page')
    if (this.#steps.fuse !== undefined) throw onlyRows()
    return searchPage(this.#operations, await this.#resolvedRequest(), {
      ...checked,
      ...withInt64({ int64 }, this.#steps.int64),
    })
  }

  /** Yield the rows, as objects. */
  async *[Symbol.asyncIterator](): AsyncGenerator<R, void, undefined> {
    if (this.#steps.fuse !== undefined) {
      yield* await this.toArray()
      return
    }
    for await (const piece of this.#pieces(batchRows, {})) {
      const { rowObjects } = await importReplies()
      for (const row of await rowObjects([piece], withInt64({}, this.#steps.int64))) yield row as R
    }
  }

  /** Return the rows as a table of apache-arrow. */
  async toArrow(options: CallOptions = {}): Promise<ArrowTable> {
    const reply = await this.#run(parse(callShape, options, 'toArrow'))
    const { readReply, toArrowTable } = await importReplies()
    const { schema, batches } = readReply(reply)
    return toArrowTable(schema, batches)
  }

  /** Return the rows as an Arrow IPC file. */
  async toIpc(options: CallOptions = {}): Promise<Uint8Array> {
    const reply = await this.#run(parse(callShape, options, 'toIpc'))
    const { concatChunks } = await importReplies()
    return concatChunks(reply.chunks)
  }

  /**
   * Yield the rows as record batches of apache-arrow. All batches are from the version that is the newest when the
   * first batch is read, or from the version that was checked out.
   *
   * A scan has one batch in memory, and the stored columns from which the batch is cut (at most 131,072 rows). A query
   * with a search, groups, distinct rows or an order computes the whole answer first.
   */
  async *batches(options: BatchesOptions = {}): AsyncGenerator<ArrowBatch, void, undefined> {
    const { rows = batchRows, ...call } = parse(batchesShape, options, 'batches')
    for await (const piece of this.#pieces(rows, call)) {
      const { arrowBatch } = await importReplies()
      yield await arrowBatch(piece.schema, piece)
    }
  }

  /** Yield the answer in batches of at most `rows` rows. A scan is read page by page. */
  async *#pieces(rows: number, call: CallOptions): AsyncGenerator<Batch, void, undefined> {
    const resolved = this.#resolvedRequest()
    const request = resolved instanceof Promise ? await resolved : resolved
    const pacer = new Pacer(call.signal)
    const paged = isScan(request)
    const isPaged = paged instanceof Promise ? await paged : paged
    const pages = isPaged ? scanPages(this.#operations, request, rows, call) : [await this.#run(call)]
    for await (const page of pages) {
      const { replyPieces } = await importReplies()
      yield* replyPieces(page, rows, pacer)
    }
  }

  /**
   * Return the query plan as text: one line per step, with the filter as the planner parsed it. Reads only metadata.
   */
  async explain(options: CallOptions = {}): Promise<string> {
    const call = parse(callShape, options, 'explain')
    return whenResolved(this.#resolvedRequest(), ({ id, version, ...query }) => {
      const request = { id, query: { ...query, ...(version !== undefined && { version }) } }
      return this.#operations.explainTableQueryPlan(request, call)
    })
  }

  /** Run the query, and return the plan with rows and milliseconds of each step. The rows are discarded. */
  async analyze(options: CallOptions = {}): Promise<string> {
    const call = parse(callShape, options, 'analyze')
    return whenResolved(this.#resolvedRequest(), request =>
      this.#operations.analyzeTableQueryPlan(request, call),
    )
  }

  /**
   * Keep only groups for which `filter` is true. `filter` is an SQL condition on keys, selected columns and aggregates.
   * Requires a `groupBy`, or a `select` with an aggregate.
   *
   * ```js
   * table.query().groupBy('city').select({ city: 'city', n: 'count(*)' }).having('n > ? AND max(price) < 9', [1])
   * ```
   */
  having(filter: string | SqlFragment, parameters?: Parameters): Search<R, T> {
    const condition = filterFields('having', filter, parameters)
    const own = condition.parameters === undefined ? [] : [{ call: 'having', ...condition }]
    return this.#with({ having: condition.filter }, this.#ownWith('having', own))
  }

  /**
   * Prepare the query, to run it often with other values. Its SQL contains parameters (`?`, `$1` or `:name`) without
   * values. Each run of the query gives the values. `P` is the type of the values. `Table.prepare` prepares a query
   * without a vector search.
   *
   * Throws `InvalidInput` for a query with a fusion function.
   *
   * ```ts
   * const near = table.search(vector).where('lang = ?').prepare<[lang: string]>()
   * await near.all(['en'])
   * ```
   */
  prepare<P extends Parameters = Parameters>(): PreparedQuery<R, P> {
    if (this.#steps.fuse !== undefined) throw onlyRows()
    let open: OpenQuery | null = null
    let read: DirectRead | null | undefined = null
    const directly: ReadDirectly = (values, options, most) => {
      read ??= this.#directRead()
      return read?.rows(values, this.#request, withInt64(options, this.#steps.int64), most)
    }
    return new PreparedQuery<R, P>(directly, values => {
      if (Array.isArray(values) && values.length === 0) return this
      const { own } = this.#steps
      if (own.length === 0 && this.#request.parameters === undefined)
        return this.#with({ parameters: values })
      return whenResolved(importJoinConditions(), ({ openQuery }) => {
        open ??= openQuery(this.#request, own)
        return this.#with({ ...open.fields, parameters: open.withValues(values) }, noSql)
      })
    })
  }

  /** Return the request with all defaults. Returns a promise only if the SQL parser must first be loaded. */
  #resolvedRequest(): MaybePromise<QueryRequest> {
    const { vector = null, full_text_query, lower_bound, upper_bound, order_by, distinct } = this.#request
    const isNearest = vector !== null && full_text_query === undefined
    if (isNearest && order_by?.length && lower_bound === undefined && upper_bound === undefined) {
      throw invalidInput('orderBy: a vector search can be ordered only if it has a distance range', {
        hint: 'set distanceRange(lower, upper), or sort the rows of toArray()',
      })
    }
    const isSearch = vector !== null || full_text_query !== undefined
    const isUnlimited = !isSearch || distinct === true || isOfGroups(this.#request)
    return whenResolved(isUnlimited, unlimited => {
      const { k = unlimited ? Number.MAX_SAFE_INTEGER : searchLimit } = this.#request
      const request = Object.assign({}, this.#request, { vector, k })
      const { own } = this.#steps
      if (own.length === 0) return request
      return whenResolved(importJoinConditions(), ({ joinConditions }) =>
        Object.assign(request, joinConditions(request, own)),
      )
    })
  }

  #run(options: CallOptions): MaybePromise<ArrowReply> {
    if (this.#steps.fuse !== undefined) throw onlyRows()
    return whenResolved(this.#resolvedRequest(), request => this.#operations.queryTable(request, options))
  }

  /** Return the SQL of all steps, with `sql` in place of the SQL of one step. */
  #ownWith(step: string, sql: readonly OwnSql[]): readonly OwnSql[] {
    const { own } = this.#steps
    if (own.length === 0 && sql.length === 0) return own
    return [...own.filter(({ call }) => call !== step), ...sql]
  }

  #with<S extends object = R>(more: Partial<QueryRequest>, own = this.#steps.own): Search<S, T> {
    const steps = own === this.#steps.own ? this.#steps : { ...this.#steps, own }
    // Use Object.assign: an object literal with properties after a spread takes ten times as long, which slows small
    // queries.
    return new Search<S, T>(this.#operations, Object.assign({}, this.#request, more), steps)
  }
}

takeNoMore(Search.prototype, {
  where: 2,
  select: [1, 'name the columns in an array'],
  groupBy: Number.POSITIVE_INFINITY,
  having: 2,
  distinct: 0,
  orderBy: Number.POSITIVE_INFINITY,
  limit: 1,
  offset: 1,
  distanceType: 1,
  column: 1,
  distanceRange: 2,
  nprobes: 1,
  ef: 1,
  refineFactor: 1,
  fullText: [2, 'name the columns in options: fullText(text, { columns })'],
  fuse: 2,
  highlight: 1,
  bypassVectorIndex: 0,
  fastSearch: 0,
  postfilter: 0,
  withRowId: 0,
  toArray: 1,
  first: 1,
  count: 1,
  page: 1,
  toArrow: 1,
  toIpc: 1,
  batches: 1,
  explain: 1,
  analyze: 1,
  prepare: 0,
})

function onlyRows() {
  return invalidInput('a query with a fusion function can only return objects', { hint: 'use toArray()' })
}

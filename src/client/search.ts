/** Search: an immutable query builder. Each step returns a new search; a method such as `toArray` runs the query. */
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
import { countMatches } from './count-matches.js'
import { type FuseRows, fusedRows } from './custom-fusion.js'
import { filterFields } from './filter-fields.js'
import { fullTextField, type TextQuery, textShape } from './full-text.js'
import { importReplies } from './import-replies.js'
import type { OwnSql } from './join-conditions.js'
import { type Order, orderFields } from './order-keys.js'
import type {
  Computed,
  OrderedName,
  OrderText,
  RowsAs,
  Selected,
  SelectedName,
  WithoutAdded,
} from './row-types.js'
import { callOptions, type RowsOptions, rowsShape } from './rows-options.js'
import { isScan, scanPages } from './scan-pages.js'
import { isOfGroups, selectedFields } from './selection.js'
import type { Row } from './table-data.js'

const importJoinConditions = lazyImport(() => import('./join-conditions.js'))

type QueryRequest = Request<'queryTable'>

/** Default limit of a search by vector or text, as in LanceDB. Groups and distinct rows have no default limit. */
const defaultLimit = 10

/** Default rows per batch. */
const batchRows = 8 * 1024

/** Options of `batches`. */
export interface BatchesOptions extends CallOptions {
  /** Most rows per batch. Default 8,192. */
  readonly rows?: number | undefined
}

export const batchesShape = declare<BatchesOptions>()({ rows: integer(1), ...callFields })

/** How a hybrid search joins the results of the vector search and the text search. */
export interface FuseOptions {
  /** Reciprocal rank fusion: the sum of 1 / (k + rank), with ranks from 0. The default, with `k` 60. */
  readonly rrf?: { readonly k?: number | undefined } | undefined
  /** Weighted scores: the weight of the vector search, 0 to 1; both scores are scaled to 0 to 1. Not together with `rrf`. */
  readonly vectorWeight?: number | undefined
  /** Most rows that each of the two searches contributes. Default max(200, 4 x limit), independent of the offset. */
  readonly candidates?: number | undefined
}

/** Bounds of `Search.nprobes`. */
interface ProbesOptions {
  /** Partitions that every query searches. */
  readonly min?: number | undefined
  /** Most partitions to search while rows are missing. Default 0: no limit. */
  readonly max?: number | undefined
}

/** The fields of a query request: each step checks its argument by the shape of its field. */
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
  /** Columns to search. Default: all columns with an FTS index, or all text columns if none has an index. */
  readonly columns?: readonly string[] | undefined
  /** Whether to refuse columns without an index, instead of reading every row of them. Default false. */
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
  /** Columns to highlight. Default: the columns that are searched. */
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

/** Rows of a text search. In a hybrid search, a row that only one of the searches found has null for the other's score. */
export type FoundByText<R extends object> = R extends { readonly _distance: number }
  ? { readonly [K in keyof R as K extends '_distance' ? never : K]: R[K] } & {
      readonly _distance: number | null
      readonly _score: number | null
      readonly _relevance_score: number
    }
  : R & { readonly _score: number }

/**
 * A query, with or without a search. Each step returns a new query; it runs when the rows are read. If a step is given
 * twice, the last one counts, with two exceptions: conditions of several `where` are joined with AND, and a second
 * `fullText` is refused.
 *
 * `R` is the type of the rows, as far as it is known at compile time. `T` is the type of the rows of the table. A function
 * that takes any query declares both: `<R extends object, T extends object>(query: Search<R, T>)`.
 *
 * A query is an async iterable of its rows. A scan reads and holds one page of rows at a time, as `batches` does. All
 * rows are of one version.
 *
 * ```js
 * for await (const row of table.query().where('year > ?', [1950])) console.log(row.title)
 * ```
 */
export class Search<out R extends object = Row, out T extends object = R> implements AsyncIterable<R> {
  readonly #operations: Operations
  readonly #request: Omit<QueryRequest, 'k'> & { readonly k?: number }
  /** The caller's fusion function. Null: the operation fuses the results. */
  readonly #fuse: FuseRows | null
  /** Every `where` after the first, and other SQL with values of its own. They are joined when the query runs. */
  readonly #own: readonly OwnSql[]

  constructor(
    operations: Operations,
    request: Omit<QueryRequest, 'k'> & { readonly k?: number },
    fuse: FuseRows | null = null,
    own: readonly OwnSql[] = [],
  ) {
    this.#operations = operations
    this.#request = request
    this.#fuse = fuse
    this.#own = own
  }

  /**
   * Keep only rows for which `filter` is true: SQL with values for `?`, `$1` and `:name` from `parameters`, or a
   * fragment made by the tag `sql`. A row must pass the filters of all `where` calls. Each filter has its own
   * parameters. Texts of `select` and `groupBy` use those of the first.
   */
  where(filter: string | SqlFragment, parameters?: Parameters): Search<R, T> {
    const condition = filterFields('where', filter, parameters)
    if (this.#request.filter === undefined) return this.#with(condition)
    return this.#with({}, [...this.#own, { call: 'where', ...condition }])
  }

  /**
   * Select what to return, in this order: names of columns, or SQL expressions keyed by column name. Default: all
   * columns. `_distance`, `_score` and `_relevance_score` follow where the search has them.
   *
   * Expressions may read these columns, `_rowid` and `_rowoffset` (the number of rows before this one in the
   * version). They take `$1` and `:name` from the parameters of `where`; fragments made by the tag `sql` bring their
   * own values. If an expression contains `count`, `sum`, `min`, `max` or `avg`, the answer has one row per group
   * (see `groupBy`).
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
    return this.#with<object>(fields, [...this.#ownWithout('select'), ...withValues])
  }

  /**
   * Return one row per group of rows that are equal in these columns or expressions (NULL equals NULL), in order of
   * first appearance; without keys, one row for all rows. Combine with a `select` of the keys and aggregates.
   *
   * With a text search or a `distanceRange`, groups and aggregates cover all matching rows; `limit` and `offset`
   * count groups. A vector search without a range is refused. A hybrid search needs `fuse({ candidates })`, the
   * number of rows to read.
   *
   * ```js
   * table.query().groupBy('city').select({ city: 'city', mean: 'avg(price)' })
   * ```
   */
  groupBy(...keys: readonly string[]): Search<WithoutAdded<R>, T> {
    refuseArray('groupBy', keys)
    return this.#with<WithoutAdded<R>>({ group_by: parse(fields.group_by.shape, keys, 'groupBy') })
  }

  /** Return equal rows of the answer once. With a search, this covers the same rows as `groupBy`. */
  distinct(): Search<R, T> {
    return this.#with({ distinct: true })
  }

  /**
   * Order the rows by columns of the answer or of the table: by the first key, then by the next. A key is a column
   * name, optionally followed by `asc` or `desc`, then by `nulls first` or `nulls last`; or an object. A name with
   * blanks is written in double quotes or backticks. NULL comes last unless the key says otherwise, NaN is the greatest
   * number, text is ordered by code point. Equal rows stay in row order.
   *
   * With a text search or a `distanceRange`, all matching rows are ordered, and `limit` counts the first of them. A
   * vector search without a range is refused.
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
      throw invalidInput('orderBy: no column is named', {
        hint: 'leave orderBy out if the order does not matter',
      })
    }
    refuseArray('orderBy', keys)
    return this.#with({ order_by: orderFields(keys) })
  }

  /**
   * Limit the rows of the answer. Default: 10 for a search by vector or text; no limit for scans, groups and distinct
   * rows.
   */
  limit(k: number): Search<R, T> {
    return this.#with({ k: parse(fields.k.shape, k, 'limit') })
  }

  /** Skip this number of rows. Default 0. */
  offset(offset: number): Search<R, T> {
    return this.#with({ offset: parse(fields.offset.shape, offset, 'offset') })
  }

  /**
   * Set the distance: `l2` (squared), `cosine` (1 - cos), `dot` (1 - dot), or `hamming` for vectors of uint8 (number
   * of different bits; the query holds integers from 0 to 255). Default: the distance type of the column's vector
   * index; without an index `l2`, for lists of vectors `cosine`. An index answers only for its own distance type; for
   * another one, every row is measured.
   */
  distanceType(metric: 'l2' | 'cosine' | 'dot' | 'hamming'): Search<R, T> {
    return this.#with({ distance_type: parse(distanceType, metric, 'distanceType') })
  }

  /**
   * Choose the vector column to search, or a field of a struct by its path (`image.embedding`). Only needed if
   * several columns have the dimension of the query vector.
   */
  column(name: string): Search<R, T> {
    return this.#with({ vector_column: parse(fields.vector_column.shape, name, 'column') })
  }

  /** Keep only rows with `lower <= _distance < upper`. */
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
   * Set how many partitions of a vector index to search. A number, or `min`: at least this many. `max`: the most
   * partitions to search while rows are missing (0, the default: no limit); with `max`, an answer may have fewer rows
   * than match. Default: the number that the index was tuned to when it was built.
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
   * Set how many candidates a graph search of an HNSW index keeps; at least the number of rows asked for. Default:
   * the number that the index was tuned to when it was built.
   */
  ef(n: number): Search<R, T> {
    return this.#with({ ef: parse(fields.ef.shape, n, 'ef') })
  }

  /**
   * Measure exactly `n` candidates per row asked for, in each segment of a vector index. Default: the number that the
   * index was tuned to, and more until the nearest rows no longer change. A smaller `n` is faster and finds fewer of
   * the nearest rows. Returned distances are always exact.
   */
  refineFactor(n: number): Search<R, T> {
    return this.#with({ refine_factor: parse(fields.refine_factor.shape, n, 'refineFactor') })
  }

  /**
   * Search for a text: words, of which a row must contain at least one (`a b`), or a structured query. Rows are
   * ordered by `_score` (BM25), best first. In a hybrid search, a row is found by vector or by text, and ranked as
   * `fuse` describes.
   *
   * `columns` defaults to all columns with an FTS index, or all text columns if none has an index. Columns without an
   * index are read row by row, and analyzed with the default options of an index; with `requireIndex` they are
   * refused.
   */
  fullText(query: string | TextQuery, options: FullTextOptions = {}): Search<FoundByText<R>, T> {
    if (this.#request.full_text_query !== undefined) {
      throw invalidInput('fullText: a text to look for is given twice', {
        hint: 'join the queries: fullText({ must: [{ match: "a" }, { match: "b" }] })',
      })
    }
    const { columns, requireIndex } = parse(fullTextShape, options, 'fullText')
    return this.#with<FoundByText<R>>({
      full_text_query: fullTextField(parse(textShape, query, 'fullText'), columns),
      ...(requireIndex !== undefined && { require_index: requireIndex }),
    })
  }

  /**
   * Set how a hybrid search joins its two results into one list ordered by `_relevance_score`. Default: reciprocal
   * rank fusion, 1 / (k + rank), with ranks from 0 and `k` 60. With `vectorWeight` (0 to 1): the weighted sum of both
   * scores, each scaled from 0 for the worst to 1 for the best result; the text score has the remaining weight. A row
   * that only one of the searches found has null for the other's score.
   *
   * `candidates`: rows that each search contributes. Default: 4 times the limit, at least 200. The default does not
   * depend on the offset: pages of one limit are pages of one list, and so are all limits up to 50. For larger limits
   * the default grows, and relevance scores may change; set `candidates` to keep answers of different limits
   * consistent. Throws `InvalidInput` for a page that ends beyond the candidates, and for aggregates, groups,
   * distinct rows or an order without `candidates`.
   *
   * A function receives the rows of both searches and returns how relevant each is. Its rows are returned by
   * `toArray` only, ordered by relevance. A second `fuse` replaces the first.
   */
  fuse(by: FuseOptions): Search<R, T>
  /** Set a function that joins the rows of both searches. `candidates`: rows of each search that it receives. */
  fuse(by: FuseRows, options?: Pick<FuseOptions, 'candidates'>): Search<R, T>
  fuse(by: FuseOptions | FuseRows, options: Pick<FuseOptions, 'candidates'> = {}): Search<R, T> {
    const fusionOption = parse(fuseBy, by, 'fuse')
    const functionOptions = parse(candidatesShape, options, 'fuse')
    const isFunction = typeof fusionOption === 'function'
    if (!isFunction && functionOptions.candidates !== undefined) {
      throw invalidInput('fuse: candidates belongs in the object with the other options')
    }
    const { candidates, rrf, vectorWeight }: FuseOptions = isFunction ? functionOptions : fusionOption
    const fusion = {
      ...(rrf !== undefined && { rrf }),
      ...(vectorWeight !== undefined && { weighted: { vector_weight: vectorWeight } }),
      ...(candidates !== undefined && { candidates }),
    }
    const request = Object.assign({}, this.#request, { fusion })
    return new Search<R, T>(this.#operations, request, isFunction ? fusionOption : null, this.#own)
  }

  /**
   * Add `_highlights`: for each searched column (or each of `columns`), the text with the query's words marked. Words
   * of `negative` and `mustNot` are not marked. Covers the first 16,384 UTF-16 units of the text, or the snippets
   * with the most matches.
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

  /** Measure every row instead of using a vector index: the answer is exact. */
  bypassVectorIndex(): Search<R, T> {
    return this.#with({ bypass_vector_index: true })
  }

  /**
   * Search indexed rows only. Without an index, nothing is found. For vectors, it has no effect together with
   * `bypassVectorIndex`, which measures every row.
   */
  fastSearch(): Search<R, T> {
    return this.#with({ fast_search: true })
  }

  /**
   * Apply the filter to the rows found, not to the rows searched: the answer may be shorter than the limit. In a
   * search by vector or by text, `limit` and `offset` count rows before the filter: pages are pages of one list, and
   * an empty page need not be the last. In a hybrid search, they count the candidates that pass the filter.
   */
  postfilter(): Search<R, T> {
    return this.#with({ prefilter: false })
  }

  /** Add `_rowid`. */
  withRowId(): Search<R & { readonly _rowid: number }, T> {
    return this.#with<R & { readonly _rowid: number }>({ with_row_id: true })
  }

  /** Return the rows as objects. Throws for int64 values beyond 2^53 unless `int64` is `bigint` or `string`. */
  async toArray(options?: RowsOptions & { readonly int64?: 'number' | undefined }): Promise<R[]>
  async toArray<S extends object, U extends object, const O extends RowsOptions>(
    this: Search<S, U>,
    options: O,
  ): Promise<RowsAs<S, O>[]>
  async toArray(given: RowsOptions = {}): Promise<object[]> {
    const options = parse(rowsShape, given, 'toArray')
    const call = callOptions(options)
    const fuse = this.#fuse
    if (fuse !== null) {
      return whenResolved(this.#resolvedRequest(), request =>
        fusedRows(this.#operations, request, fuse, options, call),
      )
    }
    const reply = await this.#run(call)
    const { readReply, rowObjects } = await importReplies()
    return rowObjects(readReply(reply).batches, options)
  }

  /** Return the first row, or null if there is none. Skips the rows of `offset`. Takes the options of `toArray`. */
  async first(options?: RowsOptions & { readonly int64?: 'number' | undefined }): Promise<R | null>
  async first<S extends object, U extends object, const O extends RowsOptions>(
    this: Search<S, U>,
    options: O,
  ): Promise<RowsAs<S, O> | null>
  async first(given: RowsOptions = {}): Promise<object | null> {
    const options = parse(rowsShape, given, 'first')
    const [row = null] = await this.limit(Math.min(1, this.#request.k ?? 1)).toArray(options)
    return row
  }

  /**
   * Count the rows that match. The default limit of a text search does not apply; a limit that was set caps the number,
   * and rows of `offset` do not count. With groups or distinct rows, counts the rows of the answer.
   *
   * Throws `InvalidInput` for a vector search without `distanceRange` and for a hybrid search, which return a number of
   * nearest rows.
   */
  async count(options: CallOptions = {}): Promise<number> {
    const call = parse(callShape, options, 'count')
    if (this.#fuse !== null) throw onlyRows()
    return countMatches(this.#operations, await this.#resolvedRequest(), this.#request.k, call)
  }

  /** Yield the rows, as objects. */
  async *[Symbol.asyncIterator](): AsyncGenerator<R, void, undefined> {
    if (this.#fuse !== null) {
      yield* await this.toArray()
      return
    }
    for await (const piece of this.#pieces(batchRows, {})) {
      const { rowObjects } = await importReplies()
      for (const row of await rowObjects([piece], {})) yield row as R
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
   * Yield the rows as record batches of apache-arrow. All batches are of one version: the latest when the first batch
   * was read.
   *
   * A scan keeps only one batch in memory, with the stored columns that the batch is cut from (at most 131,072 rows).
   * A search, groups, distinct rows or an order computes the whole answer first.
   */
  async *batches(options: BatchesOptions = {}): AsyncGenerator<ArrowBatch, void, undefined> {
    const { rows = batchRows, ...call } = parse(batchesShape, options, 'batches')
    for await (const piece of this.#pieces(rows, call)) {
      const { arrowBatch } = await importReplies()
      yield await arrowBatch(piece.schema, piece)
    }
  }

  /** Yield the answer, at most `rows` rows at a time. A scan is read page by page. */
  async *#pieces(rows: number, call: CallOptions): AsyncGenerator<Batch, void, undefined> {
    const resolved = this.#resolvedRequest()
    const request = resolved instanceof Promise ? await resolved : resolved
    const pacer = new Pacer(call.signal)
    const paged = isScan(request)
    const isPaged = paged instanceof Promise ? await paged : paged
    const pages = isPaged ? scanPages(this.#operations, request, rows, call) : [await this.#run(call)]
    for await (const page of pages) {
      const { pieces, readReply } = await importReplies()
      yield* pieces(readReply(page).batches, rows, pacer)
    }
  }

  /** Return the query plan as text, step by step, with the filter as the planner understands it. Reads only metadata. */
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
   * Keep only groups for which `filter` is true: an SQL condition on keys, selected columns and aggregates. Needs groups.
   *
   * ```js
   * table.query().groupBy('city').select({ city: 'city', n: 'count(*)' }).having('n > ? AND max(price) < 9', [1])
   * ```
   */
  having(filter: string | SqlFragment, parameters?: Parameters): Search<R, T> {
    const condition = filterFields('having', filter, parameters)
    const own = condition.parameters === undefined ? [] : [{ call: 'having', ...condition }]
    return this.#with({ having: condition.filter }, [...this.#ownWithout('having'), ...own])
  }

  /** Resolve the defaults. Returns a promise only if the parser of SQL must be loaded, so that calls begin at once. */
  #resolvedRequest(): MaybePromise<QueryRequest> {
    const { vector = null, full_text_query, lower_bound, upper_bound, order_by, distinct } = this.#request
    const isNearest = vector !== null && full_text_query === undefined
    if (isNearest && order_by?.length && lower_bound === undefined && upper_bound === undefined) {
      throw invalidInput(
        'orderBy: it orders all matching rows, but a vector search without a distance range has only nearest rows',
        { hint: 'set distanceRange(lower, upper), or sort the rows of toArray()' },
      )
    }
    const isSearch = vector !== null || full_text_query !== undefined
    const isUnlimited = !isSearch || distinct === true || isOfGroups(this.#request)
    return whenResolved(isUnlimited, unlimited => {
      const { k = unlimited ? Number.MAX_SAFE_INTEGER : defaultLimit } = this.#request
      const request = Object.assign({}, this.#request, { vector, k })
      if (this.#own.length === 0) return request
      return whenResolved(importJoinConditions(), ({ joinConditions }) =>
        Object.assign(request, joinConditions(request, this.#own)),
      )
    })
  }

  #run(options: CallOptions): MaybePromise<ArrowReply> {
    if (this.#fuse !== null) throw onlyRows()
    return whenResolved(this.#resolvedRequest(), request => this.#operations.queryTable(request, options))
  }

  /** Return the SQL of all steps except one, which is replaced. */
  #ownWithout(step: string): readonly OwnSql[] {
    return this.#own.filter(({ call }) => call !== step)
  }

  #with<S extends object = R>(more: Partial<QueryRequest>, own = this.#own): Search<S, T> {
    // Properties after a spread in an object literal take ten times as long; small queries notice.
    return new Search<S, T>(this.#operations, Object.assign({}, this.#request, more), this.#fuse, own)
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
  toArrow: 1,
  toIpc: 1,
  batches: 1,
  explain: 1,
  analyze: 1,
})

function onlyRows() {
  return invalidInput('rows of a fusion function can only be read as objects', { hint: 'use toArray()' })
}

/** A search being put together. Each step gives a new one; the rows come when they are asked for. */
import { concatChunks } from '../arrow/encode-ipc.js'
import { sliceBatch } from '../arrow/slice.js'
import { type ArrowTable, toArrowTable } from '../arrow/to-arrow.js'
import { invalidInput } from '../errors.js'
import type { HighlightOptions } from '../indexes/text/highlight.js'
import { Pacer } from '../primitives/pacer.js'
import { refuseArray, takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callFields, callShape, type Operations, type Request } from '../protocol/calls.js'
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
  withHints,
} from '../protocol/shape.js'
import type { SqlFragment } from '../sql/syntax/tag.js'
import { readReply } from './arrow-rows.js'
import { type FuseRows, fusedRows } from './custom-fusion.js'
import { filterFields } from './filter-fields.js'
import { fullTextField, type TextQuery, textShape } from './full-text.js'
import { callOptions, type RowsOptions, rowObjects, rowsShape } from './row-objects.js'
import { isScan, scanPages } from './scan-pages.js'
import { isOfGroups, selectedFields } from './selection.js'
import type { Row } from './table-data.js'

type QueryRequest = Request<'queryTable'>

/** Rows that a search by vector or text returns where no limit is given, as in LanceDB. Groups and distinct rows all come. */
const defaultLimit = 10

/** Rows of a batch where the caller does not say. */
const batchRows = 8 * 1024

/** A batch of apache-arrow. */
export type ArrowBatch = ArrowTable['batches'][number]

export interface BatchesOptions extends CallOptions {
  /** Rows of a batch at most; default 8,192. */
  readonly rows?: number | undefined
}

export const batchesShape = declare<BatchesOptions>()({ rows: integer(1), ...callFields })

export interface Order {
  readonly column: string
  /** Smallest first; default true. */
  readonly ascending?: boolean | undefined
  /** NULL before all values; default false. */
  readonly nullsFirst?: boolean | undefined
}

/** How rows found by vector and by text become one list. */
export interface FuseOptions {
  /** By reciprocal ranks, which are counted from 0: the sum of 1 / (k + rank). Default, with `k` 60. */
  readonly rrf?: { readonly k?: number | undefined } | undefined
  /** By nearness and score, from 0 to 1 each: what nearness counts, 0 to 1. Not beside `rrf`. */
  readonly vectorWeight?: number | undefined
  /** Rows that each of the two searches gives at most. Default max(200, 4 x limit), whatever the offset. */
  readonly candidates?: number | undefined
}

export const orderShape = withHints(
  declare<Order>()({ column: string('nonEmpty'), ascending: boolean, nullsFirst: boolean }, { column: true }),
  {
    desc: 'ascending: false',
    descending: 'ascending: false',
    asc: 'ascending',
    direction: 'ascending: false',
    order: 'ascending: false',
    nulls: 'nullsFirst',
  },
)

const orderKeys = array(
  either<string | Order>(
    { is: value => typeof value === 'string', shape: string('nonEmpty') },
    { is: value => typeof value === 'object' && value !== null, shape: orderShape },
  ),
)

export interface ProbesOptions {
  /** Partitions that are looked at in any case. */
  readonly min?: number | undefined
  /** Partitions that are looked at where rows are missing, at most; 0, the default: no limit. */
  readonly max?: number | undefined
}

/** What a query may hold: steps take what its fields do. */
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

export interface FullTextOptions {
  /** Where to look; default all columns with an index of type FTS, or without any all of text. */
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

/** Beside a function. */
export const candidatesShape = declare<Pick<FuseOptions, 'candidates'>>()({ candidates: integer(1) })

export interface SearchHighlightOptions extends HighlightOptions {
  /** Default: the columns that are searched. */
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

/** Rows with those of their columns that are selected, and with what a search adds to them. */
export type Selected<R extends object, K extends keyof R> = string extends keyof R
  ? R
  : Pick<R, K | Extract<keyof R, '_distance' | '_score' | '_relevance_score' | '_rowid' | '_highlights'>>

/** Rows found by a text; beside a vector by either, where what the other did not find out is null. */
export type FoundByText<R extends object> = R extends { readonly _distance: number }
  ? { readonly [K in keyof R as K extends '_distance' ? never : K]: R[K] } & {
      readonly _distance: number | null
      readonly _score: number | null
      readonly _relevance_score: number
    }
  : R & { readonly _score: number }

/**
 * A search. Each step gives a new search, and the rows are read when they are asked for. A step that is given twice counts as it
 * is given last, except `where` and `fullText`: a second condition is refused, so none is lost. `R`: the rows it finds, as far as
 * they are known when the program is compiled.
 */
export class Search<R extends object = Row> {
  readonly #operations: Operations
  readonly #request: Omit<QueryRequest, 'k'> & { readonly k?: number }
  /** Null: the operation joins what was found. */
  readonly #fuse: FuseRows | null

  constructor(
    operations: Operations,
    request: Omit<QueryRequest, 'k'> & { readonly k?: number },
    fuse: FuseRows | null = null,
  ) {
    this.#operations = operations
    this.#request = request
    this.#fuse = fuse
  }

  /**
   * Only rows for which `filter` is true: SQL, in which `?`, `$1` and `:name` take their values from `parameters`, or
   * what the tag `sql` makes. A second `where` is refused (code 13): join the conditions by AND.
   */
  where(filter: string | SqlFragment, parameters?: Parameters): Search<R> {
    if (this.#request.filter !== undefined) {
      throw invalidInput('where is given twice', { hint: 'join the conditions by AND, in one where' })
    }
    return this.#with(filterFields('where', filter, parameters, this.#request.parameters))
  }

  /**
   * What to return, in this order; default all columns. Names of columns, or expressions (SQL) by the names they get:
   * `{ id: 'id', total: 'price * amount' }`. `_distance`, `_score` and
   * `_relevance_score` follow where there are such. Expressions may read those, `_rowid` and `_rowoffset` (rows of the version before this one), take `$1` and `:name` from the parameters of
   * `where`, or are made by the tag `sql`, which brings its own values. With `count`, `sum`, `min`, `max` or `avg` in one of them the answer has a row per group (see `groupBy`).
   */
  select<const K extends keyof R & string>(columns: readonly K[]): Search<Selected<R, K>>
  select(columns: readonly string[] | Readonly<Record<string, string | SqlFragment>>): Search
  select(columns: readonly string[] | Readonly<Record<string, string | SqlFragment>>): Search<object> {
    return this.#with<object>(selectedFields('select', columns, this.#request.parameters))
  }

  /**
   * One row for all rows that are equal in these columns or expressions (NULL equals NULL), in the order in which they are
   * met; without any, one row for all. Goes with a `select` of the keys and aggregates:
   * `.groupBy('city').select({ city: 'city', mean: 'avg(price)' })`.
   *
   * Beside a text or a `distanceRange`, groups and aggregates are made of all rows that match; `limit` and `offset` count groups. The nearest
   * rows of a vector without a range are refused, and beside both a text and a vector `fuse({ candidates })` must say how many rows are read.
   */
  groupBy(...keys: readonly string[]): Search<R> {
    refuseArray('groupBy', keys)
    return this.#with({ group_by: parse(fields.group_by.shape, keys, 'groupBy') })
  }

  /** Equal rows of the answer come once. Of a search they are made of the rows that `groupBy` reads. */
  distinct(): Search<R> {
    return this.#with({ distinct: true })
  }

  /**
   * The order of the rows, by the first key, equal ones by the next: columns of the answer or of the table. NULL is last
   * unless `nullsFirst` says otherwise, NaN the greatest number, text in the order of its code points. Equal rows stay in
   * row order. Beside a text or a `distanceRange` all rows that match are
   * ordered, and `limit` counts the first of them; the nearest rows of a vector without a range are refused.
   */
  orderBy(...keys: readonly (string | Order)[]): Search<R> {
    if (keys.length === 0) {
      throw invalidInput('orderBy names no column', { hint: 'leave orderBy out where any order will do' })
    }
    refuseArray('orderBy', keys)
    const order_by = parse(orderKeys, keys, 'orderBy').map(key => {
      const { column, ascending, nullsFirst }: Order = typeof key === 'string' ? { column: key } : key
      return {
        column_name: column,
        ...(ascending !== undefined && { ascending }),
        ...(nullsFirst !== undefined && { nulls_first: nullsFirst }),
      }
    })
    return this.#with({ order_by })
  }

  /** How many rows of the answer at most: default 10 by vector or text; of groups, distinct rows and scans all. */
  limit(k: number): Search<R> {
    return this.#with({ k: parse(fields.k.shape, k, 'limit') })
  }

  /** Rows to skip; default 0. */
  offset(offset: number): Search<R> {
    return this.#with({ offset: parse(fields.offset.shape, offset, 'offset') })
  }

  /**
   * `l2` (squared), `cosine` (1 - cos), `dot` (1 - dot), or for vectors of uint8 `hamming` (bits that differ; the query holds integers
   * from 0 to 255). Default that of the column's vector index; where there is none `l2`, for lists of vectors `cosine`. An index answers
   * for its own alone; by another every row is measured.
   */
  distanceType(metric: 'l2' | 'cosine' | 'dot' | 'hamming'): Search<R> {
    return this.#with({ distance_type: parse(distanceType, metric, 'distanceType') })
  }

  /**
   * The vector column to search, or the path of a field inside of structs (`image.embedding`); needed only where several have the
   * dimension of the vector.
   */
  column(name: string): Search<R> {
    return this.#with({ vector_column: parse(fields.vector_column.shape, name, 'column') })
  }

  /** Only rows with `lower <= _distance < upper`. */
  distanceRange(lower?: number, upper?: number): Search<R> {
    if (lower === undefined && upper === undefined) {
      throw invalidInput('distanceRange needs a lower bound, an upper bound, or both')
    }
    const bound = fields.lower_bound.shape
    return this.#with({
      ...(lower !== undefined && { lower_bound: parse(bound, lower, 'distanceRange: the lower bound') }),
      ...(upper !== undefined && { upper_bound: parse(bound, upper, 'distanceRange: the upper bound') }),
    })
  }

  /**
   * How many partitions of a vector index to look at: so many in any case, and more only where rows are missing, up to `max` (0:
   * no limit, the default). With `max` an answer may have fewer rows than there are. Default: as many as the index found it
   * takes when it was built.
   */
  nprobes(n: number | ProbesOptions): Search<R> {
    const settled = parse(probes, n, 'nprobes')
    if (typeof settled === 'number') return this.#with({ nprobes: settled })
    const { min, max } = settled
    return this.#with({
      ...(min !== undefined && { minimum_nprobes: min }),
      ...(max !== undefined && { maximum_nprobes: max }),
    })
  }

  /**
   * How many candidates a walk through the graph of a vector index keeps; raised to the rows wanted. Default: as many as the index
   * found it takes when it was built.
   */
  ef(n: number): Search<R> {
    return this.#with({ ef: parse(fields.ef.shape, n, 'ef') })
  }

  /**
   * Measures `n` candidates of each segment of a vector index for each row wanted, no more. Default: as many as the index found it takes,
   * and more until the nearest rows no longer change. The fewer, the faster, and the fewer of the nearest rows are found. Distances are exact in any case.
   */
  refineFactor(n: number): Search<R> {
    return this.#with({ refine_factor: parse(fields.refine_factor.shape, n, 'refineFactor') })
  }

  /**
   * Looks for a text: words, of which a row has one or more (`a b`), or a query of parts. Rows come by their `_score` (BM25), the best first.
   * `columns`: where to look; default all with an index of type FTS, or without any all of text. Columns without an index are read row by row, in
   * the way an index has by default; with `requireIndex` they are refused. Beside a vector: a row is found by either, ranked as `fuse` says.
   */
  fullText(query: string | TextQuery, options: FullTextOptions = {}): Search<FoundByText<R>> {
    if (this.#request.full_text_query !== undefined) {
      throw invalidInput('a text to look for is given twice', {
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
   * How rows found by vector and by text become one list, by `_relevance_score`: by reciprocal ranks (the default: 1 / (k + rank), ranks
   * counted from 0, `k` 60), or by nearness and score, each brought to 0 for the worst to 1 for the best that was found, of which the first
   * counts `vectorWeight` (0 to 1) and the second the rest. A row that one of them did not find has null for it.
   *
   * `candidates`: rows that each of the two searches gives, of which the list is made; default 4 times the limit, and 200 at least. It
   * does not depend on the offset: pages of one limit are pages of one list, and so are all limits up to 50. For larger limits the default
   * grows, and relevances may change with it; give `candidates` where their answers are to agree. A page that ends beyond the candidates throws
   * InvalidInput, and so do aggregates, groups, distinct rows and an order without `candidates`.
   *
   * A function gets the rows of both and says how relevant each is; its rows come as objects alone (`toArray`), in no other order. A second
   * `fuse` takes the place of the first.
   */
  fuse(by: FuseOptions): Search<R>
  fuse(by: FuseRows, options?: Pick<FuseOptions, 'candidates'>): Search<R>
  fuse(by: FuseOptions | FuseRows, options: Pick<FuseOptions, 'candidates'> = {}): Search<R> {
    const how = parse(fuseBy, by, 'fuse')
    const beside = parse(candidatesShape, options, 'fuse')
    const isFunction = typeof how === 'function'
    if (!isFunction && beside.candidates !== undefined) {
      throw invalidInput('fuse: candidates go with the other options, in one object')
    }
    const { candidates, rrf, vectorWeight }: FuseOptions = isFunction ? beside : how
    const fusion = {
      ...(rrf !== undefined && { rrf }),
      ...(vectorWeight !== undefined && { weighted: { vector_weight: vectorWeight } }),
      ...(candidates !== undefined && { candidates }),
    }
    const request = Object.assign({}, this.#request, { fusion })
    return new Search<R>(this.#operations, request, isFunction ? how : null)
  }

  /**
   * Adds `_highlights`: for each column that is searched (or those named) its text with the words marked that were looked for (not those of
   * `negative` or `mustNot`), of the first
   * 16,384 UTF-16 units of it; or the snippets that have most of them.
   */
  highlight(
    options: SearchHighlightOptions = {},
  ): Search<R & { readonly _highlights: Readonly<Record<string, string | null>> }> {
    const { columns, snippetLength, ...marks } = parse(highlightShape, options, 'highlight')
    const highlight = {
      ...marks,
      ...(columns !== undefined && { columns }),
      ...(snippetLength !== undefined && { snippet_length: snippetLength }),
    }
    return this.#with<R & { readonly _highlights: Readonly<Record<string, string | null>> }>({ highlight })
  }

  /** Measures every row instead of asking a vector index: the answer is exact. */
  bypassVectorIndex(): Search<R> {
    return this.#with({ bypass_vector_index: true })
  }

  /**
   * Passes over rows that no index of the vectors, or of the text, covers yet: over all rows, where there is none. Of vectors it changes nothing beside
   * `bypassVectorIndex`, which measures every row.
   */
  fastSearch(): Search<R> {
    return this.#with({ fast_search: true })
  }

  /**
   * Filters the rows found instead of the rows searched: may return fewer than asked for. By vector or by text, `limit` and `offset` count the
   * rows found, before the filter, so pages are pages of one list, and one that is empty need not be the last; beside both a vector and a
   * text they count what the filter leaves of the candidates.
   */
  postfilter(): Search<R> {
    return this.#with({ prefilter: false })
  }

  /** Adds `_rowid`. */
  withRowId(): Search<R & { readonly _rowid: number }> {
    return this.#with<R & { readonly _rowid: number }>({ with_row_id: true })
  }

  /** The rows as objects. int64 values beyond 2^53 throw unless `int64` says how to give them. */
  async toArray(options?: RowsOptions & { readonly int64?: 'number' | undefined }): Promise<R[]>
  async toArray(options: RowsOptions): Promise<Row[]>
  async toArray(given: RowsOptions = {}): Promise<object[]> {
    const options = parse(rowsShape, given, 'toArray')
    const call = callOptions(options)
    if (this.#fuse !== null) {
      return fusedRows(this.#operations, this.#settled(), this.#fuse, options, call)
    }
    const { batches } = readReply(await this.#run(call))
    return rowObjects(batches, options)
  }

  /** The rows as a table of apache-arrow. */
  async toArrow(options: CallOptions = {}): Promise<ArrowTable> {
    const { schema, batches } = readReply(await this.#run(parse(callShape, options, 'toArrow')))
    return toArrowTable(schema, batches)
  }

  /** The rows as an Arrow IPC file. */
  async toIpc(options: CallOptions = {}): Promise<Uint8Array> {
    const { chunks } = await this.#run(parse(callShape, options, 'toIpc'))
    return concatChunks(chunks)
  }

  /**
   * The rows as record batches of apache-arrow, one after the other: of a plain scan only one is in memory, and the stored
   * columns it is cut from (at most 131,072 rows of them at a time), however large the table is; all are of the version
   * that was the latest when the first one was read. A search by vector, with groups, distinct rows or an order has its
   * answer as a whole, and hands it out piece by piece.
   */
  async *batches(options: BatchesOptions = {}): AsyncGenerator<ArrowBatch, void, undefined> {
    const { rows = batchRows, ...call } = parse(batchesShape, options, 'batches')
    const request = this.#settled()
    const pacer = new Pacer(call.signal)
    const pages = isScan(request) ? scanPages(this.#operations, request, rows, call) : [await this.#run(call)]
    for await (const page of pages) {
      const { schema, batches } = readReply(page)
      for (const batch of batches) {
        for (let from = 0; from < batch.length; from += rows) {
          const piece = sliceBatch(batch, from, Math.min(rows, batch.length - from))
          for (const each of (await toArrowTable(schema, [piece])).batches) yield each
          await pacer.turn()
        }
      }
    }
  }

  /** What would be done, step by step, the filter as it is understood. Nothing is read but what is known of the table. */
  async explain(options: CallOptions = {}): Promise<string> {
    const call = parse(callShape, options, 'explain')
    const { id, version, ...query } = this.#settled()
    const request = { id, query: { ...query, ...(version !== undefined && { version }) } }
    return this.#operations.explainTableQueryPlan(request, call)
  }

  /** The query carried out, step by step as `explain` has them, with the rows and milliseconds of each. The rows are not kept. */
  async analyze(options: CallOptions = {}): Promise<string> {
    const call = parse(callShape, options, 'analyze')
    return this.#operations.analyzeTableQueryPlan(this.#settled(), call)
  }

  #settled(): QueryRequest {
    const { vector = null, full_text_query, lower_bound, upper_bound, order_by, distinct } = this.#request
    const isNearest = vector !== null && full_text_query === undefined
    if (isNearest && order_by?.length && lower_bound === undefined && upper_bound === undefined) {
      throw invalidInput(
        'orderBy puts all rows that match in an order, but without a range of distances a search by vector has no matching rows, only nearest ones',
        { hint: 'say which rows match with distanceRange(lower, upper), or sort the rows of toArray()' },
      )
    }
    const isSearch = vector !== null || full_text_query !== undefined
    const isLimited = isSearch && distinct !== true && !isOfGroups(this.#request)
    const { k = isLimited ? defaultLimit : Number.MAX_SAFE_INTEGER } = this.#request
    return Object.assign({}, this.#request, { vector, k })
  }

  #run(options: CallOptions) {
    if (this.#fuse !== null) {
      throw invalidInput('rows joined by a function come as objects', { hint: 'ask for them by toArray()' })
    }
    return this.#operations.queryTable(this.#settled(), options)
  }

  #with<T extends object = R>(more: Partial<QueryRequest>): Search<T> {
    // What follows a spread in a literal takes ten times as long, which a small query notices.
    return new Search<T>(this.#operations, Object.assign({}, this.#request, more), this.#fuse)
  }
}

takeNoMore(Search.prototype, {
  where: 2,
  select: [1, 'name the columns in an array'],
  groupBy: Number.POSITIVE_INFINITY,
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
  toArrow: 1,
  toIpc: 1,
  batches: 1,
  explain: 1,
  analyze: 1,
})

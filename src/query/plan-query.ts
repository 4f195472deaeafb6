/**
 * Plans a query: resolves all names of a request and sets all defaults. Reads no data. If the query cannot be answered,
 * the error has the name of the request's field.
 */
import { ErrorCode, invalidInput, quote, SheafError, unsupported } from '../errors.js'
import { openAnalyzer } from '../indexes/text/analysis/open-analyzer.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { Clock } from '../primitives/clock.js'
import { readParameters } from '../protocol/parameters.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import { ParameterList } from '../sql/binding/parameters.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { type Binding, type BindingOptions, bindingOf, hasExpressions } from './binding.js'
import { highlightsName, type OutputColumn, type Plan, type VectorSearch } from './plan.js'
import { planFusion } from './plan-fusion.js'
import type { NearIndex } from './plan-near-search.js'
import { type PlannedOutput, planOutput } from './plan-output.js'
import { type OpenAnalyzer, planHighlights, planTextSearch, type TextIndex } from './plan-text-search.js'
import { planVectorSearch } from './plan-vector-search.js'
import { queryIndexField, type SearchedBy, searchedFields, sourceSchema } from './source.js'

/** The search indexes of a version, and the function that opens a text analyzer. */
interface Searchable {
  readonly vectors: readonly NearIndex[]
  readonly texts: readonly TextIndex[]
  readonly analyzer: OpenAnalyzer
}

const unindexed: Searchable = {
  vectors: [],
  texts: [],
  analyzer: options => openAnalyzer(options, []),
}

/**
 * Plan a request. `binding`: the loaded binder; may be null if the query has no expressions (`hasExpressions`).
 * `searchable`: the search indexes; default: none.
 *
 * Throws `ColumnNotFound` for unknown columns, `InvalidInput` for values that do not fit the table, `SchemaValidation`
 * for types that do not fit, and `Unsupported` for options that this engine does not support.
 */
export function planQuery(
  request: QueryRequest,
  schema: TableSchema,
  binding: Binding | null,
  clock: Clock,
  searchable: Searchable = unindexed,
): Plan {
  if (request.parameters !== undefined && !hasExpressions(request)) {
    throw invalidInput('parameters are given, but the query has no expression that could use them')
  }
  const search = planVectorSearch(request, schema, searchable.vectors)
  const text = planTextSearch(request, schema, searchable.texts, searchable.analyzer)
  if (search !== null && search.batch !== null && text !== null) {
    throw unsupported(
      'fullText (full_text_query) can be combined with one vector, not with several (multi_vector)',
    )
  }
  const by = searchedBy(search !== null, text !== null)
  const filterFirst = request.prefilter ?? true
  const parameters = parametersOf(request.parameters)
  const options = { parameters, clock, binding }
  const filter =
    request.filter === undefined ? null : boundFilter(request.filter, schema, by, filterFirst, options)
  const output = planOutput(request, schema, by, options, clock)
  parameters.checkUsed()
  const isOfAll = readsAll(output, search, text !== null)
  const highlights = planHighlights(request, text, schema)
  if (highlights.length > 0) checkNameIsFree(output.output, highlightsName, 'an answer with highlight')
  if (search !== null && search.batch !== null) {
    checkNameIsFree(output.output, queryIndexField.name, 'an answer to several vectors')
  }
  // If all rows of the version match, the scan can begin at the offset, because the offset then counts rows of the
  // version.
  const isWhole = by === 'nothing' && filter === null && request.differs_from === undefined
  const isPlain = isWhole && output.grouping === null && !output.distinct
  const skipped = isPlain && output.order.length === 0 ? (request.offset ?? 0) : 0
  return {
    filter,
    filterFirst,
    search,
    text,
    fusion: planFusion(request, isOfAll),
    highlights,
    grouping: output.grouping,
    distinct: output.distinct,
    order: output.order,
    metadata: output.grouping === null && !output.distinct ? schema.metadata : undefined,
    output: request.differs_from === undefined ? output.output : withIds(output.output, schema),
    differsFrom: request.differs_from,
    from: (request.resume_at ?? 0) + skipped,
    counted: by !== 'nothing' && !isOfAll ? 'found' : 'answer',
    offset: (request.offset ?? 0) - skipped,
    limit: request.k,
  }
}

function searchedBy(byVector: boolean, byText: boolean): SearchedBy {
  if (byVector) return byText ? 'both' : 'vector'
  return byText ? 'text' : 'nothing'
}

/**
 * Bind the filter of a query. `filterFirst`: whether the filter runs before the search. Then it cannot read distances
 * and scores, because they are not computed yet.
 */
function boundFilter(
  text: string,
  schema: TableSchema,
  by: SearchedBy,
  filterFirst: boolean,
  options: BindingOptions,
): BoundExpression {
  const { bindFilter } = bindingOf(options)
  if (!filterFirst) return bindFilter(text, sourceSchema(schema, by), options)
  try {
    return bindFilter(text, sourceSchema(schema, 'nothing'), options)
  } catch (error) {
    throw readsComputed(text, schema, by, options, error) ?? error
  }
}

/**
 * Return the error for a filter that reads a column which the search computes. Return undefined for all other filters.
 */
function readsComputed(
  text: string,
  schema: TableSchema,
  by: SearchedBy,
  options: BindingOptions,
  error: unknown,
): SheafError | undefined {
  if (by === 'nothing' || !(error instanceof SheafError) || error.code !== ErrorCode.ColumnNotFound) return
  let columns: readonly string[]
  try {
    columns = bindingOf(options).bindFilter(text, sourceSchema(schema, by), options).columns
  } catch {
    return
  }
  const name = searchedFields[by].map(field => field.name).find(made => columns.includes(made))
  if (name === undefined) return
  return invalidInput(
    `the filter reads ${quote(name)}, which the search computes, but the filter runs before the search`,
    {
      at: error.at,
      hint:
        `${by === 'text' ? '' : 'bound the distances with distanceRange (lower_bound, upper_bound), or '}` +
        'filter the found rows with postfilter (prefilter: false)',
    },
  )
}

/**
 * Return whether the answer needs all matching rows, because it has groups, distinct rows or an order. A vector search
 * without a range of distances returns only the nearest rows. They can be sorted, but with groups or distinct rows it
 * throws `InvalidInput`.
 */
function readsAll(
  { grouping, distinct, order }: PlannedOutput,
  search: VectorSearch | null,
  byText: boolean,
): boolean {
  const isNearest = search !== null && !byText && search.lower === undefined && search.upper === undefined
  if (grouping === null && !distinct) return order.length > 0 && !isNearest
  if (search !== null && search.batch !== null) {
    throw unsupported('aggregates with several query vectors are not supported')
  }
  if (!isNearest) return true
  throw invalidInput(
    `${grouping === null ? 'distinct rows' : 'groups and aggregates'} need all matching rows, but a vector search without a range of distances returns only the nearest rows`,
    {
      hint: 'set the range with distanceRange (lower_bound, upper_bound), or compute with the returned rows',
    },
  )
}

/**
 * Check that no selected column has the name of a column that is added to the answer. `what`: subject of the error
 * message.
 */
function checkNameIsFree(output: readonly OutputColumn[], name: string, what: string): void {
  if (output.every(({ field }) => field.name !== name)) return
  throw invalidInput(`${what} has a column ${quote(name)}, but a selected column has the same name`, {
    hint: 'select it under another name, or leave it out',
  })
}

/**
 * Metadata key of the field id. Answers with `differs_from` have it, because comparisons of versions match columns by
 * field id.
 */
export const fieldIdKey = 'sheaf:field'

function withIds(output: readonly OutputColumn[], { fields }: TableSchema): readonly OutputColumn[] {
  const ids = new Map(fields.map(({ name, id }) => [name, id]))
  return output.map(({ field, value }) => {
    const { expr } = value
    const id = expr.kind === 'column' && expr.path.length === 1 ? ids.get(expr.path[0]!) : undefined
    if (id === undefined) return { field, value }
    return { value, field: { ...field, metadata: { ...field.metadata, [fieldIdKey]: String(id) } } }
  })
}

/** Decode the parameters of a request for the placeholders of its expressions. */
export function parametersOf(json: QueryRequest['parameters']): ParameterList {
  return new ParameterList(json === undefined ? undefined : readParameters(json))
}

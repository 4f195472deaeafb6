/**
 * Request and schema in, plan out: every default decided, every name resolved, nothing read. What cannot be
 * answered is refused here, with the field that asks for it.
 */
import { ErrorCode, invalidInput, quote, SheafError, unsupported } from '../errors.js'
import { openAnalyzer } from '../indexes/text/analysis/open-analyzer.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { Clock } from '../primitives/clock.js'
import { readParameters } from '../protocol/parameters.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import { ParameterList } from '../sql/binding/parameters.js'
import type { BoundExpression } from '../sql/bound.js'
import { type Binding, type BindingOptions, bindingOf, hasExpressions } from './binding.js'
import { highlightsName, type OutputColumn, type Plan, type VectorSearch } from './plan.js'
import { settleFusion } from './settle-fusion.js'
import type { NearIndex } from './settle-near.js'
import { type SettledOutput, settleOutput } from './settle-output.js'
import { type OpenAnalyzer, settleHighlights, settleText, type TextIndex } from './settle-text.js'
import { settleVector } from './settle-vector.js'
import { queryIndexField, type SearchedBy, searchedFields, sourceSchema } from './source.js'

/** What a version has to search by. */
export interface Searchable {
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
 * `binding`: null for a query without expressions (`hasExpressions`). Throws code 12 for unknown columns, 13 for what does not fit the
 * table, 20 for types that do not fit, 0 for what this engine does not do.
 */
export function settleQuery(
  request: QueryRequest,
  schema: TableSchema,
  binding: Binding | null,
  clock: Clock,
  searchable: Searchable = unindexed,
): Plan {
  if (request.parameters !== undefined && !hasExpressions(request)) {
    throw invalidInput('parameters are given, but no expression that could take them')
  }
  const search = settleVector(request, schema, searchable.vectors)
  const text = settleText(request, schema, searchable.texts, searchable.analyzer)
  if (search !== null && search.batch !== null && text !== null) {
    throw unsupported('a full_text_query goes with one vector, not with several (multi_vector)')
  }
  const by = searchedBy(search !== null, text !== null)
  const filterFirst = request.prefilter ?? true
  const parameters = parametersOf(request.parameters)
  const options = { parameters, clock, binding }
  const filter =
    request.filter === undefined ? null : boundFilter(request.filter, schema, by, filterFirst, options)
  const output = settleOutput(request, schema, by, options, clock)
  parameters.checkUsed()
  const isOfAll = readsAll(output, search, text !== null)
  const highlights = settleHighlights(request, text, schema)
  if (highlights.length > 0) checkMade(output.output, highlightsName, 'an answer with highlight')
  if (search !== null && search.batch !== null) {
    checkMade(output.output, queryIndexField.name, 'an answer to several vectors')
  }
  // Without a condition, rows to skip are rows of the version to pass over.
  const isWhole = by === 'nothing' && filter === null && request.differs_from === undefined
  const isPlain = isWhole && output.grouping === null && !output.distinct
  const skipped = isPlain && output.order.length === 0 ? (request.offset ?? 0) : 0
  return {
    filter,
    filterFirst,
    search,
    text,
    fusion: settleFusion(request, isOfAll),
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

/** `filterFirst`: whether it chooses the rows to search, which have no distance and no score yet. */
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
    throw readsFound(text, schema, by, options, error) ?? error
  }
}

/** The error for a filter that reads what a search finds out; undefined where another one is right. */
function readsFound(
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
    `the filter reads ${quote(name)}, which no row has before the search: the filter chooses the rows to search`,
    {
      at: error.at,
      hint:
        `${by === 'text' ? '' : 'bound the distances with distanceRange (lower_bound, upper_bound), or '}` +
        'filter the rows found with postfilter (prefilter: false)',
    },
  )
}

/**
 * Whether the answer is made of all rows that the search finds: groups, distinct rows, and rows in an order. The nearest rows are as many
 * as are asked for, so they can only be put in an order. Throws code 13 for anything else of them.
 */
function readsAll(
  { grouping, distinct, order }: SettledOutput,
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
    `${grouping === null ? 'distinct rows' : 'groups and aggregates'} are made of all rows that match, but without a range of distances a search by vector has no matching rows, only nearest ones`,
    {
      hint: 'say which rows match with distanceRange (lower_bound, upper_bound), or compute with the rows found',
    },
  )
}

/** What is added to the columns of an answer has a name of its own. */
function checkMade(output: readonly OutputColumn[], name: string, what: string): void {
  if (output.every(({ field }) => field.name !== name)) return
  throw invalidInput(`${what} has a column ${quote(name)}, and another of that name is selected`, {
    hint: 'select it under another name, or leave it out',
  })
}

/** Metadata of the columns of an answer about what differs: who compares two versions knows columns by their field ids. */
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

/** The values of parameters as they travel, for expressions to take. */
export function parametersOf(json: QueryRequest['parameters']): ParameterList {
  return new ParameterList(json === undefined ? undefined : readParameters(json))
}

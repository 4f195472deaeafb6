/**
 * Request and schema in, plan out: every default decided, every name resolved, nothing read. What cannot be
 * answered is refused here, with the field that asks for it.
 */
import { invalidInput, quote, unsupported } from '../errors.js'
import { openAnalyzer } from '../indexes/text/analysis/open-analyzer.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { Clock } from '../primitives/clock.js'
import { readParameters } from '../protocol/parameters.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import { ParameterList } from '../sql/binding/parameters.js'
import { type Binding, bindingOf, hasExpressions } from './binding.js'
import { highlightsName, type OutputColumn, type Plan } from './plan.js'
import type { NearIndex } from './settle-near.js'
import { settleOutput } from './settle-output.js'
import {
  type OpenAnalyzer,
  settleFusion,
  settleHighlights,
  settleText,
  type TextIndex,
} from './settle-text.js'
import { settleVector } from './settle-vector.js'
import { queryIndexField, type SearchedBy, sourceSchema } from './source.js'

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
    request.filter === undefined
      ? null
      : bindingOf(options).bindFilter(
          request.filter,
          sourceSchema(schema, filterFirst ? 'nothing' : by),
          options,
        )
  const output = settleOutput(request, schema, by, options, () => clock.random())
  parameters.checkUsed()
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
    fusion: settleFusion(request),
    highlights,
    grouping: output.grouping,
    distinct: output.distinct,
    order: output.order,
    metadata: output.grouping === null && !output.distinct ? schema.metadata : undefined,
    output: request.differs_from === undefined ? output.output : withIds(output.output, schema),
    differsFrom: request.differs_from,
    from: (request.resume_at ?? 0) + skipped,
    offset: (request.offset ?? 0) - skipped,
    limit: request.k,
  }
}

function searchedBy(byVector: boolean, byText: boolean): SearchedBy {
  if (byVector) return byText ? 'both' : 'vector'
  return byText ? 'text' : 'nothing'
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

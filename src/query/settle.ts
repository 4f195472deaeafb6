/**
 * Request and schema in, plan out: every default decided, every name resolved, nothing read. What cannot be
 * answered is refused here, with the field that asks for it.
 */
import { invalidInput, quote, unsupported } from '../errors.js'
import type { TableSchema } from '../manifest/table-schema.js'
import { type Clock, systemClock } from '../primitives/clock.js'
import { readParameters } from '../protocol/parameters.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import { bindFilter } from '../sql/binding/bind.js'
import { ParameterList } from '../sql/binding/parameters.js'
import type { BoundExpression } from '../sql/bound.js'
import type { OutputColumn, Plan } from './plan.js'
import type { NearIndex } from './settle-near.js'
import { settleOutput } from './settle-output.js'
import { settleVector } from './settle-vector.js'
import { queryIndexField, sourceSchema } from './source.js'

/**
 * `indexes`: those of vectors that the version has. Throws code 12 for unknown columns, 13 for what does not fit the table, 20 for types that do not fit, 0 for what this
 * engine does not do.
 */
export function settleQuery(
  request: QueryRequest,
  schema: TableSchema,
  clock: Clock = systemClock,
  indexes: readonly NearIndex[] = [],
): Plan {
  if (request.full_text_query !== undefined) throw unsupported('full_text_query is not supported yet')
  if (request.parameters !== undefined && !hasExpressions(request)) {
    throw invalidInput('parameters are given, but no expression that could take them')
  }
  const search = settleVector(request, schema, indexes)
  const filterFirst = request.prefilter ?? true
  const parameters = parametersOf(request.parameters)
  const options = { parameters, clock }
  const measured = search !== null
  const filter =
    request.filter === undefined
      ? null
      : bindFilter(request.filter, sourceSchema(schema, measured && !filterFirst), options)
  const output = settleOutput(request, schema, measured, options, () => clock.random())
  parameters.checkUsed()
  if (search !== null && search.batch !== null) checkQueryIndex(output.output)
  // Without a condition, rows to skip are rows of the version to pass over.
  const isWhole = search === null && filter === null && request.differs_from === undefined
  const isPlain = isWhole && output.grouping === null && !output.distinct
  const skipped = isPlain && output.order.length === 0 ? (request.offset ?? 0) : 0
  return {
    filter,
    filterFirst,
    search,
    grouping: output.grouping,
    distinct: output.distinct,
    order: output.order,
    output: request.differs_from === undefined ? output.output : withIds(output.output, schema),
    differsFrom: request.differs_from,
    from: (request.resume_at ?? 0) + skipped,
    offset: (request.offset ?? 0) - skipped,
    limit: request.k,
  }
}

/** An answer to several queries says in a column of its own which of them a row is near to. */
function checkQueryIndex(output: readonly OutputColumn[]): void {
  const { name } = queryIndexField
  if (output.every(({ field }) => field.name !== name)) return
  throw invalidInput(
    `an answer to several vectors has a column ${quote(name)}, and another of that name is selected`,
    {
      hint: 'select it under another name, or leave it out',
    },
  )
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

function hasExpressions({ filter, columns, group_by }: QueryRequest): boolean {
  return (
    filter !== undefined || group_by !== undefined || (columns !== undefined && 'column_aliases' in columns)
  )
}

/** Binds a filter to the columns of a table and those every query makes. `parameters` are as they travel. */
export function settleFilter(
  text: string,
  schema: TableSchema,
  parameters?: QueryRequest['parameters'],
  clock: Clock = systemClock,
): BoundExpression {
  const list = parametersOf(parameters)
  const filter = bindFilter(text, sourceSchema(schema, false), { parameters: list, clock })
  list.checkUsed()
  return filter
}

/** The values of parameters as they travel, for expressions to take. */
export function parametersOf(json: QueryRequest['parameters']): ParameterList {
  return new ParameterList(json === undefined ? undefined : readParameters(json))
}

/**
 * Request and schema in, plan out: every default decided, every name resolved, nothing read. What cannot be
 * answered is refused here, with the field that asks for it.
 */

import type { Schema } from '../arrow/types.js'
import { columnNotFound, invalidInput, quote, unsupported } from '../errors.js'
import type { Metric } from '../kernels/metric.js'
import type { TableField, TableSchema } from '../manifest/table-schema.js'
import { readParameters } from '../protocol/parameters.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import { bindFilter } from '../sql/bind.js'
import type { BoundExpression } from '../sql/bound.js'
import type { OutputColumn, Plan, VectorSearch } from './plan.js'
import { distanceField, rowIdField } from './system-columns.js'

/** Throws code 12 for unknown columns, 13 for what does not fit the table, 0 for what this engine does not do. */
export function settleQuery(request: QueryRequest, schema: TableSchema): Plan {
  refuseUnsupported(request)
  const search = settleVector(request, schema)
  if (request.filter === undefined && request.parameters !== undefined) {
    throw invalidInput('parameters are given, but no filter')
  }
  const filter =
    request.filter === undefined ? null : settleFilter(request.filter, schema, request.parameters)
  return {
    filter,
    filterFirst: request.prefilter ?? true,
    search,
    offset: request.offset ?? 0,
    limit: request.k,
    output: settleOutput(request, schema, search !== null),
  }
}

/** Binds a filter to the columns of a table and to `_rowid`. `parameters` are as they travel. */
export function settleFilter(
  text: string,
  schema: TableSchema,
  parameters?: QueryRequest['parameters'],
): BoundExpression {
  const visible: Schema = { fields: [...schema.fields, rowIdField] }
  return bindFilter(text, visible, parameters === undefined ? {} : { parameters: readParameters(parameters) })
}

function refuseUnsupported(request: QueryRequest): void {
  if (request.full_text_query !== undefined) throw unsupported('full_text_query is not supported yet')
  if (request.order_by !== undefined && request.order_by.length > 0) {
    throw unsupported('order_by is not supported yet')
  }
  if (request.columns !== undefined && 'column_aliases' in request.columns) {
    throw unsupported('columns.column_aliases is not supported yet', { hint: 'name columns in column_names' })
  }
}

// ---- vector

function settleVector(request: QueryRequest, schema: TableSchema): VectorSearch | null {
  if (request.vector == null) {
    const names = ['vector_column', 'distance_type', 'lower_bound', 'upper_bound'] as const
    const given = names.find(name => request[name] !== undefined)
    if (given !== undefined) throw invalidInput(`${given} is given, but no vector to search by`)
    return null
  }
  const given = request.vector.single_vector
  if (given === undefined) throw unsupported('vector.multi_vector is not supported yet')
  const query = Float32Array.from(given)
  const overflow = query.findIndex(value => !Number.isFinite(value))
  if (overflow !== -1) {
    throw invalidInput(`vector holds ${given[overflow]} at ${overflow}, which is no finite 32-bit float`)
  }
  const field = vectorField(request.vector_column, query.length, schema)
  return { field, query, metric: metricOf(request), lower: request.lower_bound, upper: request.upper_bound }
}

function metricOf(request: QueryRequest): Metric {
  const asked = request.distance_type ?? 'l2'
  if (asked === 'hamming') throw unsupported('distance_type hamming is not supported yet')
  return asked
}

/** The column asked for, or the only one whose vectors have the query's dimension (rule A-043). */
function vectorField(name: string | undefined, dimension: number, schema: TableSchema): TableField {
  const vectors = schema.fields.filter(field => vectorDimension(field) !== null)
  if (name !== undefined) {
    const field = columnNamed(name, schema.fields)
    const actual = vectorDimension(field)
    if (actual === null) throw invalidInput(`column ${quote(field.name)} holds no vectors`)
    if (actual === dimension) return field
    throw invalidInput(
      `column ${quote(field.name)} has dimension ${actual}, the query vector has ${dimension}`,
    )
  }
  const fitting = vectors.filter(field => vectorDimension(field) === dimension)
  if (fitting.length === 1) return fitting[0]!
  if (fitting.length > 1) {
    throw invalidInput(
      `columns ${fitting.map(field => quote(field.name)).join(', ')} all fit the query vector`,
      {
        hint: 'say which one in vector_column',
      },
    )
  }
  const known = vectors.map(field => `${quote(field.name)} has ${vectorDimension(field)}`).join(', ')
  throw invalidInput(
    known === '' ? 'the table has no vector column' : `no vector column has dimension ${dimension}: ${known}`,
  )
}

/** Numbers per vector, or null for a column that holds none. */
export function vectorDimension(field: TableField): number | null {
  const { type } = field
  if (type.kind !== 'fixed_size_list') return null
  const child = type.child.type
  return child.kind === 'float' || (child.kind === 'int' && child.bits === 8) ? type.size : null
}

// ---- columns

function settleOutput(
  request: QueryRequest,
  schema: TableSchema,
  measured: boolean,
): readonly OutputColumn[] {
  const names =
    request.columns === undefined || !('column_names' in request.columns)
      ? undefined
      : request.columns.column_names
  const output = names?.map(name => outputColumn(name, schema, measured)) ?? schema.fields.map(asField)
  const has = (kind: OutputColumn['kind']) => output.some(column => column.kind === kind)
  const distance: OutputColumn[] = measured && !has('distance') ? [{ kind: 'distance' }] : []
  const rowId: OutputColumn[] = request.with_row_id === true && !has('rowid') ? [{ kind: 'rowid' }] : []
  return [...output, ...distance, ...rowId]
}

function outputColumn(name: string, schema: TableSchema, measured: boolean): OutputColumn {
  if (name === rowIdField.name) return { kind: 'rowid' }
  if (name === distanceField.name && measured) return { kind: 'distance' }
  return asField(columnNamed(name, schema.fields))
}

function asField(field: TableField): OutputColumn {
  return { kind: 'field', field }
}

/** The column of exactly this name, else the only one that differs in case alone (rule A-058). */
function columnNamed(name: string, fields: readonly TableField[]): TableField {
  const exact = fields.find(field => field.name === name)
  if (exact !== undefined) return exact
  const folded = fields.filter(field => field.name.toLowerCase() === name.toLowerCase())
  if (folded.length === 1) return folded[0]!
  throw columnNotFound(
    name,
    fields.map(field => field.name),
  )
}

/** The vector of a query and the column it is near to. */
import { invalidInput, quote, unsupported } from '../errors.js'
import type { Metric } from '../kernels/metric.js'
import type { TableField, TableSchema } from '../manifest/table-schema.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import { namedColumn } from './named-column.js'
import type { VectorSearch } from './plan.js'

/** Null for a query without a vector. Throws code 12 and 13 where it fits no column. */
export function settleVector(request: QueryRequest, schema: TableSchema): VectorSearch | null {
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
    const [top, ...nested] = namedColumn(name, schema).path
    const field = schema.fields.find(known => known.name === top)!
    if (nested.length > 0) throw unsupported(`vectors inside of structs are not searched: ${quote(name)}`)
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
function vectorDimension(field: TableField): number | null {
  const { type } = field
  if (type.kind !== 'fixed_size_list') return null
  const child = type.child.type
  return child.kind === 'float' || (child.kind === 'int' && child.bits === 8) ? type.size : null
}

/** Plans a vector search: its query vectors and the column to search. */
import { typeName } from '../arrow/type-name.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput, quote, type SheafError, unsupported } from '../errors.js'
import { holdsBytes } from '../kernels/metric.js'
import { findFieldByNames } from '../manifest/field-node.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import {
  elementKind,
  holdsVectorLists,
  type VectorField,
  vectorField,
  vectorFields,
  vectorType,
} from '../table/vector-column.js'
import { namedColumn } from './named-column.js'
import type { VectorSearch } from './plan.js'
import { type NearIndex, planNearSearch } from './plan-near-search.js'

/**
 * Plan the vector search of a request. Returns null for a query without a vector. `indexes`: the vector indexes of the
 * version. Throws `ColumnNotFound`, or `InvalidInput` if no column fits the vector.
 */
export function planVectorSearch(
  request: QueryRequest,
  schema: TableSchema,
  indexes: readonly NearIndex[],
): VectorSearch | null {
  if (request.vector == null) {
    const { vector_column, distance_type, lower_bound, upper_bound } = request
    const options = {
      'column (vector_column)': vector_column,
      'distanceType (distance_type)': distance_type,
      'distanceRange (lower_bound, upper_bound)': lower_bound ?? upper_bound,
    }
    const given = Object.entries(options).find(([, value]) => value !== undefined)
    if (given !== undefined) {
      throw invalidInput(`${given[0]} is given, but the query has no vector`, {
        hint: 'pass a vector: search(vector)',
      })
    }
    return null
  }
  const { single_vector, multi_vector } = request.vector
  const queries =
    single_vector === undefined
      ? multi_vector!.map((vector, i) => queryOf(vector, `vector ${i}`))
      : [queryOf(single_vector, 'vector')]
  const query = queries[0]!
  const other = queries.findIndex(({ length }) => length !== query.length)
  if (other !== -1) {
    throw invalidInput(
      `all query vectors must have the same dimension, but vector ${other} has ${queries[other]!.length} and vector 0 has ${query.length}`,
    )
  }
  const field = fieldToSearch(request.vector_column, query.length, schema)
  // For a column of lists of vectors, all given vectors form one query. For other columns, each vector is a query (rule
  //
  const multi = holdsVectorLists(field.type) ? queries : null
  const batch = multi === null && single_vector === undefined ? queries : null
  if (batch !== null) checkBatch(request)
  const near = planNearSearch(request, field, indexes)
  if (near.metric === 'hamming') checkBits(field, queries)
  const { lower_bound: lower, upper_bound: upper } = request
  return { field, query, lower, upper, batch, multi, ...near }
}

/**
 * Check that the column has uint8 vectors and that all queries have integers from 0 to 255, as hamming distance
 * requires.
 */
function checkBits({ name, type }: VectorField, queries: readonly Float32Array[]): void {
  const vectors = vectorType(type)!
  if (elementKind(vectors) !== 'u8') {
    throw invalidInput(
      `distanceType hamming (distance_type) needs a column of uint8 vectors, but column ${quote(name)} is ${typeName(type)}`,
      { hint: 'use l2, cosine or dot' },
    )
  }
  const wrong = queries.findIndex(query => !holdsBytes(query))
  if (wrong === -1) return
  const query = queries[wrong]!
  const at = query.findIndex(value => value !== (value & 255))
  const which = queries.length === 1 ? 'vector' : `vector ${wrong}`
  throw invalidInput(
    `${which} has ${query[at]} at index ${at}, but distanceType hamming (distance_type) needs integers from 0 to 255`,
  )
}

/**
 * Return a query vector as float32. Throws `InvalidInput` if a number overflows. A `Float32Array` is checked and is not
 * copied.
 */
function queryOf(given: ArrayLike<number>, name: string): Float32Array {
  if (given instanceof Float32Array) return given
  const query = new Float32Array(given)
  const overflow = query.findIndex(value => !Number.isFinite(value))
  if (overflow === -1) return query
  throw invalidInput(
    `${name} has ${given[overflow]} at index ${overflow}, which is not a finite 32-bit float`,
  )
}

/**
 * Refuse groups, distinct rows and an order for several query vectors. Each query vector has its own list of nearest
 * rows, so the lists together cannot be grouped, deduplicated or sorted.
 */
function checkBatch({ group_by, distinct, order_by }: QueryRequest): void {
  const asked = {
    'groupBy (group_by)': group_by !== undefined,
    distinct: distinct === true,
    'orderBy (order_by)': order_by !== undefined && order_by.length > 0,
  }
  const given = Object.entries(asked).find(([, isGiven]) => isGiven)
  if (given !== undefined) throw unsupported(`${given[0]} with several query vectors is not supported`)
}

/**
 * Return the field to search: the named field, or else the only field with vectors of the query's dimension, which may
 * be inside a struct (rule A-043).
 */
function fieldToSearch(name: string | undefined, dimension: number, schema: TableSchema): VectorField {
  if (name !== undefined) {
    const field = vectorField(schema, findFieldByNames(schema, namedColumn(name, schema).path)!)
    const actual = vectorDimension(field)
    if (actual === null) throw holdsNoVectors(field)
    if (actual === dimension) return field
    throw invalidInput(
      `column ${quote(field.name)} has dimension ${actual}, the query vector has ${dimension}`,
    )
  }
  const vectors = vectorFields(schema)
  const fitting = vectors.filter(field => vectorDimension(field) === dimension)
  if (fitting.length === 1) return fitting[0]!
  if (fitting.length > 1) {
    throw invalidInput(
      `columns ${fitting.map(field => quote(field.name)).join(', ')} all fit the query vector`,
      {
        hint: 'name one of them with column (vector_column)',
      },
    )
  }
  const list = vectors.length === 0 ? schema.fields.find(({ type }) => isListOfNumbers(type)) : undefined
  if (list !== undefined) throw holdsNoVectors(list)
  const known = vectors.map(field => `${quote(field.name)} has ${vectorDimension(field)}`).join(', ')
  throw invalidInput(
    known === '' ? 'the table has no vector column' : `no vector column has dimension ${dimension}: ${known}`,
  )
}

/**
 * Return the error for a column that has no vectors. For a list of numbers, the hint says how to create the column as
 * vectors.
 */
function holdsNoVectors({ name, type }: Pick<VectorField, 'name' | 'type'>): SheafError {
  const hint = `if all lists have the same length, for example 384, call alterColumns({ ${quote(name)}: { type: 'vector(384)' } }); rows as objects become vectors with vectorColumns: [${quote(name)}] of createTable`
  return invalidInput(
    `column ${quote(name)} is ${typeName(type)}, which holds no vectors`,
    isListOfNumbers(type) ? { hint } : {},
  )
}

function isListOfNumbers(type: DataType): boolean {
  return type.kind === 'list' && (type.child.type.kind === 'float' || type.child.type.kind === 'int')
}

/** Return the number of elements per vector. Return null for a column that has neither vectors nor lists of vectors. */
function vectorDimension({ type }: VectorField): number | null {
  return vectorType(type)?.size ?? null
}

/** Checks the definition of a vector index against its kind and column (rules ). */
import { typeName } from '../arrow/type-name.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput, quote, type SheafError } from '../errors.js'
import type { VectorKind } from '../indexes/vector/kind.js'
import { wireNames } from '../indexes/vector/wire-names.js'
import type { VectorDefinition } from '../manifest/table-index.js'
import type { CreateIndexRequest } from '../protocol/index-shapes.js'
import { elementKind, holdsVectorLists, vectorType } from '../table/vector-column.js'

/** The request fields that only vector indexes have. */
export const vectorFields: readonly (keyof CreateIndexRequest)[] = [
  'distance_type',
  ...Object.values(wireNames),
]

type ParameterName = keyof typeof wireNames
const parameterNames = Object.keys(wireNames) as readonly ParameterName[]

const commonParameters: readonly ParameterName[] = [
  'partitions',
  'targetPartitionSize',
  'sampleRate',
  'maxIterations',
]
const graphParameters: readonly ParameterName[] = ['m', 'efConstruction']

/** The parameters that each kind has. */
const namesOfKind: Readonly<Record<VectorKind, readonly ParameterName[]>> = {
  IVF_FLAT: commonParameters,
  IVF_SQ: [...commonParameters, 'bits'],
  IVF_PQ: [...commonParameters, 'subVectors', 'bits'],
  IVF_RQ: [...commonParameters, 'bits'],
  IVF_HNSW_FLAT: [...commonParameters, ...graphParameters],
  IVF_HNSW_SQ: [...commonParameters, ...graphParameters, 'bits'],
  IVF_HNSW_PQ: [...commonParameters, ...graphParameters, 'subVectors', 'bits'],
}

/** Allowed bits per code. A single value may be given, and has no effect. */
const bitsOfKind: Readonly<Record<VectorKind, readonly number[]>> = {
  IVF_FLAT: [],
  IVF_SQ: [8],
  IVF_PQ: [4, 8],
  IVF_RQ: [1],
  IVF_HNSW_FLAT: [],
  IVF_HNSW_SQ: [8],
  IVF_HNSW_PQ: [4, 8],
}

/**
 * Return the definition of a vector index. Throws `InvalidInput` for options that do not fit together. `column`: type
 * of the column. `rows`: live rows of the table.
 */
export function vectorDefinition(
  kind: VectorKind,
  request: CreateIndexRequest,
  column: DataType,
  rows: number,
): VectorDefinition {
  const isOfLists = holdsVectorLists(column)
  const type = vectorType(column)!
  const metric = request.distance_type ?? (isOfLists ? 'cosine' : 'l2')
  if (metric === 'hamming') checkBits(kind, request.column, type, column)
  const given = parameterNames.filter(name => request[wireNames[name]] !== undefined)
  for (const name of given) {
    if (namesOfKind[kind].includes(name)) continue
    const users = Object.entries(namesOfKind).flatMap(([each, names]) => (names.includes(name) ? [each] : []))
    throw invalidInput(`an ${kind} index has no use for ${wireNames[name]}`, {
      hint: `leave it out; it is for ${users.join(', ')}`,
    })
  }
  const { num_partitions, target_partition_size, num_sub_vectors, num_bits } = request
  if (num_partitions !== undefined && target_partition_size !== undefined) {
    throw invalidInput(
      `num_partitions (${num_partitions}) and target_partition_size (${target_partition_size}) are alternatives`,
      { hint: 'give one of them' },
    )
  }
  // A table without rows may get that many.
  if (num_partitions !== undefined && rows > 0 && num_partitions > rows && !isOfLists) {
    throw invalidInput(
      `num_partitions must be at most ${rows}, the rows of the table, got ${num_partitions}`,
      {
        hint: 'leave it out: then it follows from the number of rows',
      },
    )
  }
  if (num_sub_vectors !== undefined && type.size % num_sub_vectors !== 0) {
    throw invalidInput(
      `num_sub_vectors must divide ${type.size}, the dimension of column ${quote(request.column)}, got ${num_sub_vectors}`,
      { hint: `it may be ${divisorsNear(num_sub_vectors, type.size).join(' or ')}` },
    )
  }
  const bits = bitsOfKind[kind]
  if (num_bits !== undefined && !bits.includes(num_bits)) {
    throw invalidInput(`num_bits of an ${kind} index must be ${bits.join(' or ')}, got ${num_bits}`)
  }
  const used = given.filter(name => name !== 'bits' || bits.length > 1)
  return { metric, ...Object.fromEntries(used.map(name => [name, request[wireNames[name]]])) }
}

/** Return the greatest divisor of `size` up to `count`, and the least from `count` on. */
function divisorsNear(count: number, size: number): readonly number[] {
  let below = Math.min(count, size)
  while (size % below !== 0) below--
  let above = count
  while (above < size && size % above !== 0) above++
  return above <= size && above !== below ? [below, above] : [below]
}

/** Hamming distance needs the original bits: IVF_FLAT, and a column of uint8 vectors. */
function checkBits(kind: VectorKind, column: string, type: DataType, ofColumn: DataType): void {
  if (kind !== 'IVF_FLAT') {
    throw invalidInput(`an ${kind} index does not support distance_type hamming`, {
      hint: 'IVF_FLAT does; others take l2, cosine or dot',
    })
  }
  if (elementKind(type) === 'u8') return
  throw invalidInput(
    `distance_type hamming counts the bits in which uint8 vectors differ, column ${quote(column)} is ${typeName(ofColumn)}`,
    { hint: 'an index on it takes l2, cosine or dot' },
  )
}

/** Return the error for a column that no vector index can be built on. */
export function holdsNoVectors(column: string, kind: VectorKind, type: DataType): SheafError {
  return invalidInput(
    `column ${quote(column)} is of type ${typeName(type)}: an ${kind} index cannot be built on it`,
    {
      hint: 'vector indexes are for lists of a fixed size of float16, float32, float64, uint8 or int8, and for lists of such',
    },
  )
}

/** Return whether two definitions have the same metric and parameters. */
export function isSameDefinition(a: VectorDefinition | undefined, b: VectorDefinition | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.metric === b.metric && parameterNames.every(name => a[name] === b[name])
}

/** Return the definition as wire fields. */
export function definitionJson({
  metric,
  ...parameters
}: VectorDefinition): Readonly<Record<string, unknown>> {
  const given = parameterNames.filter(name => parameters[name] !== undefined)
  return {
    distance_type: metric,
    ...Object.fromEntries(given.map(name => [wireNames[name], parameters[name]])),
  }
}

/** Checks and creates the definition of a vector index (rules ). */
import { typeName } from '../arrow/type-name.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput, quote, type SheafError } from '../errors.js'
import type { VectorKind } from '../indexes/vector/kind.js'
import { wireNames } from '../indexes/vector/wire-names.js'
import type { VectorDefinition } from '../manifest/table-index.js'
import type { CreateIndexRequest } from '../protocol/index-shapes.js'
import { elementKind, holdsVectorLists, vectorType } from '../table/vector-column.js'

/** The request fields that only vector indexes support. */
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

/** The parameters that each kind of index supports. */
const namesOfKind: Readonly<Record<VectorKind, readonly ParameterName[]>> = {
  IVF_FLAT: commonParameters,
  IVF_SQ: [...commonParameters, 'bits'],
  IVF_PQ: [...commonParameters, 'subVectors', 'bits'],
  IVF_RQ: [...commonParameters, 'bits'],
  IVF_HNSW_FLAT: [...commonParameters, ...graphParameters],
  IVF_HNSW_SQ: [...commonParameters, ...graphParameters, 'bits'],
  IVF_HNSW_PQ: [...commonParameters, ...graphParameters, 'subVectors', 'bits'],
}

/** Allowed numbers of bits per code. If only one number is allowed, a request may contain it, but it has no effect. */
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
 * Return the definition of a vector index. `column`: the type of the column. `rows`: the number of live rows of the
 * table. Throws `InvalidInput` for options that do not fit the kind, the column, or each other.
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
    throw invalidInput(`an ${kind} index has no use for ${optionName(name)}`, {
      hint: `leave it out; it is for ${users.join(', ')}`,
    })
  }
  const { num_partitions, target_partition_size, num_sub_vectors, num_bits } = request
  if (num_partitions !== undefined && target_partition_size !== undefined) {
    throw invalidInput(
      `partitions (num_partitions) and targetPartitionSize (target_partition_size) cannot both be set, got ${num_partitions} and ${target_partition_size}`,
      { hint: 'set only one of them' },
    )
  }
  // Not checked for a table without rows, because it may get this many rows later.
  if (num_partitions !== undefined && rows > 0 && num_partitions > rows && !isOfLists) {
    throw invalidInput(
      `partitions (num_partitions) must be at most ${rows}, the rows of the table, got ${num_partitions}`,
      {
        hint: 'leave it out: the default depends on the number of rows',
      },
    )
  }
  if (num_sub_vectors !== undefined && type.size % num_sub_vectors !== 0) {
    throw invalidInput(
      `subVectors (num_sub_vectors) must divide ${type.size}, the dimension of column ${quote(request.column)}, got ${num_sub_vectors}`,
      { hint: `it may be ${divisorsNear(num_sub_vectors, type.size).join(' or ')}` },
    )
  }
  const bits = bitsOfKind[kind]
  if (num_bits !== undefined && !bits.includes(num_bits)) {
    throw invalidInput(`bits (num_bits) of an ${kind} index must be ${bits.join(' or ')}, got ${num_bits}`)
  }
  const used = given.filter(name => name !== 'bits' || bits.length > 1)
  return { metric, ...Object.fromEntries(used.map(name => [name, request[wireNames[name]]])) }
}

/** Return the name of the option in the library, followed by the name in a request if the two names differ. */
function optionName(name: ParameterName): string {
  const wire = wireNames[name]
  return wire === name ? name : `${name} (${wire})`
}

/**
 * Return the divisors of `size` that are nearest to `count`: the greatest one up to `count`, and the smallest one from
 * `count` on.
 */
function divisorsNear(count: number, size: number): readonly number[] {
  let below = Math.min(count, size)
  while (size % below !== 0) below--
  let above = count
  while (above < size && size % above !== 0) above++
  return above <= size && above !== below ? [below, above] : [below]
}

/**
 * Check that Hamming distance is possible. It needs the original bits, so only IVF_FLAT indexes on columns of uint8
 * vectors support it. Throws `InvalidInput`.
 */
function checkBits(kind: VectorKind, column: string, type: DataType, ofColumn: DataType): void {
  if (kind !== 'IVF_FLAT') {
    throw invalidInput(`an ${kind} index does not support distanceType hamming (distance_type)`, {
      hint: 'use IVF_FLAT for hamming, or choose l2, cosine or dot',
    })
  }
  if (elementKind(type) === 'u8') return
  throw invalidInput(
    `distanceType hamming (distance_type) needs uint8 vectors, but column ${quote(column)} has the type ${typeName(ofColumn)}`,
    { hint: 'use l2, cosine or dot' },
  )
}

/** Return the error for a column whose type vector indexes do not support. */
export function holdsNoVectors(column: string, kind: VectorKind, type: DataType): SheafError {
  return invalidInput(`an ${kind} index does not support column ${quote(column)} of type ${typeName(type)}`, {
    hint: 'vector indexes support fixed-size lists of float16, float32, float64, uint8 or int8, and lists of such vectors',
  })
}

/** Return whether two definitions have the same metric and parameters. */
export function isSameDefinition(a: VectorDefinition | undefined, b: VectorDefinition | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.metric === b.metric && parameterNames.every(name => a[name] === b[name])
}

/** Convert a definition to fields of the wire format. */
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

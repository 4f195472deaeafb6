/**
 * Converts vector columns for the kernels: to dense rows of float32 or uint8, and a set of the rows that have a vector.
 */
import { type Column, isValid } from '../arrow/column.js'
import { fromFloat16 } from '../arrow/float16.js'
import type { DataType } from '../arrow/types.js'
import { assert } from '../errors.js'
import { type ElementKind, VectorSegment } from '../kernels/vector-segment.js'
import { type FieldNode, nodeOf, pathText, typeOf } from '../manifest/field-node.js'
import { columnOfField, type TableField, type TableSchema } from '../manifest/table-schema.js'
import { Bitset } from '../primitives/bitset.js'

/** Vectors of a column in memory that the kernels can read. */
export interface Vectors {
  readonly segment: VectorSegment
  /** The vectors that are not null and have no null elements. Null if this is true of all vectors. */
  readonly present: Bitset | null
  /** The vectors of each row if rows hold lists of vectors. Null if row `i` has vector `i`. */
  readonly lists: VectorLists | null
}

/** The vectors of rows that hold lists of vectors. Row `i` has the vectors `offsets[i]` to `offsets[i + 1] - 1`. */
interface VectorLists {
  readonly offsets: Int32Array
  /** The rows that are not null. Null if no row is null. */
  readonly valid: Bitset | null
}

/** Return the number of rows. If rows hold lists of vectors, each list is one row. */
export function rowsOf({ segment, lists }: Vectors): number {
  return lists === null ? segment.rows : lists.offsets.length - 1
}

/** A column of vectors or lists of vectors, or such a field inside of structs. */
export interface VectorField {
  /** The id of the field itself. */
  readonly id: number
  readonly type: DataType
  /** The column that is the field or contains it. */
  readonly column: TableField
  /** The names of the fields from the column down to the field. */
  readonly path: readonly string[]
  /** The path as one string, as in requests. */
  readonly name: string
}

/** Describe a vector field. `chain`: the nodes from a column of the schema down to the field. */
export function vectorField(schema: TableSchema, chain: readonly FieldNode[]): VectorField {
  const node = chain.at(-1)!
  return {
    id: node.id,
    type: typeOf(node),
    column: columnOfField(schema, node.id)!,
    path: chain.map(({ name }) => name),
    name: chain.length === 1 ? node.name : pathText(chain),
  }
}

/** List all fields of vectors and of lists of vectors, also inside of structs, in schema order. */
export function vectorFields(schema: TableSchema): readonly VectorField[] {
  const found: VectorField[] = []
  const search = (chain: readonly FieldNode[]) => {
    const node = chain.at(-1)!
    if (vectorType(typeOf(node)) !== null) found.push(vectorField(schema, chain))
    if (node.type.kind === 'struct') for (const child of node.children) search([...chain, child])
  }
  for (const field of schema.fields) search([nodeOf(field)])
  return found
}

type VectorType = DataType & { readonly kind: 'fixed_size_list' }

/** Return whether a type is a vector: a fixed-size list of floats or of 8-bit integers. */
function holdsVectors(type: DataType): type is VectorType {
  if (type.kind !== 'fixed_size_list' || type.size === 0) return false
  const { type: element } = type.child
  return element.kind === 'float' || (element.kind === 'int' && element.bits === 8)
}

/** Return whether a type is a list of vectors. */
export function holdsVectorLists(type: DataType): boolean {
  return type.kind === 'list' && holdsVectors(type.child.type)
}

/** Return the vector type of a column of vectors or of lists of vectors. Return null for any other column. */
export function vectorType(type: DataType): VectorType | null {
  const inner = type.kind === 'list' ? type.child.type : type
  return holdsVectors(inner) ? inner : null
}

/** Return the element kind if the kernels use the same bytes as Arrow. Return null if the vectors must be converted. */
export function elementKind(type: DataType): ElementKind | null {
  if (type.kind !== 'fixed_size_list') return null
  const child = type.child.type
  if (child.kind === 'float' && child.bits === 32) return 'f32'
  if (child.kind === 'int' && child.bits === 8 && !child.signed) return 'u8'
  return null
}

/** Return the column of vectors: the column itself, or the values of its lists. */
export function vectorsOf(column: Column): Column {
  return column.type.kind === 'list' ? column.children[0]! : column
}

/** Return the lists of vectors of a column. Return null for a column of vectors. */
export function vectorLists({ offsets, validity, nullCount, length }: Column): VectorLists | null {
  if (offsets === null) return null
  return {
    offsets,
    valid: nullCount === 0 || validity === null ? null : Bitset.fromBytes(validity, length),
  }
}

/**
 * Copy the vectors of a few rows into ordinary memory, which is searched without the WebAssembly kernels. For few rows
 * this is faster than opening memory of the kernels.
 */
export function plainVectors(column: Column): VectorSegment {
  return vectorSegment(column, Number.POSITIVE_INFINITY)
}

/**
 * Copy a column's vectors into memory that the kernels can read. Converts float16, float64 and int8 to float32.
 * `kernelFrom`: see `VectorSegment.allocate`.
 */
export function vectorSegment(column: Column, kernelFrom?: number): VectorSegment {
  const { type } = column
  assert(type.kind === 'fixed_size_list', 'a vector column is a fixed_size_list')
  const child = column.children[0]!
  const count = column.length * type.size
  const segment = VectorSegment.allocate(elementKind(type) ?? 'f32', type.size, column.length, kernelFrom)
  copyElements(child, count, segment.values)
  return segment
}

/** Copy the first `count` elements of vectors. Converts float16, float64 and int8 to float32. */
export function copyElements(elements: Column, count: number, target: Float32Array | Uint8Array): void {
  const { type, values } = elements
  if (type.kind === 'float' && type.bits === 16) {
    const halves = values as Uint16Array
    for (let i = 0; i < count; i++) target[i] = fromFloat16(halves[i]!)
  } else {
    target.set((values as Float32Array).subarray(0, count))
  }
}

/** Return the rows with a vector that has no null elements. Return null if all rows have such a vector. */
export function presentVectors(column: Column): Bitset | null {
  const { type } = column
  assert(type.kind === 'fixed_size_list', 'a vector column is a fixed_size_list')
  const child = column.children[0]!
  if (column.nullCount === 0 && child.nullCount === 0) return null
  const present =
    column.validity === null ? Bitset.full(column.length) : Bitset.fromBytes(column.validity, column.length)
  if (child.nullCount === 0) return present
  for (let element = 0; element < column.length * type.size; element++) {
    if (!isValid(child, element)) present.remove(Math.floor(element / type.size))
  }
  return present
}

/** Vector columns as the kernels want them: dense rows of float32 or uint8, and which rows hold one. */
import { type Column, isValid } from '../arrow/column.js'
import { fromFloat16 } from '../arrow/float16.js'
import type { DataType } from '../arrow/types.js'
import { assert } from '../errors.js'
import { type ElementKind, VectorSegment } from '../kernels/vector-segment.js'
import { Bitset } from '../primitives/bitset.js'

export interface Vectors {
  readonly segment: VectorSegment
  /** Rows that hold a whole vector; null when all do. */
  readonly present: Bitset | null
}

/** The element kind whose rows lie in kernels' memory exactly as Arrow stores them; null where they must be converted. */
export function elementKind(type: DataType): ElementKind | null {
  if (type.kind !== 'fixed_size_list') return null
  const child = type.child.type
  if (child.kind === 'float' && child.bits === 32) return 'f32'
  if (child.kind === 'int' && child.bits === 8 && !child.signed) return 'u8'
  return null
}

/** Copies a column's vectors into kernel memory; float16, float64 and int8 become float32. */
export function vectorSegment(column: Column): VectorSegment {
  const { type } = column
  assert(type.kind === 'fixed_size_list', 'a vector column is a fixed_size_list')
  const child = column.children[0]!
  const count = column.length * type.size
  const segment = VectorSegment.allocate(elementKind(type) ?? 'f32', type.size, column.length)
  const target = segment.values
  const source = child.values
  if (child.type.kind === 'float' && child.type.bits === 16) {
    const halves = source as Uint16Array
    for (let i = 0; i < count; i++) target[i] = fromFloat16(halves[i]!)
  } else {
    target.set((source as Float32Array).subarray(0, count))
  }
  return segment
}

/** Rows whose vector is there and whole. */
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

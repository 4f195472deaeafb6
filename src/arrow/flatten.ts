/** Columns as IPC bodies: field nodes and buffers, exactly as long as their rows need. */
import { assert } from '../errors.js'
import { exactBits } from './bits.js'
import type { Column } from './column.js'
import { asBytes, cellBytes, hasCells, isLarge } from './layout.js'

/** Buffers and nodes of some columns, in the order of a record batch. */
export interface FlatColumns {
  /** Pairs of (length, null count). */
  readonly nodes: number[]
  /** Views of the columns' own buffers wherever they can be. */
  readonly buffers: Uint8Array[]
}

const none = new Uint8Array(0)

/**
 * Appends a column: equal rows in equal buffers give equal bytes. Validity is empty when nothing is null,
 * bits past the last row are 0, large types get 64-bit offsets.
 */
export function flattenColumn(column: Column, out: FlatColumns): void {
  const { type, length, validity, values, offsets } = column
  out.nodes.push(length, column.nullCount)
  if (type.kind === 'null') return
  out.buffers.push(validity === null || column.nullCount === 0 ? none : exactBits(validity, length))

  if (offsets !== null) out.buffers.push(flattenOffsets(offsets, length, isLarge(type)))
  if (type.kind === 'bool') {
    out.buffers.push(exactBits(values as Uint8Array, length))
  } else if (type.kind === 'utf8' || type.kind === 'binary') {
    assert(offsets !== null, `a ${type.kind} column without offsets`)
    out.buffers.push((values as Uint8Array).subarray(0, offsets[length]!))
  } else if (hasCells(type)) {
    assert(values !== null, `a ${type.kind} column without values`)
    out.buffers.push(asBytes(values).subarray(0, cellBytes(type) * length))
  }
  for (const child of column.children) flattenColumn(child, out)
}

function flattenOffsets(offsets: Int32Array, length: number, large: boolean): Uint8Array {
  const exact = offsets.subarray(0, length + 1)
  return asBytes(large ? BigInt64Array.from(exact, BigInt) : exact)
}

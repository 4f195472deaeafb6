/** Converts columns to the field nodes and buffers of IPC bodies. Each buffer is exactly as long as its rows need. */
import { assert } from '../errors.js'
import { exactBits } from './bits.js'
import type { Column } from './column.js'
import { concatBools, concatOffsets, concatValidity } from './concat.js'
import { asBytes, cellBytes, hasCells, isLarge } from './layout.js'

/** The bytes of a buffer, as consecutive parts. */
export type Parts = readonly Uint8Array[]

/** The nodes and buffers of columns, in the order of a record batch. */
export interface FlatColumns {
  /** (length, null count) of every field node, flat. */
  readonly nodes: number[]
  /** The buffers. Most are views of the columns' buffers, not copies. */
  readonly buffers: Parts[]
}

/** Return the number of bytes of all parts together. */
export function partsBytes(parts: Parts): number {
  let total = 0
  for (const part of parts) total += part.length
  return total
}

const none: Parts = []

/**
 * Append the rows of several columns of equal types as one column. The bytes do not depend on how the rows are split
 * into columns. The validity buffer is empty if no row is null, bits after the last row are 0, and large types get
 * 64-bit offsets.
 * @throws InvalidInput if the text or list elements of all columns together exceed 2 GiB.
 */
export function flattenColumns(columns: readonly Column[], out: FlatColumns): void {
  const first = columns[0]
  assert(first !== undefined, 'no columns to write')
  const { type } = first
  let length = 0
  for (const column of columns) length += column.length
  const { validity, nullCount } = concatValidity(columns, length)
  out.nodes.push(length, type.kind === 'null' ? length : nullCount)
  if (type.kind === 'null') return
  out.buffers.push(validity === null ? none : [exactBits(validity, length)])

  if (first.offsets !== null) {
    out.buffers.push([flattenOffsets(concatOffsets(columns, length), length, isLarge(type))])
  }
  if (type.kind === 'bool') {
    out.buffers.push([exactBits(concatBools(columns, length), length)])
  } else if (type.kind === 'utf8' || type.kind === 'binary') {
    out.buffers.push(
      columns.map(({ values, offsets, length }) => (values as Uint8Array).subarray(0, offsets![length]!)),
    )
  } else if (hasCells(type)) {
    const width = cellBytes(type)
    out.buffers.push(columns.map(({ values, length }) => asBytes(values!).subarray(0, width * length)))
  }
  for (const i of first.children.keys()) {
    flattenColumns(
      columns.map(column => column.children[i]!),
      out,
    )
  }
}

/** Append one column. */
export function flattenColumn(column: Column, out: FlatColumns): void {
  flattenColumns([column], out)
}

function flattenOffsets(offsets: Int32Array, length: number, large: boolean): Uint8Array {
  const exact = offsets.subarray(0, length + 1)
  return asBytes(large ? BigInt64Array.from(exact, BigInt) : exact)
}

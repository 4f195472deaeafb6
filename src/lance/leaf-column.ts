/** Makes Arrow columns of decoded values. */
import { countBits } from '../arrow/bits.js'
import { invalidUtf8Row } from '../arrow/check-utf8.js'
import type { Column, Values } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { cellBytes, hasCells, viewCells } from '../arrow/layout.js'
import { typeName } from '../arrow/type-name.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput, unsupported } from '../errors.js'
import { type Block, concatBlocks } from './block.js'
import type { Slots } from './levels.js'

/** Return a column with the values of all blocks. `slots`: which rows are null. */
export function leafColumn(type: DataType, blocks: readonly Block[], slots: Slots): Column {
  let count = 0
  for (const block of blocks) count += block.count
  if (count !== slots.length)
    throw invalidInput(`a column has ${count} values, but its levels need ${slots.length}`)
  if (type.kind === 'null') {
    return {
      ...slots,
      type,
      validity: null,
      nullCount: count,
      values: null,
      offsets: null,
      children: [],
      dictionary: null,
    }
  }
  if (type.kind === 'dictionary') {
    const parts = blocks.map(block => dictionaryColumn(type, block))
    return { ...concatColumns(parts), validity: slots.validity, nullCount: slots.nullCount }
  }
  return blockColumn(type, concatBlocks(blocks), slots)
}

function blockColumn(type: DataType, block: Block, slots: Slots): Column {
  const { length, nullCount, validity } = slots
  const rows = { type, length, nullCount, validity, dictionary: null }
  const flat = { ...rows, offsets: null, children: [] }
  if (type.kind === 'utf8' || type.kind === 'binary') {
    if (block.kind !== 'variable') throw misfit(type, block)
    const column = { ...rows, values: block.bytes, offsets: block.offsets, children: [] }
    const row = type.kind === 'utf8' ? invalidUtf8Row(column) : -1
    if (row !== -1) throw invalidInput(`row ${row} is not valid UTF-8`)
    return column
  }
  if (type.kind === 'fixed_size_list') {
    if (block.kind !== 'list' || block.size !== type.size) throw misfit(type, block)
    const child = blockColumn(type.child.type, block.items, nullsOf(block.validity, block.items.count))
    return { ...rows, values: null, offsets: null, children: [child] }
  }
  if (type.kind === 'struct') {
    if (block.kind !== 'struct' || block.children.length !== type.children.length) throw misfit(type, block)
    const children = type.children.map((child, i) => {
      const values = block.children[i]!
      return blockColumn(child.type, values, nullsOf(null, values.count))
    })
    return { ...rows, values: null, offsets: null, children }
  }
  if (block.kind !== 'fixed') throw misfit(type, block)
  if (type.kind === 'bool' && block.bits === 1) return { ...flat, values: block.bytes }
  if (!hasCells(type) || block.bits !== 8 * cellBytes(type)) throw misfit(type, block)
  return { ...flat, values: viewCells(type, block.bytes, length) }
}

/** Return the nulls of a bitmap. */
function nullsOf(validity: Uint8Array | null, length: number): Slots {
  const nullCount = validity === null ? 0 : length - countBits(validity, length)
  return { length, nullCount, validity: nullCount === 0 ? null : validity }
}

function misfit(type: DataType, block: Block): Error {
  const bits = block.kind === 'fixed' ? ` of ${block.bits} bits` : ''
  return invalidInput(`the values of a page (${block.kind}${bits}) do not fit the type ${typeName(type)}`)
}

/** Return a column of indices. A block without a dictionary becomes its own dictionary. */
function dictionaryColumn(type: DataType & { readonly kind: 'dictionary' }, block: Block): Column {
  const { count } = block
  const items = block.kind === 'dictionary' ? block.items : block
  const indices =
    block.kind === 'dictionary' ? block.indices : Int32Array.from({ length: count }, (_, i) => i)
  const { bits, signed } = type.index
  if (items.count > 2 ** (signed ? bits - 1 : bits)) {
    throw unsupported(`a page has ${items.count} values, which do not fit the indices of ${typeName(type)}`, {
      hint: 'rewrite the column with LanceDB with a wider index type, or without a dictionary',
    })
  }
  const dictionary = blockColumn(type.value, items, nullsOf(null, items.count))
  const bytes = new Uint8Array((count * bits) / 8)
  const values = viewCells(type, bytes, count)
  copyIndices(indices, values)
  return {
    type,
    length: count,
    nullCount: 0,
    validity: null,
    values,
    offsets: null,
    children: [],
    dictionary,
  }
}

function copyIndices(indices: Int32Array, values: Values): void {
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    for (let i = 0; i < indices.length; i++) values[i] = BigInt(indices[i]!)
  } else values.set(indices)
}

/** Concatenates columns, and merges their dictionaries. */
import { assert, invalidInput } from '../errors.js'
import { bitmapBytes, copyBits, setBits } from './bits.js'
import { type Batch, type Column, isValid, type Values } from './column.js'
import { ColumnTooLarge } from './column-too-large.js'
import { concatBytes } from './concat-bytes.js'
import { emptyColumn } from './fill.js'
import { asBytes, cellBytes, hasCells, viewCells } from './layout.js'
import { equalTypes } from './same-type.js'
import { takeColumn } from './take.js'
import type { DataType } from './types.js'

/**
 * Concatenate the rows of one or more columns. All columns must have equal types.
 * @throws ColumnTooLarge if the values of text or lists exceed 2 GiB. InvalidInput if a merged dictionary has more
 * values than its index type can number.
 */
export function concatColumns(columns: readonly Column[]): Column {
  const first = columns[0]
  assert(first !== undefined, 'no columns to join')
  for (const column of columns) assert(equalTypes(first.type, column.type), 'columns of different types')
  if (columns.length === 1) return first
  const { type } = first
  let length = 0
  for (const column of columns) length += column.length
  const rows = { type, length, ...concatValidity(columns, length), dictionary: null }
  const noChildren: Column[] = []
  switch (type.kind) {
    case 'null':
      return { ...first, length, nullCount: length }
    case 'bool':
      return { ...rows, values: concatBools(columns, length), offsets: null, children: noChildren }
    case 'utf8':
    case 'binary': {
      const offsets = concatOffsets(columns, length)
      const parts = columns.map(c => (c.values as Uint8Array).subarray(0, c.offsets![c.length]!))
      return { ...rows, values: concatBytes(parts), offsets, children: noChildren }
    }
    case 'list':
    case 'map':
      return {
        ...rows,
        values: null,
        offsets: concatOffsets(columns, length),
        children: [concatColumns(columns.map(column => column.children[0]!))],
      }
    case 'fixed_size_list':
    case 'struct':
      return {
        ...rows,
        values: null,
        offsets: null,
        children: first.children.map((_, i) => concatColumns(columns.map(column => column.children[i]!))),
      }
    case 'dictionary': {
      const merger = new DictionaryMerger(type)
      const parts = columns.map(column => asBytes(merger.add(column)))
      const values = viewCells(type, concatBytes(parts), length)
      return { ...rows, values, offsets: null, children: noChildren, dictionary: merger.dictionary() }
    }
    default: {
      const width = cellBytes(type)
      const parts = columns.map(column => asBytes(column.values!).subarray(0, width * column.length))
      return {
        ...rows,
        values: viewCells(type, concatBytes(parts), length),
        offsets: null,
        children: noChildren,
      }
    }
  }
}

/** Concatenate the rows of one or more batches. All batches must have equal column types. */
export function concatBatches(batches: readonly Batch[]): Batch {
  const first = batches[0]
  assert(first !== undefined, 'no batches to join')
  if (batches.length === 1) return first
  let length = 0
  for (const batch of batches) length += batch.length
  return {
    schema: first.schema,
    length,
    columns: first.columns.map((_, i) => concatColumns(batches.map(batch => batch.columns[i]!))),
  }
}

/** Concatenate the validity of all columns. `length`: number of rows of all columns together. */
export function concatValidity(
  columns: readonly Column[],
  length: number,
): Pick<Column, 'validity' | 'nullCount'> {
  let nullCount = 0
  for (const column of columns) nullCount += column.nullCount
  if (nullCount === 0) return { validity: null, nullCount }
  if (columns.length === 1) return { validity: columns[0]!.validity, nullCount }
  const validity = new Uint8Array(bitmapBytes(length))
  let at = 0
  for (const column of columns) {
    if (column.validity === null) setBits(validity, at, column.length)
    else copyBits(validity, at, column.validity, 0, column.length)
    at += column.length
  }
  return { validity, nullCount }
}

/** Concatenate the bits of bool columns. */
export function concatBools(columns: readonly Column[], length: number): Uint8Array {
  if (columns.length === 1) return columns[0]!.values as Uint8Array
  const out = new Uint8Array(bitmapBytes(length))
  let at = 0
  for (const column of columns) {
    copyBits(out, at, column.values as Uint8Array, 0, column.length)
    at += column.length
  }
  return out
}

/**
 * Concatenate the offsets of all columns. The result refers to the concatenated values or children of the columns.
 * @throws ColumnTooLarge if the values or children exceed 2 GiB.
 */
export function concatOffsets(columns: readonly Column[], length: number): Int32Array {
  if (columns.length === 1) return columns[0]!.offsets!
  const out = new Int32Array(length + 1)
  let at = 0
  let base = 0
  for (const column of columns) {
    const offsets = column.offsets!
    for (let i = 0; i < column.length; i++) out[at + i] = base + offsets[i]!
    at += column.length
    base += offsets[column.length]!
    if (base > 0x7fffffff) throw new ColumnTooLarge(length)
  }
  out[length] = base
  return out
}

/**
 * Merges the dictionaries of several columns of one type. Values keep the order of their first appearance. If a value
 * of text, bytes, numbers or another flat type is in several dictionaries, the merged dictionary has it once. The
 * merged dictionary starts with the whole first dictionary, so columns with the first dictionary keep their indices.
 */
export class DictionaryMerger {
  readonly #type: DataType & { readonly kind: 'dictionary' }
  readonly #pieces: Column[] = []
  /** By added dictionary: the new index of each of its values. Null if all indices are unchanged. */
  readonly #remapOf = new Map<Column, Int32Array | null>()
  readonly #indexOf = new Map<string | null, number>()
  #size = 0

  constructor(type: DataType & { readonly kind: 'dictionary' }) {
    this.#type = type
  }

  /**
   * Add the dictionary of a column. Returns the column's indices into the merged dictionary.
   * @throws InvalidInput if the merged dictionary has more values than the index type can number.
   */
  add(column: Column): Values {
    const { dictionary, values, length } = column
    assert(dictionary !== null && values !== null, 'a dictionary column without a dictionary')
    let remap = this.#remapOf.get(dictionary)
    if (remap === undefined) {
      remap = this.#merge(dictionary)
      this.#remapOf.set(dictionary, remap)
    }
    return remap === null ? values.subarray(0, length) : remapIndices(column, values, remap)
  }

  /** Return the merged dictionary of the columns added so far. */
  dictionary(): Column {
    if (this.#pieces.length === 0) return emptyColumn(this.#type.value)
    const merged = concatColumns(this.#pieces)
    this.#pieces.splice(0, this.#pieces.length, merged)
    return merged
  }

  #merge(dictionary: Column): Int32Array | null {
    const keyAt = keyReader(dictionary)
    if (this.#pieces.length === 0) {
      if (keyAt !== null) {
        for (let i = 0; i < dictionary.length; i++) {
          const key = isValid(dictionary, i) ? keyAt(i) : null
          if (!this.#indexOf.has(key)) this.#indexOf.set(key, i)
        }
      }
      this.#append(dictionary)
      return null
    }
    const remap = new Int32Array(dictionary.length)
    const added: number[] = []
    let changed = false
    for (let i = 0; i < remap.length; i++) {
      const key = keyAt === null ? null : isValid(dictionary, i) ? keyAt(i) : null
      let index = keyAt === null ? undefined : this.#indexOf.get(key)
      if (index === undefined) {
        index = this.#size + added.length
        added.push(i)
        if (keyAt !== null) this.#indexOf.set(key, index)
      }
      remap[i] = index
      if (index !== i) changed = true
    }
    if (added.length > 0) this.#append(takeColumn(dictionary, Uint32Array.from(added)))
    return changed ? remap : null
  }

  #append(piece: Column): void {
    this.#pieces.push(piece)
    this.#size += piece.length
    const { bits, signed } = this.#type.index
    if (this.#size > 2 ** (signed ? bits - 1 : bits)) {
      throw invalidInput(
        `a dictionary of ${this.#size} values does not fit its ${signed ? '' : 'u'}int${bits} indices`,
        { hint: 'use a wider index type' },
      )
    }
  }
}

function remapIndices(column: Column, values: Values, remap: Int32Array): Values {
  const out = values.slice(0, column.length)
  if (out instanceof BigInt64Array || out instanceof BigUint64Array) {
    for (let i = 0; i < out.length; i++) out[i] = isValid(column, i) ? BigInt(remap[Number(out[i])]!) : 0n
  } else {
    for (let i = 0; i < out.length; i++) out[i] = isValid(column, i) ? remap[out[i]!]! : 0
  }
  return out
}

/**
 * Return a function that reads the bytes of the value at an index as a string, to compare values. Returns null for
 * types whose values are not contiguous bytes.
 */
function keyReader(column: Column): ((index: number) => string) | null {
  const { type, values, offsets } = column
  if (values === null || type.kind === 'dictionary') return null
  const view = asBytes(values)
  const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength)
  if (offsets !== null) return index => bytes.toString('latin1', offsets[index], offsets[index + 1])
  if (type.kind === 'bool') return index => String((bytes[index >>> 3]! >>> (index & 7)) & 1)
  if (!hasCells(type)) return null
  const width = cellBytes(type)
  return index => bytes.toString('latin1', width * index, width * (index + 1))
}

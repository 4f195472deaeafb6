/**
 * Stores rows of key columns in an encoding for fast comparison and hashing. Sorting and grouping use it.
 *
 * Each value becomes a sequence of 32-bit words. Comparing the words as unsigned numbers, from left to right, gives the
 * order of the values:
 * - The first word sorts NULL before or after other values.
 * - In a signed integer, the most significant bit is flipped. In a negative float, all bits are inverted.
 * - A text has two words with its first eight bytes, and one word with its size, or 9 if it is longer than eight bytes.
 *   All bytes of longer texts are stored separately. They are compared only if the words are equal.
 * - In descending order, all words of the value are inverted.
 */
import { type Column, isValid } from '../arrow/column.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType } from '../arrow/types.js'
import { assert, invalidInput } from '../errors.js'
import { orderOfBytes } from '../primitives/order-of-bytes.js'
import { decoded } from '../sql/kernels/dictionary.js'
import { prefixBytes } from '../sql/kernels/sort-texts.js'
import { valueType } from '../sql/values/types.js'
import {
  type ByteRows,
  bitAt,
  byteRowsOf,
  doublesOf,
  fitsInt32,
  int32sOf,
  isWide,
  pairsOf,
  validWords,
} from '../sql/values/vector.js'

/** The order of one key column. */
export interface KeyOrder {
  readonly ascending: boolean
  readonly nullsFirst: boolean
}

/** The key columns of one batch as words. */
export interface KeyBatch {
  /** The words of all rows: `words[w][row]`. */
  readonly words: readonly Uint32Array[]
  /** One item per word. The item of the last word of a text column has the full texts. All other items are null. */
  readonly texts: readonly (ByteRows | null)[]
}

/** Return the number of words of a value, without the word for NULL. Return null for types that cannot be keys. */
function wordsOfType(declared: DataType): number | null {
  const type = valueType(declared)
  switch (type.kind) {
    case 'null':
      return 0
    case 'bool':
      return 1
    case 'int':
    case 'date':
    case 'time':
    case 'timestamp':
    case 'duration':
      return isWide(type) ? 2 : 1
    case 'float':
      return 2
    case 'utf8':
    case 'binary':
    case 'fixed_size_binary':
      return 3
    case 'decimal':
      return type.bits / 32
    default:
      return null
  }
}

/** Encode columns as words. `orders`: the order of each column. */
export function keyBatch(columns: readonly Column[], orders: readonly KeyOrder[]): KeyBatch {
  const words: Uint32Array[] = []
  const texts: (ByteRows | null)[] = []
  for (const [i, column] of columns.entries()) {
    const key = cleared(decoded(column))
    const { ascending, nullsFirst } = orders[i]!
    const values = valueWords(key)
    const valid = validWords(key)
    const nulls = new Uint32Array(key.length).fill(1)
    if (valid !== null) {
      for (let row = 0; row < key.length; row++) {
        if (bitAt(valid, row)) continue
        nulls[row] = nullsFirst ? 0 : 2
        for (const word of values) word[row] = ascending ? 0 : 0xffffffff
      }
    }
    if (!ascending)
      for (const word of values) for (let row = 0; row < word.length; row++) word[row] = ~word[row]!
    words.push(nulls, ...values)
    for (let w = 0; w < values.length; w++) texts.push(null)
    texts.push(hasBytes(key.type) ? byteRowsOf(key) : null)
  }
  return { words, texts }
}

/** Clear the bytes of NULL texts, so that two NULLs are equal. */
function cleared(column: Column): Column {
  if (column.nullCount === 0 || !hasBytes(column.type)) return column
  const rows = new Int32Array(column.length)
  for (let row = 0; row < rows.length; row++) rows[row] = isValid(column, row) ? row : -1
  return takeColumn(column, rows)
}

function hasBytes({ kind }: DataType): boolean {
  return kind === 'utf8' || kind === 'binary' || kind === 'fixed_size_binary'
}

function valueWords(column: Column): Uint32Array[] {
  const { type, length } = column
  if (type.kind === 'null') return []
  if (type.kind === 'bool') {
    const bits = column.values as Uint8Array
    return [Uint32Array.from({ length }, (_, row) => (bits[row >>> 3]! >>> (row & 7)) & 1)]
  }
  if (hasBytes(type)) return textWords(byteRowsOf(column), length)
  if (type.kind === 'float') return floatWords(doublesOf(column), length)
  if (type.kind === 'decimal') return decimalWords(column.values as Uint8Array, type.bits / 32, length)
  if (isWide(type)) {
    const flip = type.kind === 'int' && !type.signed ? 0 : 0x80000000
    const pairs = pairsOf(column)
    const high = new Uint32Array(length)
    const low = new Uint32Array(length)
    for (let row = 0; row < length; row++) {
      high[row] = pairs[2 * row + 1]! ^ flip
      low[row] = pairs[2 * row]!
    }
    return [high, low]
  }
  const words = new Uint32Array(length)
  if (fitsInt32(type)) {
    const values = int32sOf(column)
    for (let row = 0; row < length; row++) words[row] = values[row]! ^ 0x80000000
  } else {
    words.set((column.values as Uint32Array).subarray(0, length))
  }
  return [words]
}

function textWords({ bytes, offsets }: ByteRows, length: number): Uint32Array[] {
  const first = new Uint32Array(length)
  const second = new Uint32Array(length)
  const sizes = new Uint32Array(length)
  for (let row = 0; row < length; row++) {
    const start = offsets[row]!
    const size = offsets[row + 1]! - start
    sizes[row] = Math.min(size, prefixBytes + 1)
    for (let k = 0; k < 4; k++) {
      if (k < size) first[row]! |= bytes[start + k]! << (24 - 8 * k)
      if (k + 4 < size) second[row]! |= bytes[start + k + 4]! << (24 - 8 * k)
    }
  }
  return [first, second, sizes]
}

/**
 * Encode doubles. NaN sorts after all other values, and -0 equals 0. Uses int32 operations, which are three times as
 * fast here as operations on doubles.
 */
function floatWords(doubles: Float64Array, length: number): Uint32Array[] {
  const pairs = new Int32Array(doubles.buffer, doubles.byteOffset, 2 * length)
  const high = new Uint32Array(length)
  const low = new Uint32Array(length)
  for (let row = 0; row < length; row++) {
    let upper = pairs[2 * row + 1]!
    let lower = pairs[2 * row]!
    if ((upper & 0x7fffffff) === 0 && lower === 0) upper = 0
    const exponent = upper & 0x7ff00000
    if (exponent === 0x7ff00000 && ((upper & 0xfffff) !== 0 || lower !== 0)) {
      upper = 0x7fffffff
      lower = -1
    }
    const mask = upper >> 31
    high[row] = upper ^ (mask | signBit)
    low[row] = lower ^ mask
  }
  return [high, low]
}

const signBit = 0x80000000 | 0

function decimalWords(bytes: Uint8Array, count: number, length: number): Uint32Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: count }, (_, w) => {
    const words = new Uint32Array(length)
    const flip = w === 0 ? 0x80000000 : 0
    for (let row = 0; row < length; row++) {
      words[row] = view.getInt32(4 * (count * row + count - 1 - w), true) ^ flip
    }
    return words
  })
}

/**
 * Compare two rows of a batch with one key column. Returns a negative number, 0 or a positive number if row `a` sorts
 * before, with or after row `b`.
 */
export function compareRows({ words, texts }: KeyBatch, a: number, b: number, ascending: boolean): number {
  for (let w = 0; w < words.length; w++) {
    const x = words[w]![a]!
    const y = words[w]![b]!
    if (x !== y) return x < y ? -1 : 1
  }
  const source = texts.at(-1)
  if (source == null) return 0
  const { bytes, offsets } = source
  if (offsets[a + 1]! - offsets[a]! <= prefixBytes) return 0
  const order = orderOfBytes(bytes, offsets[a]!, offsets[a + 1]!, bytes, offsets[b]!, offsets[b + 1]!)
  return ascending ? order : -order
}

/** Maximum total size of stored texts in bytes, because positions in them have 32 bits. */
const maxBytes = 2 ** 32 - 1

/**
 * Texts of one key column. Only texts with more than eight bytes are stored, because the words contain shorter texts.
 */
interface TextColumn {
  /** Whether any text has more than eight bytes. */
  areLong: boolean
  /** The stored texts, one after the other. */
  bytes: Uint8Array
  /** By row: start of its text in `bytes`, if it is stored. */
  starts: Uint32Array
  /** By row: size of its text in bytes. */
  sizes: Uint32Array
  /** Number of used bytes of `bytes`. */
  used: number
}

/** Stores rows of keys. They are numbered from 0 in the order in which they were added. */
export class KeyStore {
  readonly #types: readonly DataType[]
  readonly #orders: readonly KeyOrder[]
  #words: Uint32Array[]
  readonly #texts: (TextColumn | null)[]
  /** By word: whether its column is sorted in descending order. */
  readonly #reversed: readonly boolean[]
  #capacity: number
  #count = 0

  /** `capacity`: initial capacity in rows. The store grows when it is full. */
  constructor(types: readonly DataType[], orders: readonly KeyOrder[], capacity = 1024) {
    this.#capacity = Math.max(1, capacity)
    this.#types = types
    this.#orders = orders
    const texts: (TextColumn | null)[] = []
    const reversed: boolean[] = []
    for (const [i, type] of types.entries()) {
      const count = wordsOfType(type)
      assert(count !== null, `${type.kind} is not a key type`)
      for (let w = 0; w < count; w++) texts.push(null)
      texts.push(hasBytes(valueType(type)) ? this.#noTexts() : null)
      while (reversed.length < texts.length) reversed.push(!orders[i]!.ascending)
    }
    this.#texts = texts
    this.#reversed = reversed
    this.#words = texts.map(() => new Uint32Array(this.#capacity))
  }

  get count(): number {
    return this.#count
  }

  /** Encode key columns, in the order of the constructor's types. */
  batch(columns: readonly Column[]): KeyBatch {
    return keyBatch(columns, this.#orders)
  }

  add({ words, texts }: KeyBatch, row: number): number {
    if (this.#count === this.#capacity) this.#grow()
    const at = this.#count++
    for (let w = 0; w < words.length; w++) {
      this.#words[w]![at] = words[w]![row]!
      const source = texts[w]!
      if (source !== null) this.#addText(this.#texts[w]!, at, source, row)
    }
    return at
  }

  /**
   * Return the words of all rows, the most significant word first, if the words alone decide the order. Return null if
   * a text has more than eight bytes.
   */
  decisiveWords(): readonly Uint32Array[] | null {
    return this.#texts.some(texts => texts?.areLong === true) ? null : this.#words
  }

  /** Compare two rows. Returns a negative number, 0 or a positive number if `a` sorts before, with or after `b`. */
  compare(a: number, b: number): number {
    const words = this.#words
    for (let w = 0; w < words.length; w++) {
      const x = words[w]![a]!
      const y = words[w]![b]!
      if (x !== y) return x < y ? -1 : 1
      const texts = this.#texts[w]!
      if (texts === null || texts.sizes[a]! <= prefixBytes) continue
      const { bytes, starts, sizes } = texts
      const order = orderOfBytes(
        bytes,
        starts[a]!,
        starts[a]! + sizes[a]!,
        bytes,
        starts[b]!,
        starts[b]! + sizes[b]!,
      )
      if (order !== 0) return this.#reversed[w]! ? -order : order
    }
    return 0
  }

  /** Compare the stored row `a` with a row of a batch, like `compare`. */
  compareWith(a: number, { words, texts }: KeyBatch, row: number): number {
    for (let w = 0; w < words.length; w++) {
      const x = this.#words[w]![a]!
      const y = words[w]![row]!
      if (x !== y) return x < y ? -1 : 1
      const other = texts[w]!
      const { bytes, starts, sizes } = this.#texts[w] ?? noTexts
      if (other === null || sizes[a]! <= prefixBytes) continue
      const order = orderOfBytes(
        bytes,
        starts[a]!,
        starts[a]! + sizes[a]!,
        other.bytes,
        other.offsets[row]!,
        other.offsets[row + 1]!,
      )
      if (order !== 0) return this.#reversed[w]! ? -order : order
    }
    return 0
  }

  /** Return an empty store for the same keys. */
  emptied(capacity: number): KeyStore {
    return new KeyStore(this.#types, this.#orders, capacity)
  }

  addAll(batch: KeyBatch): void {
    const count = batch.words[0]?.length ?? 0
    for (let row = 0; row < count; row++) this.add(batch, row)
  }

  /** Return some rows as a batch. */
  picked(rows: Uint32Array): KeyBatch {
    const words = this.#words.map(all => rows.map(row => all[row]!))
    const texts = this.#texts.map(all => {
      return all === null ? null : pickedTexts(all, rows)
    })
    return { words, texts }
  }

  #noTexts(): TextColumn {
    return {
      areLong: false,
      bytes: new Uint8Array(1024),
      starts: new Uint32Array(this.#capacity),
      sizes: new Uint32Array(this.#capacity),
      used: 0,
    }
  }

  #grow(): void {
    this.#capacity *= 2
    this.#words = this.#words.map(words => grown(words, this.#capacity))
    for (const texts of this.#texts) {
      if (texts === null) continue
      texts.starts = grown(texts.starts, this.#capacity)
      texts.sizes = grown(texts.sizes, this.#capacity)
    }
  }

  #addText(texts: TextColumn, at: number, { bytes, offsets }: ByteRows, row: number): void {
    const start = offsets[row]!
    const size = offsets[row + 1]! - start
    texts.sizes[at] = size
    if (size <= prefixBytes) return
    texts.areLong = true
    if (texts.used + size > maxBytes) {
      throw invalidInput('the texts to sort or group by have more than 4 GiB, the maximum per column', {
        hint: 'sort or group fewer rows: add a filter',
      })
    }
    if (texts.used + size > texts.bytes.length) {
      const larger = new Uint8Array(Math.min(maxBytes, Math.max(2 * texts.bytes.length, texts.used + size)))
      larger.set(texts.bytes)
      texts.bytes = larger
    }
    for (let k = 0; k < size; k++) texts.bytes[texts.used + k] = bytes[start + k]!
    texts.starts[at] = texts.used
    texts.used += size
  }
}

const noTexts: TextColumn = {
  areLong: false,
  bytes: new Uint8Array(0),
  starts: new Uint32Array(0),
  sizes: new Uint32Array(0),
  used: 0,
}

function pickedTexts({ bytes, starts, sizes }: TextColumn, rows: Uint32Array): ByteRows {
  const offsets = new Int32Array(rows.length + 1)
  for (let i = 0; i < rows.length; i++) offsets[i + 1] = offsets[i]! + sizes[rows[i]!]!
  const picked = new Uint8Array(offsets[rows.length]!)
  for (let i = 0; i < rows.length; i++) {
    const size = sizes[rows[i]!]!
    // The words contain short texts, so only their size is needed here.
    if (size <= prefixBytes) continue
    const start = starts[rows[i]!]!
    for (let k = 0; k < size; k++) picked[offsets[i]! + k] = bytes[start + k]!
  }
  return { bytes: picked, offsets }
}

function grown(words: Uint32Array, capacity: number): Uint32Array {
  const larger = new Uint32Array(capacity)
  larger.set(words)
  return larger
}

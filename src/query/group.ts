/** Groups rows by their keys, in a hash table with open addressing that is at most half full. NULL equals NULL. */
import type { Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { emptyColumn } from '../arrow/fill.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType } from '../arrow/types.js'
import { decoded } from '../sql/kernels/dictionary.js'
import { prefixBytes } from '../sql/kernels/sort-texts.js'
import { valueType } from '../sql/values/types.js'
import { type KeyBatch, KeyStore } from './key-store.js'

/** Assigns a group number to each distinct key. Groups are numbered from 0 in the order of their first rows. */
export class Grouper {
  readonly #store: KeyStore
  readonly #types: readonly DataType[]
  readonly #seed: number
  /** By key column: the values of the distinct keys, in pieces. */
  readonly #pieces: Column[][]
  /** The hash table. Each element is a group number plus 1, or 0 if it is empty. */
  #slots = new Uint32Array(1024)
  /** By group: the hash of its key. */
  #hashes = new Uint32Array(512)

  /**
   * `types`: types of the key columns. `seed`: seed of the hash function. It must be unpredictable, so that a client
   * cannot choose values that all collide. The result does not depend on it.
   */
  constructor(types: readonly DataType[], seed: number) {
    this.#types = types
    this.#seed = seed
    this.#store = new KeyStore(
      types,
      types.map(() => ({ ascending: true, nullsFirst: true })),
    )
    this.#pieces = types.map(() => [])
  }

  /** Number of groups so far. */
  get count(): number {
    return this.#store.count
  }

  /** Return the group of every row. Adds a group for each new key. `columns`: the key columns, at least one. */
  add(columns: readonly Column[]): Uint32Array {
    const { length } = columns[0]!
    const batch = this.#store.batch(columns)
    const hashes = hashRows(batch, length, this.#seed)
    const groups = new Uint32Array(length)
    const fresh: number[] = []
    for (let row = 0; row < length; row++) {
      const known = this.count
      groups[row] = this.#groupOf(batch, row, hashes[row]!)
      if (this.count > known) fresh.push(row)
    }
    if (fresh.length > 0) {
      const rows = Uint32Array.from(fresh)
      for (const [k, column] of columns.entries()) this.#pieces[k]!.push(takeColumn(decoded(column), rows))
    }
    return groups
  }

  /** Return the group of every row, or -1 if its key has no group. `columns`: the key columns, as for `add`. */
  find(columns: readonly Column[]): Int32Array {
    const { length } = columns[0]!
    const batch = this.#store.batch(columns)
    const hashes = hashRows(batch, length, this.#seed)
    const groups = new Int32Array(length)
    for (let row = 0; row < length; row++) {
      groups[row] = this.#slots[this.#slotOf(batch, row, hashes[row]!)]! - 1
    }
    return groups
  }

  /** Return the keys of all groups: one column per key, one row per group. Dictionaries are decoded. */
  keys(): Column[] {
    return this.#pieces.map((pieces, k) =>
      pieces.length === 0 ? emptyColumn(valueType(this.#types[k]!)) : concatColumns(pieces),
    )
  }

  /** Return the index in `#slots` of a key's group, or of the empty element where it belongs. */
  #slotOf(batch: KeyBatch, row: number, hash: number): number {
    const mask = this.#slots.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const group = this.#slots[slot]! - 1
      if (group === -1) return slot
      if (this.#hashes[group] === hash && this.#store.compareWith(group, batch, row) === 0) return slot
    }
  }

  #groupOf(batch: KeyBatch, row: number, hash: number): number {
    const slot = this.#slotOf(batch, row, hash)
    if (this.#slots[slot] !== 0) return this.#slots[slot]! - 1
    const group = this.#store.add(batch, row)
    this.#hashes[group] = hash
    this.#slots[slot] = group + 1
    if (2 * this.count >= this.#slots.length) this.#grow()
    return group
  }

  #grow(): void {
    const hashes = new Uint32Array(this.#slots.length)
    hashes.set(this.#hashes)
    this.#hashes = hashes
    const slots = new Uint32Array(2 * this.#slots.length)
    const mask = slots.length - 1
    for (let group = 0; group < this.count; group++) {
      let slot = hashes[group]! & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = group + 1
    }
    this.#slots = slots
  }
}

/** Hash every row of a batch. */
function hashRows({ words, texts }: KeyBatch, length: number, seed: number): Uint32Array {
  const hashes = new Uint32Array(length).fill(seed)
  for (let w = 0; w < words.length; w++) {
    const column = words[w]!
    for (let row = 0; row < length; row++) hashes[row] = mixed(hashes[row]!, column[row]! ^ seed)
    const source = texts[w]!
    if (source === null) continue
    const { bytes, offsets } = source
    for (let row = 0; row < length; row++) {
      let hash = hashes[row]!
      for (let k = offsets[row]! + prefixBytes; k < offsets[row + 1]!; k++)
        hash = mixed(hash, bytes[k]! ^ seed)
      hashes[row] = hash
    }
  }
  return hashes
}

/**
 * Mix a word into a hash: one round of MurmurHash3 (A. Appleby, public domain). Then mix the high bits into the low
 * bits, because the low bits select the element of the hash table.
 */
function mixed(hash: number, word: number): number {
  let k = Math.imul(word, 0xcc9e2d51)
  k = (k << 15) | (k >>> 17)
  let h = hash ^ Math.imul(k, 0x1b873593)
  h = (h << 13) | (h >>> 19)
  h = Math.imul(h, 5) + 0xe6546b64
  return h ^ (h >>> 16)
}

/**
 * Byte strings with a number each, in an open-addressing table: nothing is allocated for one that is known. What is looked at first lies
 * together, so most lookups wait for memory twice: for the slot, and for the key. Keys lie one behind the other.
 */

/** What `find` gives for a key that it does not know; no value. */
export const absent = -0x80000000

const firstSlots = 1024

/**
 * Slots behind its own in which a key may stand. Where no more than half are taken hardly any run is as long, unless somebody chose keys for
 * having one hash: those go into a map, whose hashes nobody can foresee.
 */
const reach = 256

/** Words of a slot: hash of the key, where it starts, its length plus 1 (0: an empty slot), its value. */
const slotWords = 4

/** About what an entry of a map takes beside the characters of its key. */
const otherBytes = 64

export class TokenTable {
  #slots = new Int32Array(slotWords * firstSlots)
  #mask = firstSlots - 1
  #count = 0
  #keys = new Uint8Array(8 * firstSlots)
  #keysEnd = 0
  /** Those that found no slot, by their bytes as Latin-1. */
  readonly #others = new Map<string, number>()
  #othersBytes = 0

  get bytes(): number {
    return this.#slots.byteLength + this.#keys.byteLength + this.#othersBytes
  }

  /** `rolled`: all of its bytes by `rolledBy`. */
  find(bytes: Uint8Array, from: number, to: number, rolled: number): number {
    const slots = this.#slots
    const hash = mixed(rolled)
    for (let slot = hash & this.#mask, left = reach; left > 0; slot = (slot + 1) & this.#mask, left--) {
      const at = slotWords * slot
      const length = slots[at + 2]! - 1
      if (length < 0) break
      if (slots[at] === hash && length === to - from && this.#isAt(slots[at + 1]! >>> 0, bytes, from, to)) {
        return slots[at + 3]!
      }
    }
    return this.#others.size === 0 ? absent : (this.#others.get(latin1(bytes, from, to)) ?? absent)
  }

  /** Only for what `find` does not know. */
  add(bytes: Uint8Array, from: number, to: number, rolled: number, value: number): void {
    if (2 * ++this.#count > this.#mask) this.#grow()
    const hash = mixed(rolled)
    const slot = this.#emptySlot(hash)
    if (slot === absent) {
      this.#addOther(bytes, from, to, value)
      return
    }
    const start = this.#keysEnd
    this.#keysEnd += to - from
    if (this.#keysEnd > this.#keys.length) this.#keys = enlarged(this.#keys, 2 * this.#keysEnd)
    this.#keys.set(bytes.subarray(from, to), start)
    const at = slotWords * slot
    this.#slots[at] = hash
    this.#slots[at + 1] = start
    this.#slots[at + 2] = to - from + 1
    this.#slots[at + 3] = value
  }

  #isAt(start: number, bytes: Uint8Array, from: number, to: number): boolean {
    const keys = this.#keys
    for (let key = start, at = from; at < to; key++, at++) if (keys[key] !== bytes[at]) return false
    return true
  }

  /** `absent`: there is none where `find` looks. */
  #emptySlot(hash: number): number {
    for (let slot = hash & this.#mask, left = reach; left > 0; slot = (slot + 1) & this.#mask, left--) {
      if (this.#slots[slotWords * slot + 2] === 0) return slot
    }
    return absent
  }

  /** At most half of the slots are taken. */
  #grow(): void {
    const old = this.#slots
    this.#slots = new Int32Array(2 * old.length)
    this.#mask = 2 * this.#mask + 1
    for (let at = 0; at < old.length; at += slotWords) {
      if (old[at + 2] === 0) continue
      const slot = this.#emptySlot(old[at]!)
      if (slot === absent) {
        const start = old[at + 1]! >>> 0
        this.#addOther(this.#keys, start, start + old[at + 2]! - 1, old[at + 3]!)
        continue
      }
      for (let word = 0; word < slotWords; word++) this.#slots[slotWords * slot + word] = old[at + word]!
    }
  }

  #addOther(bytes: Uint8Array, from: number, to: number, value: number): void {
    this.#others.set(latin1(bytes, from, to), value)
    this.#othersBytes += otherBytes + to - from
  }
}

function latin1(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1')
}

/** FNV-1a, of nothing, and of one byte more: who reads the bytes anyway makes it on the way. */
export const rolledOfNone = 0x811c9dc5 | 0

export function rolledBy(byte: number, rolled: number): number {
  return Math.imul(rolled ^ byte, 0x01000193)
}

export function rolledOf(bytes: Uint8Array, from: number, to: number): number {
  let rolled = rolledOfNone
  for (let at = from; at < to; at++) rolled = rolledBy(bytes[at]!, rolled)
  return rolled
}

/** The low bits choose the slot, so they must depend on all others. */
function mixed(rolled: number): number {
  const hash = Math.imul(rolled ^ (rolled >>> 15), 0x2c1b3c6d)
  return hash ^ (hash >>> 13)
}

/** The same with room for `length`. */
export function enlarged<A extends Uint8Array | Uint32Array>(array: A, length: number): A {
  const larger = new (array.constructor as new (length: number) => A)(length)
  larger.set(array)
  return larger
}

/**
 * Provides a hash table from byte strings to numbers, with open addressing. A lookup of a known key allocates nothing.
 * The fields of a slot are adjacent in memory, and all keys are stored in one array. Therefore most lookups have only
 * two cache misses: one for the slot and one for the key.
 */

/** The result of `find` for an unknown key. No key may have this value. */
export const absent = -0x80000000

const firstSlots = 1024

/**
 * Maximum number of slots that a lookup probes. At most half of the slots are taken, so longer probe sequences hardly
 * occur unless an attacker has chosen keys with equal hashes. A key that would need more probes is stored in a `Map`,
 * because an attacker cannot predict the hashes of a `Map`.
 */
const maxProbes = 256

/** Words per slot: hash of the key, start of the key, length of the key plus 1 (0: empty slot), value. */
const slotWords = 4

/** Approximate overhead in bytes of an entry of the `Map`. */
const otherBytes = 64

/** The hash table. */
export class TokenTable {
  #slots = new Int32Array(slotWords * firstSlots)
  #mask = firstSlots - 1
  #count = 0
  #keys = new Uint8Array(8 * firstSlots)
  #keysEnd = 0
  /** Values of the keys that have no slot. The keys are Latin-1 strings. */
  readonly #others = new Map<string, number>()
  #othersBytes = 0

  get bytes(): number {
    return this.#slots.byteLength + this.#keys.byteLength + this.#othersBytes
  }

  /**
   * Return the value of the key in bytes `from` to `to - 1`, or `absent`. `rolled`: the hash of these bytes
   * (`rolledBy`).
   */
  find(bytes: Uint8Array, from: number, to: number, rolled: number): number {
    const slots = this.#slots
    const hash = mixed(rolled)
    for (let slot = hash & this.#mask, left = maxProbes; left > 0; slot = (slot + 1) & this.#mask, left--) {
      const at = slotWords * slot
      const length = slots[at + 2]! - 1
      if (length < 0) break
      if (slots[at] === hash && length === to - from && this.#isAt(slots[at + 1]! >>> 0, bytes, from, to)) {
        return slots[at + 3]!
      }
    }
    return this.#others.size === 0 ? absent : (this.#others.get(latin1(bytes, from, to)) ?? absent)
  }

  /** Add a key. The key must not be in the table. */
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

  /** Return the first empty slot that `find` probes. Return `absent` if there is none within `maxProbes`. */
  #emptySlot(hash: number): number {
    for (let slot = hash & this.#mask, left = maxProbes; left > 0; slot = (slot + 1) & this.#mask, left--) {
      if (this.#slots[slotWords * slot + 2] === 0) return slot
    }
    return absent
  }

  /** Double the number of slots, so that at most half of them are taken. */
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

/** FNV-1a hash of the empty string. */
export const rolledOfNone = 0x811c9dc5 | 0

/**
 * Extend an FNV-1a hash by one byte. With this function, a caller can compute the hash in the loop that reads the
 * bytes.
 */
export function rolledBy(byte: number, rolled: number): number {
  return Math.imul(rolled ^ byte, 0x01000193)
}

/** Return the FNV-1a hash of a byte string. */
export function rolledOf(bytes: Uint8Array, from: number, to: number): number {
  let rolled = rolledOfNone
  for (let at = from; at < to; at++) rolled = rolledBy(bytes[at]!, rolled)
  return rolled
}

/** Mix all bits of a hash into its low bits, which choose the slot. */
function mixed(rolled: number): number {
  const hash = Math.imul(rolled ^ (rolled >>> 15), 0x2c1b3c6d)
  return hash ^ (hash >>> 13)
}

/** Return a copy of an array with `length` elements. */
export function enlarged<A extends Uint8Array | Uint32Array>(array: A, length: number): A {
  const larger = new (array.constructor as new (length: number) => A)(length)
  larger.set(array)
  return larger
}

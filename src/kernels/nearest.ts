/** Keeps the k nearest of the offered rows in a binary max-heap, ordered by (distance, ordinal). */

/** The rows that a search found, usually sorted by (distance, ordinal). Both arrays have the same length. */
export interface Hits {
  readonly distances: Float32Array
  /** Ordinals of the rows in their segment. */
  readonly ordinals: Uint32Array
}

/**
 * Copy the result of the kernel after it closed the heap: pairs of (ordinal u32, distance f32). `found`: number of
 * pairs.
 */
export function readHits(buffer: ArrayBufferLike, heap: number, found: number): Hits {
  const words = new Uint32Array(buffer, heap, found * 2)
  const floats = new Float32Array(buffer, heap, found * 2)
  const ordinals = new Uint32Array(found)
  const distances = new Float32Array(found)
  for (let i = 0; i < found; i++) {
    ordinals[i] = words[2 * i]!
    distances[i] = floats[2 * i + 1]!
  }
  return { distances, ordinals }
}

/**
 * Copy the rows of the kernel's heap while it is open. The heap has 64-bit keys. The lower half of a key is the
 * ordinal. The upper half is the distance, mapped so that the order of unsigned integers is the order of distances.
 * `found`: number of keys.
 */
export function readKeys(buffer: ArrayBufferLike, heap: number, found: number): Hits {
  const words = new Uint32Array(buffer, heap, found * 2)
  const ordinals = new Uint32Array(found)
  const distances = new Float32Array(found)
  const bits = new Int32Array(distances.buffer)
  for (let i = 0; i < found; i++) {
    const key = words[2 * i + 1]! | 0
    ordinals[i] = words[2 * i]!
    bits[i] = key ^ (~(key >> 31) | 0x8000_0000)
  }
  return { distances, ordinals }
}

/** The reference implementation of `wasm/nearest.ts`. */
export class Nearest {
  readonly #distances: Float32Array
  readonly #ordinals: Uint32Array
  #size = 0

  constructor(k: number) {
    this.#distances = new Float32Array(k)
    this.#ordinals = new Uint32Array(k)
  }

  /** Offer a row. `distance` must be a float32 and not NaN. Rows may be offered in any order. */
  offer(distance: number, ordinal: number): void {
    if (this.#size < this.#distances.length) this.#rise(this.#size++, distance, ordinal)
    else if (this.#size > 0 && this.#isBelow(distance, ordinal, 0)) this.#sink(0, distance, ordinal)
  }

  /** Return the rows kept so far, in any order. */
  held(): Hits {
    return { distances: this.#distances.slice(0, this.#size), ordinals: this.#ordinals.slice(0, this.#size) }
  }

  /** Return the kept rows, sorted by (distance, ordinal), and remove them. */
  take(): Hits {
    const found = this.#size
    while (this.#size > 1) {
      const last = --this.#size
      const distance = this.#distances[last]!
      const ordinal = this.#ordinals[last]!
      this.#move(0, last)
      this.#sink(0, distance, ordinal)
    }
    this.#size = 0
    return { distances: this.#distances.slice(0, found), ordinals: this.#ordinals.slice(0, found) }
  }

  #rise(hole: number, distance: number, ordinal: number): void {
    while (hole > 0) {
      const parent = (hole - 1) >>> 1
      if (this.#isBelow(distance, ordinal, parent)) break
      this.#move(parent, hole)
      hole = parent
    }
    this.#place(hole, distance, ordinal)
  }

  #sink(hole: number, distance: number, ordinal: number): void {
    for (let child = 2 * hole + 1; child < this.#size; child = 2 * hole + 1) {
      const right = child + 1
      if (right < this.#size && this.#isBelow(this.#distances[child]!, this.#ordinals[child]!, right))
        child = right
      if (!this.#isBelow(distance, ordinal, child)) break
      this.#move(child, hole)
      hole = child
    }
    this.#place(hole, distance, ordinal)
  }

  /** Return whether a row ranks before the kept row at `slot`. */
  #isBelow(distance: number, ordinal: number, slot: number): boolean {
    const other = this.#distances[slot]!
    return distance < other || (distance === other && ordinal < this.#ordinals[slot]!)
  }

  #move(from: number, to: number): void {
    this.#place(to, this.#distances[from]!, this.#ordinals[from]!)
  }

  #place(slot: number, distance: number, ordinal: number): void {
    this.#distances[slot] = distance
    this.#ordinals[slot] = ordinal
  }
}

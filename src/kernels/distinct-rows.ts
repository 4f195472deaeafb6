/** Finds distinct vectors. */
import type { Pacer } from '../primitives/pacer.js'

/** Marks an empty element of the hash table. */
const free = -1

/** Number of rows that are processed between two checks whether to let the event loop run. */
const rowsAtOnce = 1024

/**
 * Return the first `count` rows with distinct vectors, in the order `order`. Return fewer rows if there are fewer
 * distinct vectors.
 */
export async function distinctRows(
  vectors: Float32Array,
  dim: number,
  order: Iterable<number>,
  count: number,
  pacer: Pacer,
): Promise<Uint32Array> {
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * count + 1))).fill(free)
  const mask = slots.length - 1
  const words = new Int32Array(vectors.buffer, vectors.byteOffset, vectors.length)
  const found = new Uint32Array(count)
  let size = 0
  let seen = 0
  for (const row of order) {
    if (size === count) break
    if (seen++ % rowsAtOnce === 0) await pacer.turn()
    let slot = hashOf(words, row * dim, dim) & mask
    while (slots[slot] !== free && !isSame(vectors, dim, slots[slot]!, row)) slot = (slot + 1) & mask
    if (slots[slot] !== free) continue
    slots[slot] = row
    found[size++] = row
  }
  return found.subarray(0, size)
}

/** Hash a vector. The hash ignores signs, so that vectors with 0 and -0 have the same hash. */
function hashOf(words: Int32Array, at: number, dim: number): number {
  let hash = dim
  for (let i = at; i < at + dim; i++) {
    hash = Math.imul(hash ^ (words[i]! << 1), 0x9e3779b1)
    hash ^= hash >>> 15
  }
  return hash
}

function isSame(vectors: Float32Array, dim: number, x: number, y: number): boolean {
  for (let i = 0; i < dim; i++) if (vectors[x * dim + i] !== vectors[y * dim + i]) return false
  return true
}

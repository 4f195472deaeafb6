/** Data from a seed, the same on every machine. */

/** Uniform numbers in [0, 1) with 32 random bits each (mulberry32, Tommy Ettinger, public domain). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Fills `target` with uniform numbers of [-1, 1). */
export function fillFloats(target: Float32Array, random: () => number): Float32Array {
  for (let i = 0; i < target.length; i++) target[i] = 2 * random() - 1
  return target
}

/** Fills `target` with uniform bytes. */
export function fillBytes(target: Uint8Array, random: () => number): Uint8Array {
  for (let i = 0; i < target.length; i++) target[i] = 256 * random()
  return target
}

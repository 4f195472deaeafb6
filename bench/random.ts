/** Data from a seed, the same on every machine. */

export { seededRandom } from '../src/primitives/seeded-random.js'

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

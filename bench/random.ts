/** Generates data from a seed. The data is the same on every machine. */

export { seededRandom } from '../src/primitives/seeded-random.js'

/** Fill `target` with uniform random numbers in [-1, 1). */
export function fillFloats(target: Float32Array, random: () => number): Float32Array {
  for (let i = 0; i < target.length; i++) target[i] = 2 * random() - 1
  return target
}

/** Fill `target` with uniform random bytes. */
export function fillBytes(target: Uint8Array, random: () => number): Uint8Array {
  for (let i = 0; i < target.length; i++) target[i] = 256 * random()
  return target
}

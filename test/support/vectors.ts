/** Vectors from a seed. */

/** Numbers of a normal distribution around 0, of variance 1 (Box and Muller). */
export function gaussian(length: number, random: () => number): Float32Array {
  return new Float32Array(length).map(
    () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
  )
}

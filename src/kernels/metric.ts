/**
 * The definition of distances; smaller is nearer (rule A-045):
 *
 * - l2 is the squared Euclidean distance
 * - cosine is 1 - cos
 * - dot is 1 - dot product
 * - hamming is the number of different bits, for rows and queries of bytes only
 *
 * Results are float32. The arithmetic is fixed to the last bit, so that the WebAssembly kernel and the reference
 * implementation rank alike on any machine:
 *
 * - Floats are summed in float32: element i goes to lane i mod 16, and the lanes are summed in the order of `fold` in
 *   `exact-plain.ts`. Bytes are converted to float32 first.
 * - Rows of bytes with a query whose elements are all integers of 0..255 are summed exactly, and rounded once.
 * - Cosine ends in float64 (`cosineDistance`); l2 and dot end in one float32 operation.
 * - If a sum is NaN (overflow to both infinities), the distance of the row is Infinity, so the row ranks last.
 */
export type Metric = 'l2' | 'cosine' | 'dot' | 'hamming'

/** Return whether every element is an integer of 0..255, so that sums with rows of bytes are exact. */
export function holdsBytes(query: Float32Array): boolean {
  for (let i = 0; i < query.length; i++) {
    const value = query[i]!
    if (value !== (value & 255)) return false
  }
  return true
}

/**
 * Return 1 - cos, from the product of two vectors and their sums of squares. The result is in 0..2 despite rounding, and
 * exactly 0 for a vector with itself. A vector without direction (all zeros, or with a norm beyond float32) has distance
 * 1 from everything.
 */
export function cosineDistance(product: number, rowNorm: number, norm: number): number {
  const norms = rowNorm * norm
  const ratio = product / Math.sqrt(norms)
  if (Math.abs(ratio) <= 1) return Math.fround(1 - ratio)
  if (norms > 0 && ratio > 1) return 0
  if (norms > 0 && ratio < -1) return 2
  return 1
}

/**
 * The metrics (rule A-045). For all of them, a smaller distance means a nearer row:
 *
 * - l2 is the squared Euclidean distance.
 * - cosine is 1 - cos.
 * - dot is 1 - dot product.
 * - hamming is the number of different bits. It is only for rows and queries of bytes.
 *
 * Distances are float32. Every operation and its order is fixed, so that the WebAssembly kernel and the reference
 * implementation compute the same bits on every machine:
 *
 * - Floats are summed in float32. Element i is added to lane i mod 16, and then the lanes are summed in the order of
 *   `fold` in `exact-plain.ts`. Rows of bytes are first converted to float32.
 * - If rows are bytes, and all elements of the query are integers from 0 to 255, the sum is an exact integer, which is
 *   rounded once.
 * - The last operations of cosine are in float64 (`cosineDistance`). The last operation of l2 and dot is in float32.
 * - If a sum overflows to both infinities, it is NaN. Then the distance of the row is Infinity, so the row ranks last.
 */
export type Metric = 'l2' | 'cosine' | 'dot' | 'hamming'

/** Return whether every element is an integer from 0 to 255. Then distances from rows of bytes are computed exactly. */
export function holdsBytes(query: Float32Array): boolean {
  for (let i = 0; i < query.length; i++) {
    const value = query[i]!
    if (value !== (value & 255)) return false
  }
  return true
}

/**
 * Return 1 - cos. `product`: dot product of the two vectors. `rowNorm` and `norm`: their sums of squares. In spite of
 * rounding, the result is from 0 to 2, and exactly 0 for two equal vectors. A vector without a direction (all elements
 * are zero, or the norm exceeds float32) has the distance 1 from every vector.
 */
export function cosineDistance(product: number, rowNorm: number, norm: number): number {
  const norms = rowNorm * norm
  const ratio = product / Math.sqrt(norms)
  if (Math.abs(ratio) <= 1) return Math.fround(1 - ratio)
  if (norms > 0 && ratio > 1) return 0
  if (norms > 0 && ratio < -1) return 2
  return 1
}

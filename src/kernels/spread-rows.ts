/**
 * Chooses rows that are far apart: the probability of each next row grows with its squared distance from the chosen
 * ones (k-means++, Arthur & Vassilvitskii 2007).
 */
import type { Pacer } from '../primitives/pacer.js'
import { type Centroids, squaredDistance } from './assigner.js'

/** Choose `count` rows, at most as many as there are. `random`: uniform numbers in [0, 1). */
export async function spreadRows(
  rows: Centroids,
  count: number,
  random: () => number,
  pacer: Pacer,
): Promise<Uint32Array> {
  const { values, dim } = rows
  const chosen = new Uint32Array(count)
  /** Distance of each row from the nearest chosen row. */
  const distances = new Float64Array(rows.count).fill(Infinity)
  for (let i = 1; i < count; i++) {
    await pacer.turn()
    const last = chosen[i - 1]! * dim
    let total = 0
    for (let row = 0; row < rows.count; row++) {
      const distance = squaredDistance(values, row * dim, values, last, dim)
      if (distance < distances[row]!) distances[row] = distance
      total += distances[row]!
    }
    chosen[i] = rowAt(distances, random() * total)
  }
  return chosen
}

/**
 * Return the row at which the running sum of the distances exceeds `sum`. If rounding leaves no such row, return the
 * last row not chosen.
 */
function rowAt(distances: Float64Array, sum: number): number {
  let last = 0
  for (let row = 0; row < distances.length; row++) {
    if (distances[row] === 0) continue
    last = row
    sum -= distances[row]!
    if (sum < 0) break
  }
  return last
}

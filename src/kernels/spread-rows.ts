/**
 * Chooses rows that are far apart (k-means++, Arthur & Vassilvitskii 2007). The probability of choosing a row is
 * proportional to its squared distance from the nearest row that is already chosen.
 */
import type { Pacer } from '../primitives/pacer.js'
import { type Centroids, squaredDistance } from './assigner.js'

/** Choose `count` of the rows, among them the first row. `random`: returns uniform random numbers in [0, 1). */
export async function spreadRows(
  rows: Centroids,
  count: number,
  random: () => number,
  pacer: Pacer,
): Promise<Uint32Array> {
  const { values, dim } = rows
  const chosen = new Uint32Array(count)
  // By row: the squared distance from the nearest chosen row.
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
 * Return the first row at which the running sum of the distances exceeds `sum`. If there is none because of rounding,
 * return the last row that is not chosen.
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

/**
 * Finds the k nearest of the rows of a memory (AssemblyScript). The reference implementation is `../exact-plain.ts`.
 */
import { measureList, measureRange } from './distance'
import { close, offer, open, worst } from './nearest'

/** Number of rows that are measured before they are offered. Their distances stay in the L1 cache. */
const BLOCK_ROWS: u32 = 1024

/**
 * The rows to measure. EVERY_ROW: measure and offer all rows. FILTERED_ROWS: measure all rows, but offer only rows
 * whose bit is set. This is faster if most bits are set, because reading all rows in sequence is faster than skipping
 * some. SELECTED_ROWS: measure and offer only rows whose bit is set.
 */
const EVERY_ROW = 0
const FILTERED_ROWS = 1
const SELECTED_ROWS = 2

/**
 * Write the `k` nearest rows (at least 1) as pairs (ordinal u32, distance f32) to `heap`, sorted by (distance,
 * ordinal). Returns their number. `visit`: one of the constants above. `bits`: address of one bit per row. `list` and
 * `distances`: addresses of BLOCK_ROWS words of scratch. `heap`: address of `k` u64s.
 */
export function search(
  kind: i32,
  metric: i32,
  rows: u32,
  dim: usize,
  query: usize,
  norm: f64,
  visit: i32,
  bits: usize,
  list: usize,
  distances: usize,
  heap: usize,
  k: i32,
  lower: f64,
  upper: f64,
): i32 {
  open(heap, k, lower, upper, visit == FILTERED_ROWS ? bits : 0)
  if (visit == SELECTED_ROWS) {
    let pending: u32 = 0
    for (let base: u32 = 0; base < rows; base += 32) {
      let word = load<u32>(bits + ((<usize>(base >> 5)) << 2))
      for (; word != 0; word &= word - 1) {
        store<u32>(list + ((<usize>pending) << 2), base + ctz(word))
        pending++
      }
      if (pending > BLOCK_ROWS - 32 || base + 32 >= rows) {
        measureList(kind, metric, list, pending, dim, query, norm, distances)
        for (let i: u32 = 0; i < pending; i++) {
          const d = load<f32>(distances + ((<usize>i) << 2))
          if (!(d >= worst)) offer(d, load<u32>(list + ((<usize>i) << 2)))
        }
        pending = 0
      }
    }
  } else {
    for (let first: u32 = 0; first < rows; first += BLOCK_ROWS) {
      const count = min(BLOCK_ROWS, rows - first)
      measureRange(kind, metric, first, count, dim, query, norm, distances)
      for (let i: u32 = 0; i < count; i += 4) {
        const four = v128.load(distances + ((<usize>i) << 2))
        if (i32x4.all_true(f32x4.ge(four, f32x4.splat(worst)))) continue
        for (let j = i; j < min(i + 4, count); j++) {
          const d = load<f32>(distances + ((<usize>j) << 2))
          if (!(d >= worst)) offer(d, first + j)
        }
      }
    }
  }
  return close()
}

/**
 * Return the sum of all 32-bit words in `bytes` bytes from address 0. `bytes` must be a multiple of 64. Benchmarks
 * measure the time to read the memory with it.
 */
export function sumWords(bytes: usize): i32 {
  let a0 = i32x4.splat(0),
    a1 = a0,
    a2 = a0,
    a3 = a0
  for (let i: usize = 0; i < bytes; i += 64) {
    a0 = i32x4.add(a0, v128.load(i))
    a1 = i32x4.add(a1, v128.load(i, 16))
    a2 = i32x4.add(a2, v128.load(i, 32))
    a3 = i32x4.add(a3, v128.load(i, 48))
  }
  const v = i32x4.add(i32x4.add(a0, a1), i32x4.add(a2, a3))
  return (
    i32x4.extract_lane(v, 0) + i32x4.extract_lane(v, 1) + i32x4.extract_lane(v, 2) + i32x4.extract_lane(v, 3)
  )
}

/**
 * Finds the nearest rows of several lists (AssemblyScript). The caller calls `openNearest`, then scans any number of
 * lists, then calls `closeNearest`. The reference implementations are `../nearest-lists.ts` and `../scan-lists.ts`.
 * Terms are summed in the same order as in `./distance`.
 *
 * The rows of a list are consecutive. Rows and queries are padded with zeros to whole steps, so that no masks are
 * needed. Ordinals may be in any order. So a row with the same distance as the worst kept row may rank before that row.
 */
import { addBits, fold, foldIntegers } from './distance'
import { close, held, offer, open, worst } from './nearest'

/** Number of rows that are measured before they are offered. Their distances stay in the L1 cache. */
const BLOCK_ROWS: u32 = 1024
/** Number of bytes ahead of the current address at which cache lines of the list are prefetched. */
const READ_AHEAD: usize = 512

export function openNearest(heap: usize, k: i32, allowed: usize): void {
  open(heap, k, NaN, NaN, allowed)
}

/**
 * Offer `count` rows with the distances at `distances`, which are f32s, plus `base`. The f32s are read up to a multiple
 * of four.
 */
export function offerNearest(distances: usize, ordinals: usize, count: u32, base: f32): void {
  for (let i: u32 = 0; i < count; i += 4) {
    const four = f32x4.add(v128.load(distances + (<usize>i << 2)), f32x4.splat(base))
    if (i32x4.all_true(f32x4.gt(four, f32x4.splat(worst)))) continue
    for (let j = i; j < min(i + 4, count); j++) {
      const d = load<f32>(distances + (<usize>j << 2)) + base
      if (!(d > worst)) offer(d, load<u32>(ordinals + (<usize>j << 2)))
    }
  }
}

export function heldNearest(): i32 {
  return held()
}

export function closeNearest(): i32 {
  return close()
}

/** Scan rows of f32s. `stride`: bytes of a row, a multiple of 64. */
export function scanFloats(
  list: usize, count: u32, stride: usize, query: usize, distances: usize, ordinals: usize, base: f32,
): void {
  const end = list + <usize>count * stride
  let row = list
  for (let first: u32 = 0; first < count; first += BLOCK_ROWS) {
    const block = min(BLOCK_ROWS, count - first)
    for (let i: u32 = 0; i < block; i++) {
      const ahead = end - row > stride + READ_AHEAD ? READ_AHEAD : 0
      store<f32>(distances + (<usize>i << 2), squaresOfFloats(row, stride, query, ahead))
      row += stride
    }
    offerNearest(distances, ordinals + (<usize>first << 2), block, base)
  }
}

/**
 * Scan rows of bytes. `stride`: bytes of a row, a multiple of 16. A distance is `scale` times the exact squared
 * Euclidean distance. The lanes are summed for four rows together, because for a single row this would take as long as
 * the rest.
 */
export function scanBytes(
  list: usize, count: u32, stride: usize, query: usize, scale: f32, distances: usize, ordinals: usize, base: f32,
): void {
  let row = list
  for (let first: u32 = 0; first < count; first += BLOCK_ROWS) {
    const block = min(BLOCK_ROWS, count - first)
    const whole = block & ~3
    for (let i: u32 = 0; i < whole; i += 4) {
      const sums = foldFour(
        squaresOfBytes(row, stride, query),
        squaresOfBytes(row + stride, stride, query),
        squaresOfBytes(row + 2 * stride, stride, query),
        squaresOfBytes(row + 3 * stride, stride, query),
      )
      const scaled = f32x4.mul(f32x4.convert_i32x4_u(sums), f32x4.splat(scale))
      v128.store(distances + (<usize>i << 2), scaled)
      row += stride << 2
    }
    for (let i = whole; i < block; i++) {
      const sum = foldFour(squaresOfBytes(row, stride, query), i32x4.splat(0), i32x4.splat(0), i32x4.splat(0))
      store<f32>(distances + (<usize>i << 2), <f32>(<u32>i32x4.extract_lane(sum, 0)) * scale)
      row += stride
    }
    offerNearest(distances, ordinals + (<usize>first << 2), block, base)
  }
}

/** Scan rows of bits. `stride`: bytes of a row, a multiple of 16. A distance is the number of different bits. */
export function scanBits(
  list: usize, count: u32, stride: usize, query: usize, distances: usize, ordinals: usize, base: f32,
): void {
  let row = list
  for (let first: u32 = 0; first < count; first += BLOCK_ROWS) {
    const block = min(BLOCK_ROWS, count - first)
    for (let i: u32 = 0; i < block; i++) {
      let sums = i32x4.splat(0)
      for (let at: usize = 0; at < stride; at += 16)
        sums = addBits(sums, v128.xor(v128.load(row + at), v128.load(query + at)))
      store<f32>(distances + (<usize>i << 2), <f32>foldIntegers(sums, i32x4.splat(0)))
      row += stride
    }
    offerNearest(distances, ordinals + (<usize>first << 2), block, base)
  }
}

@inline
function squaresOfFloats(row: usize, stride: usize, query: usize, ahead: usize): f32 {
  let a0 = f32x4.splat(0), a1 = a0, a2 = a0, a3 = a0
  for (let i: usize = 0; i < stride; i += 64) {
    load<u8>(row + i + ahead)
    const x = row + i, q = query + i
    const g0 = f32x4.sub(v128.load(x), v128.load(q))
    const g1 = f32x4.sub(v128.load(x, 16), v128.load(q, 16))
    const g2 = f32x4.sub(v128.load(x, 32), v128.load(q, 32))
    const g3 = f32x4.sub(v128.load(x, 48), v128.load(q, 48))
    a0 = f32x4.add(a0, f32x4.mul(g0, g0))
    a1 = f32x4.add(a1, f32x4.mul(g1, g1))
    a2 = f32x4.add(a2, f32x4.mul(g2, g2))
    a3 = f32x4.add(a3, f32x4.mul(g3, g3))
  }
  return fold(a0, a1, a2, a3)
}

/** Return the squared distance of a row as four partial sums. */
@inline
function squaresOfBytes(row: usize, stride: usize, query: usize): v128 {
  let a0 = i32x4.splat(0), a1 = a0
  for (let i: usize = 0; i < stride; i += 16) {
    const x = row + i, q = query + i
    const g0 = i16x8.sub(v128.load8x8_u(x), v128.load8x8_u(q))
    const g1 = i16x8.sub(v128.load8x8_u(x, 8), v128.load8x8_u(q, 8))
    a0 = i32x4.add(a0, i32x4.dot_i16x8_s(g0, g0))
    a1 = i32x4.add(a1, i32x4.dot_i16x8_s(g1, g1))
  }
  return i32x4.add(a0, a1)
}

/** Return a register with the sum of the lanes of each of four registers. */
@inline
function foldFour(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(i32x4.shuffle(a, b, 0, 4, 1, 5), i32x4.shuffle(a, b, 2, 6, 3, 7))
  const cd = i32x4.add(i32x4.shuffle(c, d, 0, 4, 1, 5), i32x4.shuffle(c, d, 2, 6, 3, 7))
  return i32x4.add(i32x4.shuffle(ab, cd, 0, 1, 4, 5), i32x4.shuffle(ab, cd, 2, 3, 6, 7))
}

/**
 * Binary quantization (AssemblyScript; RaBitQ: Gao & Long, SIGMOD 2024). `../binary.ts` describes the method and has
 * the reference implementation, which computes the same bits.
 */
import { BLOCK_ROWS, HEAD_BYTES, PART_BYTES, sumBlock } from './fast-scan'
import { fold } from './distance'
import { offer, worst } from './nearest'

/** Bytes of the factors of a block, which follow its codes: two f32s per row. */
const FACTOR_BYTES: usize = 256

const HALF_ROOT: f32 = 0.7071067690849304

/** Rotate `dims` f32s at `vector` in place. `signs`: address of `dims` u32s per round. */
export function rotate(vector: usize, dims: usize, signs: usize, rounds: i32): void {
  const bytes = dims << 2, half = bytes >> 1
  const block: usize = <usize>1 << (31 - clz(<u32>dims))
  const scale = f32x4.splat(<f32>(1 / sqrt(<f64>block)))
  for (let round = 0; round < rounds; round++) {
    for (let i: usize = 0; i < bytes; i += 16) v128.store(vector + i, v128.xor(v128.load(vector + i), v128.load(signs + i)))
    signs += bytes
    mix(round & 1 ? vector + bytes - (block << 2) : vector, block << 2, scale)
    if (block == dims) continue
    const root = f32x4.splat(HALF_ROOT)
    for (let i: usize = 0; i < half; i += 16) {
      const a = v128.load(vector + i), b = v128.load(vector + half + i)
      v128.store(vector + i, f32x4.mul(f32x4.add(a, b), root))
      v128.store(vector + half + i, f32x4.mul(f32x4.sub(a, b), root))
    }
  }
}

/** Apply a Walsh-Hadamard transform to f32s. `bytes`: their size in bytes, a power of two of at least 16. */
function mix(at: usize, bytes: usize, scale: v128): void {
  const second = i32x4(0, i32.MIN_VALUE, 0, i32.MIN_VALUE), upper = i32x4(0, 0, i32.MIN_VALUE, i32.MIN_VALUE)
  const end = at + bytes
  for (let i = at; i < end; i += 16) {
    const v = f32x4.mul(v128.load(i), scale)
    const w = f32x4.add(i32x4.shuffle(v, v, 0, 0, 2, 2), v128.xor(i32x4.shuffle(v, v, 1, 1, 3, 3), second))
    v128.store(i, f32x4.add(i32x4.shuffle(w, w, 0, 1, 0, 1), v128.xor(i32x4.shuffle(w, w, 2, 3, 2, 3), upper)))
  }
  for (let step: usize = 16; step < bytes; step <<= 1) {
    for (let first = at; first < end; first += step << 1) {
      for (let i = first; i < first + step; i += 16) {
        const a = v128.load(i), b = v128.load(i + step)
        v128.store(i, f32x4.add(a, b))
        v128.store(i + step, f32x4.sub(a, b))
      }
    }
  }
}

/**
 * Encode `rows` vectors of `dim` f32s. Writes `dims / 4` bytes of codes and two f32s of factors per row. `work`:
 * address of scratch for `dims` f32s.
 */
export function encodeSigns(
  vectors: usize, rows: u32, dim: usize, dims: usize, signs: usize, rounds: i32, work: usize, codes: usize, factors: usize,
): void {
  const bytes = dim << 2
  for (let row: u32 = 0; row < rows; row++) {
    memory.copy(work, vectors, bytes)
    memory.fill(work + bytes, 0, (dims << 2) - bytes)
    rotate(work, dims, signs, rounds)
    encodeRotated(work, dims, codes, factors)
    vectors += bytes
    codes += dims >> 2
    factors += 8
  }
}

function encodeRotated(vector: usize, dims: usize, codes: usize, factors: usize): void {
  const zero = f32x4.splat(0)
  let s0 = zero, s1 = zero, n0 = zero, n1 = zero
  const end = vector + (dims << 2)
  for (; vector < end; vector += 32) {
    const a = v128.load(vector), b = v128.load(vector, 16)
    store<u8>(codes, i32x4.bitmask(f32x4.ge(a, zero)))
    store<u8>(codes, i32x4.bitmask(f32x4.ge(b, zero)), 1)
    codes += 2
    s0 = f32x4.add(s0, f32x4.mul(a, a))
    s1 = f32x4.add(s1, f32x4.mul(b, b))
    n0 = f32x4.add(n0, f32x4.abs(a))
    n1 = f32x4.add(n1, f32x4.abs(b))
  }
  const squares = fold(s0, zero, s1, zero), sum = fold(n0, zero, n1, zero)
  store<f32>(factors, squares)
  store<f32>(factors, sum > 0 ? (2 * squares) / sum : 0, 4)
}

/**
 * Write a table for every four elements of a rotated query. Entry number c is the sum of the four elements with the
 * signs of code c.
 */
export function tabulateSigns(query: usize, dims: usize, tables: usize): void {
  const end = query + (dims << 2)
  const lowSigns = i32x4(i32.MIN_VALUE, 0, i32.MIN_VALUE, 0), highSigns = i32x4(i32.MIN_VALUE, i32.MIN_VALUE, 0, 0)
  for (; query < end; query += 16) {
    const low = f32x4.add(
      v128.xor(v128.load32_splat(query), lowSigns),
      v128.xor(v128.load32_splat(query, 4), highSigns),
    )
    const x = load<f32>(query, 8), y = load<f32>(query, 12)
    v128.store(tables, f32x4.add(low, f32x4.splat(-x + -y)))
    v128.store(tables, f32x4.add(low, f32x4.splat(x + -y)), 16)
    v128.store(tables, f32x4.add(low, f32x4.splat(-x + y)), 32)
    v128.store(tables, f32x4.add(low, f32x4.splat(x + y)), 48)
    tables += 64
  }
}

/** Estimate the distances of the rows of a list, and offer the rows. `sums`: address of 80 bytes of scratch. */
export function scanSigns(
  list: usize, count: u32, parts: usize, tables: usize, sums: usize, ordinals: usize, base: f32,
): void {
  const bias = f32x4.splat(load<f32>(tables)), step = f32x4.splat(load<f32>(tables, 4))
  const norm = f32x4.splat(base + load<f32>(tables, 8))
  for (let first: u32 = 0; first < count; first += BLOCK_ROWS) {
    sumBlock(list, parts, tables + HEAD_BYTES, sums)
    list += parts * PART_BYTES
    const rows = min(BLOCK_ROWS, count - first)
    for (let i: u32 = 0; i < rows; i += 4) {
      const sum = f32x4.convert_i32x4_s(v128.load16x4_u(sums + (<usize>i << 1)))
      const product = f32x4.add(bias, f32x4.mul(sum, step))
      const factors = list + (<usize>i << 2)
      const distances = f32x4.sub(
        f32x4.add(norm, v128.load(factors)),
        f32x4.mul(v128.load(factors, 128), product),
      )
      let near: u32 = i32x4.bitmask(f32x4.gt(distances, f32x4.splat(worst))) ^ 15
      if (near == 0) continue
      v128.store(sums, distances, 64)
      for (; near != 0; near &= near - 1) {
        const row = i + ctz(near)
        if (row >= rows) break
        const distance = load<f32>(sums + (<usize>ctz(near) << 2), 64)
        if (!(distance > worst)) offer(distance, load<u32>(ordinals + (<usize>(first + row) << 2)))
      }
    }
    list += FACTOR_BYTES
  }
}

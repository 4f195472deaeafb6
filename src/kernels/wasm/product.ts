/**
 * Product quantization (AssemblyScript; Jegou et al. 2011). A vector is divided into parts, and each part is
 * represented by the number of its nearest centroid. The reference implementation is `../product.ts`. It computes the
 * same bits, because the order of all sums is fixed.
 *
 * The centroids of a part are stored by columns: the first elements of all centroids, then their second elements, and
 * so on. So a register has the same element of four centroids, for any number of elements of a part. The number of
 * centroids, `count`, is a multiple of 16. If there are fewer, the first centroid is repeated. A copy is never chosen,
 * because of equally near centroids the lowest number is chosen.
 */
import { offer, worst } from './nearest'

/**
 * Write the squared distances between the part of a query (`width` f32s) and all centroids to `count` f32s at `out`.
 */
export function squareColumns(columns: usize, width: usize, count: usize, query: usize, out: usize): void {
  const bytes = count << 2
  for (let c: usize = 0; c < bytes; c += 64) {
    let a0 = f32x4.splat(0), a1 = a0, a2 = a0, a3 = a0
    let column = columns + c
    for (let i: usize = 0; i < width; i++) {
      const q = v128.load32_splat(query + (i << 2))
      a0 = addSquare(a0, v128.load(column), q)
      a1 = addSquare(a1, v128.load(column, 16), q)
      a2 = addSquare(a2, v128.load(column, 32), q)
      a3 = addSquare(a3, v128.load(column, 48), q)
      column += bytes
    }
    v128.store(out + c, a0)
    v128.store(out + c, a1, 16)
    v128.store(out + c, a2, 32)
    v128.store(out + c, a3, 48)
  }
}

@inline
function addSquare(sum: v128, x: v128, q: v128): v128 {
  const gap = f32x4.sub(x, q)
  return f32x4.add(sum, f32x4.mul(gap, gap))
}

/**
 * Find the nearest centroid for one part of each of `rows` vectors. Of equally near centroids it is the one with the
 * lowest number. `vectors`: address of the part of the first vector. `stride`: bytes from one vector to the next.
 * `out`: address of the results. Each result is a byte, and the next result is `step` bytes after it. `halves`: address
 * of half of the squared norm of each centroid. This minus the dot product ranks centroids like the distance.
 */
export function nearestColumns(
  columns: usize, halves: usize, width: usize, count: usize, vectors: usize, stride: usize, rows: usize, out: usize, step: usize,
): void {
  const bytes = count << 2, end = width << 2, last = rows - 1
  // Process four rows together, so that they share the loads of centroids. If fewer rows are left, the last row takes
  // the place of the missing rows.
  for (let r: usize = 0; r < rows; r += 4) {
    const r1 = min(r + 1, last), r2 = min(r + 2, last), r3 = min(r + 3, last)
    const x0 = vectors + r * stride, x1 = vectors + r1 * stride
    const x2 = vectors + r2 * stride, x3 = vectors + r3 * stride
    let m0 = f32x4.splat(<f32>Infinity), m1 = m0, m2 = m0, m3 = m0
    let n0 = i32x4.splat(0), n1 = n0, n2 = n0, n3 = n0
    let number = i32x4(0, 1, 2, 3)
    for (let c: usize = 0; c < bytes; c += 32) {
      let a0 = v128.load(halves + c), b0 = v128.load(halves + c, 16)
      let a1 = a0, b1 = b0, a2 = a0, b2 = b0, a3 = a0, b3 = b0
      let column = columns + c
      for (let i: usize = 0; i < end; i += 4) {
        const u = v128.load(column), v = v128.load(column, 16)
        let x = v128.load32_splat(x0 + i)
        a0 = f32x4.sub(a0, f32x4.mul(u, x))
        b0 = f32x4.sub(b0, f32x4.mul(v, x))
        x = v128.load32_splat(x1 + i)
        a1 = f32x4.sub(a1, f32x4.mul(u, x))
        b1 = f32x4.sub(b1, f32x4.mul(v, x))
        x = v128.load32_splat(x2 + i)
        a2 = f32x4.sub(a2, f32x4.mul(u, x))
        b2 = f32x4.sub(b2, f32x4.mul(v, x))
        x = v128.load32_splat(x3 + i)
        a3 = f32x4.sub(a3, f32x4.mul(u, x))
        b3 = f32x4.sub(b3, f32x4.mul(v, x))
        column += bytes
      }
      n0 = v128.bitselect(number, n0, f32x4.lt(a0, m0))
      n1 = v128.bitselect(number, n1, f32x4.lt(a1, m1))
      n2 = v128.bitselect(number, n2, f32x4.lt(a2, m2))
      n3 = v128.bitselect(number, n3, f32x4.lt(a3, m3))
      m0 = f32x4.pmin(m0, a0)
      m1 = f32x4.pmin(m1, a1)
      m2 = f32x4.pmin(m2, a2)
      m3 = f32x4.pmin(m3, a3)
      number = i32x4.add(number, i32x4.splat(4))
      n0 = v128.bitselect(number, n0, f32x4.lt(b0, m0))
      n1 = v128.bitselect(number, n1, f32x4.lt(b1, m1))
      n2 = v128.bitselect(number, n2, f32x4.lt(b2, m2))
      n3 = v128.bitselect(number, n3, f32x4.lt(b3, m3))
      m0 = f32x4.pmin(m0, b0)
      m1 = f32x4.pmin(m1, b1)
      m2 = f32x4.pmin(m2, b2)
      m3 = f32x4.pmin(m3, b3)
      number = i32x4.add(number, i32x4.splat(4))
    }
    store<u8>(out + r * step, lowest(m0, n0))
    store<u8>(out + r1 * step, lowest(m1, n1))
    store<u8>(out + r2 * step, lowest(m2, n2))
    store<u8>(out + r3 * step, lowest(m3, n3))
  }
}

/** Return the number of the least of four values. Of equal values, return the lowest number. */
@inline
function lowest(values: v128, numbers: v128): u32 {
  let least = f32x4.pmin(values, i32x4.shuffle(values, values, 2, 3, 0, 1))
  least = f32x4.pmin(least, i32x4.shuffle(least, least, 1, 0, 3, 2))
  let best = v128.or(numbers, f32x4.ne(values, least))
  best = i32x4.min_u(best, i32x4.shuffle(best, best, 2, 3, 0, 1))
  best = i32x4.min_u(best, i32x4.shuffle(best, best, 1, 0, 3, 2))
  return i32x4.extract_lane(best, 0)
}

/**
 * Estimate the distances of rows of `parts` bytes, and offer the rows. The distance is `base` plus the sum of the
 * entries of the row's codes in `table`, which has 256 f32s per part. The entry of part p is added to sum p mod 4, and
 * the sums are added as (0 + 2) + (1 + 3).
 */
export function scanCodes(
  list: usize, count: u32, parts: usize, table: usize, ordinals: usize, base: f32,
): void {
  const whole = parts & ~7
  let row = list
  const end = ordinals + (<usize>count << 2)
  for (let ordinal = ordinals; ordinal < end; ordinal += 4) {
    let s0: f32 = 0, s1: f32 = 0, s2: f32 = 0, s3: f32 = 0
    let at = table
    const wholeEnd = row + whole
    for (; row < wholeEnd; row += 8) {
      const codes = load<u64>(row)
      s0 += load<f32>(at + <usize>((codes << 2) & 0x3fc))
      s1 += load<f32>(at + <usize>((codes >> 6) & 0x3fc), 0x400)
      s2 += load<f32>(at + <usize>((codes >> 14) & 0x3fc), 0x800)
      s3 += load<f32>(at + <usize>((codes >> 22) & 0x3fc), 0xc00)
      s0 += load<f32>(at + <usize>((codes >> 30) & 0x3fc), 0x1000)
      s1 += load<f32>(at + <usize>((codes >> 38) & 0x3fc), 0x1400)
      s2 += load<f32>(at + <usize>((codes >> 46) & 0x3fc), 0x1800)
      s3 += load<f32>(at + <usize>((codes >> 54) & 0x3fc), 0x1c00)
      at += 0x2000
    }
    if (parts & 4) {
      const codes = load<u32>(row)
      s0 += load<f32>(at + <usize>((codes << 2) & 0x3fc))
      s1 += load<f32>(at + <usize>((codes >> 6) & 0x3fc), 0x400)
      s2 += load<f32>(at + <usize>((codes >> 14) & 0x3fc), 0x800)
      s3 += load<f32>(at + <usize>((codes >> 22) & 0x3fc), 0xc00)
      at += 0x1000
      row += 4
    }
    const rest = parts & 3
    if (rest > 0) s0 += load<f32>(at + (<usize>load<u8>(row) << 2))
    if (rest > 1) s1 += load<f32>(at + (<usize>load<u8>(row, 1) << 2), 0x400)
    if (rest > 2) s2 += load<f32>(at + (<usize>load<u8>(row, 2) << 2), 0x800)
    row += rest
    const distance = base + ((s0 + s2) + (s1 + s3))
    if (!(distance > worst)) offer(distance, load<u32>(ordinal))
  }
}

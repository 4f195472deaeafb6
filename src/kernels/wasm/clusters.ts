/**
 * Finds the nearest centroid of each of many vectors (AssemblyScript), by a matrix product whose elements are not
 * stored. The reference implementation is `../clusters-plain.ts`.
 *
 * |x - c|^2 is smallest where x.c - |c|^2 / 2 is greatest. x and c are relative to `origin`, a point near the center of
 * all centroids. Otherwise their differences would be lost in the rounding errors of float32. The sum for a row and a
 * centroid begins with -|c|^2 / 2. Then the products of the elements are added in order.
 *
 * Four rows are multiplied with eight centroids at a time, in registers. Rows and centroids are packed for this:
 * - A group has four rows. For each element number i, it has four f32s: element i of each row.
 * - A panel has eight centroids. First it has eight f32s, with which the sums begin. Then, for each element number i,
 *   it has eight f32s: element i of each centroid. If the last panel has fewer than eight centroids, the other sums
 *   begin with -Infinity, so that they are never the greatest.
 */

/**
 * Bytes of panels that stay in the L2 cache. All groups are multiplied with this many panels before the next panels.
 */
const BLOCK_BYTES: usize = 256 * 1024

/**
 * Bytes of the results of a group. For each of the four rows they have the greatest sum of each lane (four f32s). Then
 * they have the numbers of the centroids with these sums (four u32s).
 */
const BEST_BYTES: usize = 128

/**
 * Write the number of the nearest centroid of each of `rows` vectors to u32s at `out`. Of equally near centroids it is
 * the lowest number. The buffers `vectors`, `groups` and `out` must have space for a multiple of four rows.
 */
export function assignRows(
  vectors: usize, rows: u32, dim: usize, origin: usize, groups: usize, panels: usize, panelCount: u32, bests: usize, out: usize,
): void {
  const groupBytes = dim << 4, panelBytes = (dim + 1) << 5
  const groupCount = (rows + 3) >> 2
  for (let g: u32 = 0; g < groupCount; g++) {
    packGroup(vectors + <usize>g * groupBytes, dim, origin, groups + <usize>g * groupBytes)
    const best = bests + <usize>g * BEST_BYTES
    for (let at: usize = 0; at < BEST_BYTES; at += 32) {
      v128.store(best + at, f32x4.splat(-Infinity))
      v128.store(best + at, i32x4.splat(0), 16)
    }
  }
  const step = max<u32>(1, <u32>(BLOCK_BYTES / panelBytes))
  for (let first: u32 = 0; first < panelCount; first += step) {
    const end = min(first + step, panelCount)
    for (let g: u32 = 0; g < groupCount; g++)
      multiplyGroup(groups + <usize>g * groupBytes, dim, panels + <usize>first * panelBytes, first, end, bests + <usize>g * BEST_BYTES)
  }
  for (let row: u32 = 0; row < rows; row++)
    store<u32>(out + (<usize>row << 2), nearestOf(bests + (<usize>row << 5)))
}

function packGroup(vectors: usize, dim: usize, origin: usize, group: usize): void {
  const bytes = dim << 2
  const x1 = vectors + bytes, x2 = x1 + bytes, x3 = x2 + bytes
  for (let i: usize = 0; i < bytes; i += 4) {
    const o = load<f32>(origin + i), to = group + (i << 2)
    store<f32>(to, load<f32>(vectors + i) - o)
    store<f32>(to, load<f32>(x1 + i) - o, 4)
    store<f32>(to, load<f32>(x2 + i) - o, 8)
    store<f32>(to, load<f32>(x3 + i) - o, 12)
  }
}

/**
 * Multiply a group with the panels from number `first` to `end - 1`, and update its results. `panel`: address of panel
 * number `first`.
 */
function multiplyGroup(group: usize, dim: usize, panel: usize, first: u32, end: u32, best: usize): void {
  const groupEnd = group + (dim << 4)
  let low = i32x4.add(i32x4.splat(first << 3), i32x4(0, 1, 2, 3))
  for (let p = first; p < end; p++) {
    let a0 = v128.load(panel), b0 = v128.load(panel, 16)
    let a1 = a0, a2 = a0, a3 = a0, b1 = b0, b2 = b0, b3 = b0
    panel += 32
    for (let x = group; x < groupEnd; x += 16) {
      const a = v128.load(panel), b = v128.load(panel, 16)
      const x0 = v128.load32_splat(x)
      a0 = f32x4.add(a0, f32x4.mul(x0, a))
      b0 = f32x4.add(b0, f32x4.mul(x0, b))
      const x1 = v128.load32_splat(x, 4)
      a1 = f32x4.add(a1, f32x4.mul(x1, a))
      b1 = f32x4.add(b1, f32x4.mul(x1, b))
      const x2 = v128.load32_splat(x, 8)
      a2 = f32x4.add(a2, f32x4.mul(x2, a))
      b2 = f32x4.add(b2, f32x4.mul(x2, b))
      const x3 = v128.load32_splat(x, 12)
      a3 = f32x4.add(a3, f32x4.mul(x3, a))
      b3 = f32x4.add(b3, f32x4.mul(x3, b))
      panel += 32
    }
    const high = i32x4.add(low, i32x4.splat(4))
    keep(best, a0, b0, low, high)
    keep(best + 32, a1, b1, low, high)
    keep(best + 64, a2, b2, low, high)
    keep(best + 96, a3, b3, low, high)
    low = i32x4.add(low, i32x4.splat(8))
  }
}

/**
 * Update the results of a row with the sums of eight centroids. Later centroids have higher numbers, so of equal sums
 * the first one is kept.
 */
@inline
function keep(best: usize, a: v128, b: v128, low: v128, high: v128): void {
  let sums = v128.load(best), numbers = v128.load(best, 16)
  const more = f32x4.gt(a, sums)
  sums = v128.bitselect(a, sums, more)
  numbers = v128.bitselect(low, numbers, more)
  const most = f32x4.gt(b, sums)
  v128.store(best, v128.bitselect(b, sums, most))
  v128.store(best, v128.bitselect(high, numbers, most), 16)
}

function nearestOf(best: usize): u32 {
  let sum = load<f32>(best), number = load<u32>(best, 16)
  for (let at: usize = 4; at < 16; at += 4) {
    const other = load<f32>(best + at), otherNumber = load<u32>(best + at, 16)
    if (other > sum || (other == sum && otherNumber < number)) {
      sum = other
      number = otherNumber
    }
  }
  return number
}

/**
 * Find all pairs of a row and a point whose squared distance is below the bound of the point, and perhaps some others.
 * Writes each pair as row << 16 | point to `pairs`, and returns their number. Points are packed like centroids.
 *
 * `bounds`: address of f32s, half of the bound of each point of the panels. `share`: factor of the squared norms of the
 * rows. It is slightly less than one half, so that no pair is lost by rounding. The reference implementation is
 * `nearPairsPlain`.
 */
export function nearPairs(
  vectors: usize, rows: u32, dim: usize, origin: usize, group: usize, panels: usize, panelCount: u32, bounds: usize, share: f32, norms: usize, pairs: usize,
): u32 {
  const groupBytes = dim << 4
  const groupEnd = group + groupBytes
  let at = pairs
  for (let first: u32 = 0; first < rows; first += 4) {
    packGroup(vectors + <usize>(first >> 2) * groupBytes, dim, origin, group)
    let norm = f32x4.splat(0)
    for (let x = group; x < groupEnd; x += 16) {
      const four = v128.load(x)
      norm = f32x4.add(norm, f32x4.mul(four, four))
    }
    v128.store(norms, f32x4.mul(norm, f32x4.splat(share)))
    const left = rows - first
    const n0 = v128.load32_splat(norms), n1 = v128.load32_splat(norms, 4)
    const n2 = v128.load32_splat(norms, 8), n3 = v128.load32_splat(norms, 12)
    let panel = panels, bound = bounds
    for (let p: u32 = 0; p < panelCount; p++) {
      let a0 = v128.load(panel), b0 = v128.load(panel, 16)
      let a1 = a0, a2 = a0, a3 = a0, b1 = b0, b2 = b0, b3 = b0
      panel += 32
      for (let x = group; x < groupEnd; x += 16) {
        const a = v128.load(panel), b = v128.load(panel, 16)
        const x0 = v128.load32_splat(x)
        a0 = f32x4.add(a0, f32x4.mul(x0, a))
        b0 = f32x4.add(b0, f32x4.mul(x0, b))
        const x1 = v128.load32_splat(x, 4)
        a1 = f32x4.add(a1, f32x4.mul(x1, a))
        b1 = f32x4.add(b1, f32x4.mul(x1, b))
        const x2 = v128.load32_splat(x, 8)
        a2 = f32x4.add(a2, f32x4.mul(x2, a))
        b2 = f32x4.add(b2, f32x4.mul(x2, b))
        const x3 = v128.load32_splat(x, 12)
        a3 = f32x4.add(a3, f32x4.mul(x3, a))
        b3 = f32x4.add(b3, f32x4.mul(x3, b))
        panel += 32
      }
      const low = v128.load(bound), high = v128.load(bound, 16)
      bound += 32
      const f0 = nearOnes(a0, b0, low, high, n0), f1 = nearOnes(a1, b1, low, high, n1)
      const f2 = nearOnes(a2, b2, low, high, n2), f3 = nearOnes(a3, b3, low, high, n3)
      if ((f0 | f1 | f2 | f3) == 0) continue
      at = notePairs(f0, first, p << 3, at)
      if (left > 1) at = notePairs(f1, first + 1, p << 3, at)
      if (left > 2) at = notePairs(f2, first + 2, p << 3, at)
      if (left > 3) at = notePairs(f3, first + 3, p << 3, at)
    }
  }
  return <u32>((at - pairs) >> 2)
}

/** Return eight bits, one per point of a panel. A bit is set if the point may be near the row. */
@inline
function nearOnes(a: v128, b: v128, low: v128, high: v128, norm: v128): u32 {
  return i32x4.bitmask(f32x4.gt(f32x4.add(a, low), norm)) | (i32x4.bitmask(f32x4.gt(f32x4.add(b, high), norm)) << 4)
}

function notePairs(bits: u32, row: u32, point: u32, at: usize): usize {
  for (; bits != 0; bits &= bits - 1) {
    store<u32>(at, (row << 16) | (point + ctz(bits)))
    at += 4
  }
  return at
}

/**
 * Assign rows like `assignRows`, with elements that are rounded to 16-bit integers. This is twice as fast. The result
 * is as good if the distances between rows are at least some thousandths of their distance from `origin`. The reference
 * implementation is `assignShortsPlain`.
 *
 * Before rounding, a row is scaled to the norm SHORT_NORM, so that the sums of products fit 32 bits. Rows with a norm
 * below `least` are scaled as if their norm were `least`.
 *
 * A panel has eight centroids. It begins with eight f32s -|c|^2 / 2. Then it has eight f32s, the factors that undo the
 * scaling of the centroids. Then it has the elements: first elements 0 and 1 of each of the eight centroids, then
 * elements 2 and 3, and so on. If the number of elements is odd, the last element is followed by zero. A group has the
 * elements of four rows in the same order. `scales`: address of four f32s per group, the factors by which its rows are
 * scaled.
 */
export function assignShorts(
  vectors: usize, rows: u32, dim: usize, origin: usize, least: f32, groups: usize, scales: usize, panels: usize, panelCount: u32, bests: usize, out: usize,
): void {
  const pairs = (dim + 1) >> 1
  const groupBytes = pairs << 4, panelBytes = 64 + (pairs << 5), rowBytes = dim << 2
  const groupCount = (rows + 3) >> 2
  for (let g: u32 = 0; g < groupCount; g++) {
    const group = groups + <usize>g * groupBytes
    for (let r: usize = 0; r < 4; r++) {
      const row = (<usize>g << 2) + r
      store<f32>(scales + (row << 2), packShorts(vectors + row * rowBytes, dim, origin, least, group + (r << 2)))
    }
    const best = bests + <usize>g * BEST_BYTES
    for (let at: usize = 0; at < BEST_BYTES; at += 32) {
      v128.store(best + at, f32x4.splat(-Infinity))
      v128.store(best + at, i32x4.splat(0), 16)
    }
  }
  const step = max<u32>(1, <u32>(BLOCK_BYTES / panelBytes))
  for (let first: u32 = 0; first < panelCount; first += step) {
    const end = min(first + step, panelCount)
    for (let g: u32 = 0; g < groupCount; g++)
      multiplyShorts(
        groups + <usize>g * groupBytes, groupBytes, scales + (<usize>g << 4), panels + <usize>first * panelBytes, first, end,
        bests + <usize>g * BEST_BYTES,
      )
  }
  for (let row: u32 = 0; row < rows; row++)
    store<u32>(out + (<usize>row << 2), nearestOf(bests + (<usize>row << 5)))
}

const SHORT_NORM: f32 = 32000

/**
 * Write a row as 16-bit elements into its group: two elements every 16 bytes. Returns the factor by which it is scaled.
 * For the norm, the square of element i is added to sum i mod 4, and the sums are added as (0 + 2) + (1 + 3).
 */
function packShorts(vector: usize, dim: usize, origin: usize, least: f32, to: usize): f32 {
  const bytes = dim << 2, whole = bytes & ~31
  let four = f32x4.splat(0)
  let i: usize = 0
  for (; i < whole; i += 16) {
    const x = f32x4.sub(v128.load(vector + i), v128.load(origin + i))
    four = f32x4.add(four, f32x4.mul(x, x))
  }
  let s0 = f32x4.extract_lane(four, 0), s1 = f32x4.extract_lane(four, 1)
  let s2 = f32x4.extract_lane(four, 2), s3 = f32x4.extract_lane(four, 3)
  for (; i < bytes; i += 4) {
    const x = load<f32>(vector + i) - load<f32>(origin + i)
    const lane = (i >> 2) & 3
    if (lane == 0) s0 += x * x
    else if (lane == 1) s1 += x * x
    else if (lane == 2) s2 += x * x
    else s3 += x * x
  }
  const scale: f32 = SHORT_NORM / max<f32>(least, sqrt<f32>((s0 + s2) + (s1 + s3)))
  const scales = f32x4.splat(scale)
  for (i = 0; i < whole; i += 32) {
    const low = f32x4.mul(f32x4.sub(v128.load(vector + i), v128.load(origin + i)), scales)
    const high = f32x4.mul(f32x4.sub(v128.load(vector + i, 16), v128.load(origin + i, 16)), scales)
    const shorts = i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(f32x4.nearest(low)), i32x4.trunc_sat_f32x4_s(f32x4.nearest(high)))
    v128.store32_lane(to, shorts, 0)
    v128.store32_lane(to, shorts, 1, 16)
    v128.store32_lane(to, shorts, 2, 32)
    v128.store32_lane(to, shorts, 3, 48)
    to += 64
  }
  for (; i < bytes; i += 8) {
    store<i16>(to, <i16>nearest<f32>((load<f32>(vector + i) - load<f32>(origin + i)) * scale))
    store<i16>(to, i + 4 < bytes ? <i16>nearest<f32>((load<f32>(vector + i, 4) - load<f32>(origin + i, 4)) * scale) : 0, 2)
    to += 16
  }
  return scale
}

/** Multiply a group with panels like `multiplyGroup`, for 16-bit elements. */
function multiplyShorts(group: usize, groupBytes: usize, scales: usize, panel: usize, first: u32, end: u32, best: usize): void {
  const groupEnd = group + groupBytes
  const s0 = v128.load32_splat(scales), s1 = v128.load32_splat(scales, 4)
  const s2 = v128.load32_splat(scales, 8), s3 = v128.load32_splat(scales, 12)
  let low = i32x4.add(i32x4.splat(first << 3), i32x4(0, 1, 2, 3))
  for (let p = first; p < end; p++) {
    const head = panel
    panel += 64
    let a0 = i32x4.splat(0), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0
    for (let x = group; x < groupEnd; x += 16) {
      const a = v128.load(panel), b = v128.load(panel, 16)
      const x0 = v128.load32_splat(x)
      a0 = i32x4.add(a0, i32x4.dot_i16x8_s(x0, a))
      b0 = i32x4.add(b0, i32x4.dot_i16x8_s(x0, b))
      const x1 = v128.load32_splat(x, 4)
      a1 = i32x4.add(a1, i32x4.dot_i16x8_s(x1, a))
      b1 = i32x4.add(b1, i32x4.dot_i16x8_s(x1, b))
      const x2 = v128.load32_splat(x, 8)
      a2 = i32x4.add(a2, i32x4.dot_i16x8_s(x2, a))
      b2 = i32x4.add(b2, i32x4.dot_i16x8_s(x2, b))
      const x3 = v128.load32_splat(x, 12)
      a3 = i32x4.add(a3, i32x4.dot_i16x8_s(x3, a))
      b3 = i32x4.add(b3, i32x4.dot_i16x8_s(x3, b))
      panel += 32
    }
    const high = i32x4.add(low, i32x4.splat(4))
    keep(best, scored(a0, head, s0), scored(b0, head + 16, s0), low, high)
    keep(best + 32, scored(a1, head, s1), scored(b1, head + 16, s1), low, high)
    keep(best + 64, scored(a2, head, s2), scored(b2, head + 16, s2), low, high)
    keep(best + 96, scored(a3, head, s3), scored(b3, head + 16, s3), low, high)
    low = i32x4.add(low, i32x4.splat(8))
  }
}

@inline
function scored(sums: v128, head: usize, scale: v128): v128 {
  return f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(sums), v128.load(head, 32)), f32x4.mul(v128.load(head), scale))
}

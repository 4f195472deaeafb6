/**
 * Computes the distances between a query and many rows (AssemblyScript).
 *
 * All operations and their order are fixed, so that every machine and the reference implementation
 * (`../exact-plain.ts`) compute the same bits. The term of element i is added to lane i mod 16. The lanes are four
 * registers a0 to a3 of four lanes. Their sum is v = (a0 + a1) + (a2 + a3), and the result is (v0 + v2) + (v1 + v3).
 * There is no fused multiply-add. For rows and queries of bytes, the sums are integers, which are exact in any order.
 *
 * The caller must provide:
 * - the rows, from address 0: `dim` elements per row, without padding. READ_AHEAD + 64 bytes must follow the rows,
 *   because the last step of a row reads beyond the row, and later rows are prefetched
 * - the query, padded with zeros to a multiple of 16 elements: f32s, or i16s if rows and query are bytes, or u8s for
 *   hamming
 * - directly before the query: 64 bytes with all bits set, then 64 zero bytes. Masks are read from them
 *
 * The rows are read one after the other. Reading several rows in parallel would be up to two times slower, because then
 * the hardware prefetcher does not detect a single sequence of addresses.
 */

/**
 * The elements of rows and query: floats and floats (F32), bytes and floats (U8), bytes and bytes (Bytes). Kinds and
 * metrics are types, so that every combination is compiled to a separate loop.
 */
class F32 {}
class U8 {}
class Bytes {}

class L2 {}
class Cosine {}
class Dot {}
/** Only for rows and queries of bytes. */
class Hamming {}

/** The rows are consecutive. */
class InOrder {}
/** The rows are given as a list of ordinals. */
class Scattered {}

/** Consecutive rows: number of bytes ahead of the current address at which cache lines are prefetched. */
const READ_AHEAD: usize = 512
/**
 * Scattered rows: number of rows that are prefetched together, so that the CPU waits for several cache lines at the
 * same time.
 */
const TOUCHED_ROWS: u32 = 16
const CACHE_LINE: usize = 64

/**
 * Write the distances of the rows from `first` to `first + count - 1` to f32s at `out`. `kind` and `metric`: numbers as
 * in `../exact.ts`. `norm`: the query's sum of squares, which is needed for cosine.
 */
export function measureRange(
  kind: i32, metric: i32, first: u32, count: u32, dim: usize, query: usize, norm: f64, out: usize,
): void {
  switch (kind * 4 + metric) {
    case 0: return inOrder<F32, L2>(first, count, dim, query, norm, out)
    case 1: return inOrder<F32, Cosine>(first, count, dim, query, norm, out)
    case 2: return inOrder<F32, Dot>(first, count, dim, query, norm, out)
    case 4: return inOrder<U8, L2>(first, count, dim, query, norm, out)
    case 5: return inOrder<U8, Cosine>(first, count, dim, query, norm, out)
    case 6: return inOrder<U8, Dot>(first, count, dim, query, norm, out)
    case 8: return inOrder<Bytes, L2>(first, count, dim, query, norm, out)
    case 9: return inOrder<Bytes, Cosine>(first, count, dim, query, norm, out)
    case 10: return inOrder<Bytes, Dot>(first, count, dim, query, norm, out)
    case 11: return inOrder<Bytes, Hamming>(first, count, dim, query, norm, out)
    default: unreachable()
  }
}

/** Write the distances of the `count` rows whose ordinals are u32s at `list` to f32s at `out`. */
export function measureList(
  kind: i32, metric: i32, list: usize, count: u32, dim: usize, query: usize, norm: f64, out: usize,
): void {
  switch (kind * 4 + metric) {
    case 0: return scattered<F32, L2>(list, count, dim, query, norm, out)
    case 1: return scattered<F32, Cosine>(list, count, dim, query, norm, out)
    case 2: return scattered<F32, Dot>(list, count, dim, query, norm, out)
    case 4: return scattered<U8, L2>(list, count, dim, query, norm, out)
    case 5: return scattered<U8, Cosine>(list, count, dim, query, norm, out)
    case 6: return scattered<U8, Dot>(list, count, dim, query, norm, out)
    case 8: return scattered<Bytes, L2>(list, count, dim, query, norm, out)
    case 9: return scattered<Bytes, Cosine>(list, count, dim, query, norm, out)
    case 10: return scattered<Bytes, Dot>(list, count, dim, query, norm, out)
    case 11: return scattered<Bytes, Hamming>(list, count, dim, query, norm, out)
    default: unreachable()
  }
}

function inOrder<Kind, Metric>(
  first: u32, count: u32, dim: usize, query: usize, norm: f64, out: usize,
): void {
  const stride = strideOf<Kind>(dim)
  let row = <usize>first * stride
  const end = out + (<usize>count << 2)
  for (let to = out; to < end; to += 4) {
    store<f32>(to, distance<Kind, Metric, InOrder>(row, dim, query, norm))
    row += stride
  }
}

function scattered<Kind, Metric>(
  list: usize, count: u32, dim: usize, query: usize, norm: f64, out: usize,
): void {
  const stride = strideOf<Kind>(dim)
  for (let begin: u32 = 0; begin < count; begin += TOUCHED_ROWS) {
    const end = min(begin + TOUCHED_ROWS, count)
    for (let i = begin; i < end; i++) {
      const row = <usize>load<u32>(list + (<usize>i << 2)) * stride
      for (let line = row; line < row + stride; line += CACHE_LINE) load<u8>(line)
    }
    for (let i = begin; i < end; i++) {
      const row = <usize>load<u32>(list + (<usize>i << 2)) * stride
      store<f32>(out + (<usize>i << 2), distance<Kind, Metric, Scattered>(row, dim, query, norm))
    }
  }
}

@inline
function strideOf<Kind>(dim: usize): usize {
  return is<Kind, F32>() ? dim << 2 : dim
}

@inline
function distance<Kind, Metric, Order>(row: usize, dim: usize, query: usize, norm: f64): f32 {
  if (is<Kind, F32>()) return floatsToFloats<Metric, Order>(row, dim, query, norm)
  else if (is<Kind, U8>()) return bytesToFloats<Metric, Order>(row, dim, query, norm)
  else if (is<Metric, Hamming>()) return bitsToBits<Order>(row, dim, query)
  else return bytesToBytes<Metric, Order>(row, dim, query, norm)
}

@inline
function floatsToFloats<Metric, Order>(row: usize, dim: usize, query: usize, norm: f64): f32 {
  let a0 = f32x4.splat(0), a1 = a0, a2 = a0, a3 = a0
  let n0 = a0, n1 = a0, n2 = a0, n3 = a0
  const whole = (dim & ~15) << 2
  for (let i: usize = 0; i < whole; i += 64) {
    if (is<Order, InOrder>()) load<u8>(row + i, READ_AHEAD)
    const x0 = v128.load(row + i), x1 = v128.load(row + i, 16)
    const x2 = v128.load(row + i, 32), x3 = v128.load(row + i, 48)
    a0 = add<Metric>(a0, x0, v128.load(query + i))
    a1 = add<Metric>(a1, x1, v128.load(query + i, 16))
    a2 = add<Metric>(a2, x2, v128.load(query + i, 32))
    a3 = add<Metric>(a3, x3, v128.load(query + i, 48))
    if (is<Metric, Cosine>()) {
      n0 = add<Dot>(n0, x0, x0)
      n1 = add<Dot>(n1, x1, x1)
      n2 = add<Dot>(n2, x2, x2)
      n3 = add<Dot>(n3, x3, x3)
    }
  }
  const tail = dim & 15
  if (tail) {
    const x = row + whole, q = query + whole, mask = query - 64 - (tail << 2)
    const x0 = v128.and(v128.load(x), v128.load(mask))
    const x1 = v128.and(v128.load(x, 16), v128.load(mask, 16))
    const x2 = v128.and(v128.load(x, 32), v128.load(mask, 32))
    const x3 = v128.and(v128.load(x, 48), v128.load(mask, 48))
    a0 = add<Metric>(a0, x0, v128.load(q))
    a1 = add<Metric>(a1, x1, v128.load(q, 16))
    a2 = add<Metric>(a2, x2, v128.load(q, 32))
    a3 = add<Metric>(a3, x3, v128.load(q, 48))
    if (is<Metric, Cosine>()) {
      n0 = add<Dot>(n0, x0, x0)
      n1 = add<Dot>(n1, x1, x1)
      n2 = add<Dot>(n2, x2, x2)
      n3 = add<Dot>(n3, x3, x3)
    }
  }
  return finishFloats<Metric>(a0, a1, a2, a3, n0, n1, n2, n3, norm)
}

@inline
function bytesToFloats<Metric, Order>(row: usize, dim: usize, query: usize, norm: f64): f32 {
  let a0 = f32x4.splat(0), a1 = a0, a2 = a0, a3 = a0
  let n0 = a0, n1 = a0, n2 = a0, n3 = a0
  for (let i: usize = 0; i < dim; i += 16) {
    let bytes = v128.load(row + i)
    if (dim - i < 16) bytes = v128.and(bytes, v128.load(query - 64 - (dim - i)))
    const low = i16x8.extend_low_i8x16_u(bytes), high = i16x8.extend_high_i8x16_u(bytes)
    const x0 = f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_u(low))
    const x1 = f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_u(low))
    const x2 = f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_u(high))
    const x3 = f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_u(high))
    const q = query + (i << 2)
    a0 = add<Metric>(a0, x0, v128.load(q))
    a1 = add<Metric>(a1, x1, v128.load(q, 16))
    a2 = add<Metric>(a2, x2, v128.load(q, 32))
    a3 = add<Metric>(a3, x3, v128.load(q, 48))
    if (is<Metric, Cosine>()) {
      n0 = add<Dot>(n0, x0, x0)
      n1 = add<Dot>(n1, x1, x1)
      n2 = add<Dot>(n2, x2, x2)
      n3 = add<Dot>(n3, x3, x3)
    }
  }
  return finishFloats<Metric>(a0, a1, a2, a3, n0, n1, n2, n3, norm)
}

/** Sums fit a u32, because rows have at most 65,536 elements and no term exceeds 255^2. */
@inline
function bytesToBytes<Metric, Order>(row: usize, dim: usize, query: usize, norm: f64): f32 {
  let a0 = i32x4.splat(0), a1 = a0, n0 = a0, n1 = a0
  const whole = dim & ~15
  for (let i: usize = 0; i < whole; i += 16) {
    if (is<Order, InOrder>()) load<u8>(row + i, READ_AHEAD)
    const x0 = v128.load8x8_u(row + i), x1 = v128.load8x8_u(row + i, 8)
    const q = query + (i << 1)
    a0 = addIntegers<Metric>(a0, x0, v128.load(q))
    a1 = addIntegers<Metric>(a1, x1, v128.load(q, 16))
    if (is<Metric, Cosine>()) {
      n0 = addIntegers<Dot>(n0, x0, x0)
      n1 = addIntegers<Dot>(n1, x1, x1)
    }
  }
  const tail = dim & 15
  if (tail) {
    const x = row + whole, q = query + (whole << 1), mask = query - 64 - (tail << 1)
    const x0 = v128.and(v128.load8x8_u(x), v128.load(mask))
    const x1 = v128.and(v128.load8x8_u(x, 8), v128.load(mask, 16))
    a0 = addIntegers<Metric>(a0, x0, v128.load(q))
    a1 = addIntegers<Metric>(a1, x1, v128.load(q, 16))
    if (is<Metric, Cosine>()) {
      n0 = addIntegers<Dot>(n0, x0, x0)
      n1 = addIntegers<Dot>(n1, x1, x1)
    }
  }
  const sum = foldIntegers(a0, a1)
  if (is<Metric, L2>()) return <f32>sum
  else if (is<Metric, Dot>()) return <f32>(1 - <f64>sum)
  else return cosineDistance(<f64>sum, <f64>foldIntegers(n0, n1), norm)
}

@inline
function bitsToBits<Order>(row: usize, dim: usize, query: usize): f32 {
  let sums = i32x4.splat(0)
  const whole = dim & ~15
  for (let i: usize = 0; i < whole; i += 16) {
    if (is<Order, InOrder>()) load<u8>(row + i, READ_AHEAD)
    sums = addBits(sums, v128.xor(v128.load(row + i), v128.load(query + i)))
  }
  const tail = dim & 15
  if (tail) {
    const bytes = v128.and(v128.load(row + whole), v128.load(query - 64 - tail))
    sums = addBits(sums, v128.xor(bytes, v128.load(query + whole)))
  }
  return <f32>foldIntegers(sums, i32x4.splat(0))
}

/** Add the numbers of set bits in 16 bytes to four sums. */
@inline
export function addBits(sums: v128, bytes: v128): v128 {
  const counts = i16x8.extadd_pairwise_i8x16_u(i8x16.popcnt(bytes))
  return i32x4.add(sums, i32x4.extadd_pairwise_i16x8_u(counts))
}

/** Add the squared differences (l2) or the products of four elements to four sums. */
@inline
function add<Metric>(sum: v128, x: v128, q: v128): v128 {
  if (is<Metric, L2>()) {
    const gap = f32x4.sub(x, q)
    return f32x4.add(sum, f32x4.mul(gap, gap))
  } else return f32x4.add(sum, f32x4.mul(x, q))
}

/** Add the squared differences (l2) or the products of eight i16s, in pairs, to four sums. */
@inline
function addIntegers<Metric>(sum: v128, x: v128, q: v128): v128 {
  if (is<Metric, L2>()) {
    const gap = i16x8.sub(x, q)
    return i32x4.add(sum, i32x4.dot_i16x8_s(gap, gap))
  } else return i32x4.add(sum, i32x4.dot_i16x8_s(x, q))
}

@inline
function finishFloats<Metric>(
  a0: v128, a1: v128, a2: v128, a3: v128, n0: v128, n1: v128, n2: v128, n3: v128, norm: f64,
): f32 {
  const sum = fold(a0, a1, a2, a3)
  if (is<Metric, L2>()) return sum
  else if (is<Metric, Dot>()) return 1 - sum
  else return cosineDistance(<f64>sum, <f64>fold(n0, n1, n2, n3), norm)
}

@inline
export function fold(a0: v128, a1: v128, a2: v128, a3: v128): f32 {
  const v = f32x4.add(f32x4.add(a0, a1), f32x4.add(a2, a3))
  const w = f32x4.add(v, i32x4.shuffle(v, v, 2, 3, 0, 1))
  return f32x4.extract_lane(w, 0) + f32x4.extract_lane(w, 1)
}

@inline
export function foldIntegers(a0: v128, a1: v128): u32 {
  const v = i32x4.add(a0, a1)
  const w = i32x4.add(v, i32x4.shuffle(v, v, 2, 3, 0, 1))
  return i32x4.extract_lane(w, 0) + i32x4.extract_lane(w, 1)
}

/** Return the cosine distance. The reference implementation is `cosineDistance` in `../metric.ts`. */
@inline
function cosineDistance(sum: f64, rowNorm: f64, norm: f64): f32 {
  const product = rowNorm * norm
  const ratio = sum / sqrt(product)
  return abs(ratio) <= 1 ? <f32>(1 - ratio) : beyondUnit(ratio, product)
}

function beyondUnit(ratio: f64, product: f64): f32 {
  if (product > 0) {
    if (ratio > 1) return 0
    if (ratio < -1) return 2
  }
  return 1
}

@inline
function is<A, B>(): bool {
  return idof<A>() == idof<B>()
}

/**
 * Fast scan of 4-bit codes (AssemblyScript). `../fast-scan.ts` describes the layout and has the reference
 * implementation, which computes the same bits.
 */
import { offer, worst } from './nearest'

export const BLOCK_ROWS: u32 = 32
export const PART_BYTES: usize = 16
/** Bytes of the head before the rounded tables. The head has the f32s `bias` and `step`. */
export const HEAD_BYTES: usize = 64

/** Maximum sum of the rounded entries of a row: the maximum u16. */
const SUM_MAX: f64 = 65535
/** Maximum rounded entry: the maximum u8. */
const ENTRY_MAX: f64 = 255

/** Round tables of 16 f32s per part to bytes. Writes the head and the rounded tables to `out`. */
export function roundTables(table: usize, parts: usize, out: usize): void {
  const end = table + (parts << 6)
  let bias: f64 = 0, widest: f64 = 0, total: f64 = 0
  for (let at = table; at < end; at += 64) {
    const low = lowestOf(at), range = <f64>highestOf(at) - <f64>low
    bias += <f64>low
    widest = max(widest, range)
    total += range
  }
  // Rounding can add half a step per part to a sum, so SUM_MAX is reduced.
  let scale = min(ENTRY_MAX / widest, (SUM_MAX - <f64>parts) / total), step: f64 = 1 / scale
  if (!(scale < 1e38)) {
    scale = 0
    step = 1
  }
  store<f32>(out, <f32>bias)
  store<f32>(out, <f32>step, 4)
  const factor = f32x4.splat(<f32>scale)
  let to = out + HEAD_BYTES
  for (let at = table; at < end; at += 64) {
    const low = f32x4.splat(lowestOf(at))
    const a = i16x8.narrow_i32x4_s(steps(at, low, factor), steps(at + 16, low, factor))
    const b = i16x8.narrow_i32x4_s(steps(at + 32, low, factor), steps(at + 48, low, factor))
    v128.store(to, i8x16.narrow_i16x8_u(a, b))
    to += 16
  }
}

@inline
function steps(at: usize, low: v128, factor: v128): v128 {
  const x = f32x4.mul(f32x4.sub(finite(at), low), factor)
  return i32x4.trunc_sat_f32x4_s(f32x4.add(x, f32x4.splat(0.5)))
}

@inline
function finite(at: usize): v128 {
  const x = f32x4.pmin(f32x4.splat(f32.MAX_VALUE), v128.load(at))
  return f32x4.pmax(f32x4.splat(-f32.MAX_VALUE), x)
}

@inline
function lowestOf(at: usize): f32 {
  const v = f32x4.pmin(f32x4.pmin(finite(at), finite(at + 16)), f32x4.pmin(finite(at + 32), finite(at + 48)))
  const w = f32x4.pmin(v, i32x4.shuffle(v, v, 2, 3, 0, 1))
  return min(f32x4.extract_lane(w, 0), f32x4.extract_lane(w, 1))
}

@inline
function highestOf(at: usize): f32 {
  const v = f32x4.pmax(f32x4.pmax(finite(at), finite(at + 16)), f32x4.pmax(finite(at + 32), finite(at + 48)))
  const w = f32x4.pmax(v, i32x4.shuffle(v, v, 2, 3, 0, 1))
  return max(f32x4.extract_lane(w, 0), f32x4.extract_lane(w, 1))
}

/**
 * Write the sums of the entries of the 32 rows of a block to `sums`, as 32 u16s. `tables`: address of the rounded
 * tables.
 */
export function sumBlock(block: usize, parts: usize, tables: usize, sums: usize): void {
  const nibble = i8x16.splat(15)
  // A u16 has the entries of an even row (low byte) and an odd row (high byte). One sum adds the whole u16s, another
  // only the high bytes. The sum of the even row is computed from both at the end.
  let even0 = i16x8.splat(0), odd0 = even0, even1 = even0, odd1 = even0
  const end = block + parts * PART_BYTES
  for (; block < end; block += PART_BYTES) {
    const codes = v128.load(block), table = v128.load(tables)
    const a = i8x16.swizzle(table, v128.and(codes, nibble))
    const b = i8x16.swizzle(table, v128.and(i16x8.shr_u(codes, 4), nibble))
    even0 = i16x8.add(even0, a)
    odd0 = i16x8.add(odd0, i16x8.shr_u(a, 8))
    even1 = i16x8.add(even1, b)
    odd1 = i16x8.add(odd1, i16x8.shr_u(b, 8))
    tables += PART_BYTES
  }
  even0 = i16x8.sub(even0, i16x8.shl(odd0, 8))
  even1 = i16x8.sub(even1, i16x8.shl(odd1, 8))
  v128.store(sums, i16x8.shuffle(even0, odd0, 0, 8, 1, 9, 2, 10, 3, 11))
  v128.store(sums, i16x8.shuffle(even0, odd0, 4, 12, 5, 13, 6, 14, 7, 15), 16)
  v128.store(sums, i16x8.shuffle(even1, odd1, 0, 8, 1, 9, 2, 10, 3, 11), 32)
  v128.store(sums, i16x8.shuffle(even1, odd1, 4, 12, 5, 13, 6, 14, 7, 15), 48)
}

/**
 * Estimate the distances of the rows of a list from the sums of their entries, and offer the rows. `sums`: address of
 * 64 bytes of scratch.
 */
export function scanNibbles(
  list: usize, count: u32, parts: usize, tables: usize, sums: usize, ordinals: usize, base: f32,
): void {
  const bias = base + load<f32>(tables), step = load<f32>(tables, 4)
  let bound = worst, limit = largestSum(bound, bias, step)
  for (let first: u32 = 0; first < count; first += BLOCK_ROWS) {
    sumBlock(list, parts, tables + HEAD_BYTES, sums)
    list += parts * PART_BYTES
    const rows = min(BLOCK_ROWS, count - first)
    for (let i: u32 = 0; i < rows; i += 8) {
      let near: u32 = i16x8.bitmask(i16x8.le_u(v128.load(sums + (<usize>i << 1)), i16x8.splat(<i16>limit)))
      for (; near != 0; near &= near - 1) {
        const row = i + ctz(near)
        if (row >= rows) break
        const distance = bias + <f32>load<u16>(sums + (<usize>row << 1)) * step
        if (!(distance > worst)) offer(distance, load<u32>(ordinals + (<usize>(first + row) << 2)))
      }
    }
    if (bound != worst) {
      bound = worst
      limit = largestSum(bound, bias, step)
    }
  }
}

/** Return the maximum sum whose distance may be at most `bound`, if float32 rounding is taken into account. */
function largestSum(bound: f32, bias: f32, step: f32): u32 {
  const slack = (abs(<f64>bound) + abs(<f64>bias)) * 2.5e-7
  const sum = (<f64>bound - <f64>bias + slack) / <f64>step
  if (!(sum < SUM_MAX)) return <u32>SUM_MAX
  return sum < 0 ? 0 : <u32>sum
}

/**
 * Keeps the k nearest of the offered rows in a binary max-heap of u64 keys (AssemblyScript). An instance has one heap
 * at a time. The reference implementation is `../nearest.ts`.
 *
 * - The upper half of a key has the bits of the distance, mapped so that the order of unsigned integers is the order of
 *   distances. The lower half is the ordinal of the row. So keys are ordered by (distance, ordinal).
 * - Callers compare a distance `d` with `worst` before they call `offer`, which saves most calls.
 * - If rows are offered in ascending order of ordinals, a row with the same distance as the worst row ranks after it.
 *   So only rows with `!(d >= worst)` can enter the heap. If rows are offered in any order, rows with `!(d > worst)`
 *   can.
 * - `offer` tests the bounds and the allowed bit, and replaces NaN by Infinity. So this is done only for rows that
 *   could enter.
 */

/** The greatest distance in the heap. NaN until the heap is full, so that both comparisons above are true. */
export let worst: f32 = NaN
let heap: usize = 0
let size: i32 = 0
let capacity: i32 = 0
let lower: f64 = 0
let upper: f64 = 0
let allowed: usize = 0

/**
 * Begin an empty heap of at most `k` keys (at least 1) at address `at`. Only rows with `from <= distance < to` can
 * enter the heap; NaN means no bound. `bits`: address of one bit per ordinal. Only rows whose bit is set can enter. 0:
 * all rows.
 */
export function open(at: usize, k: i32, from: f64, to: f64, bits: usize): void {
  heap = at
  size = 0
  capacity = k
  lower = from
  upper = to
  allowed = bits
  worst = NaN
}

/** Offer a row. The caller must have compared the distance with `worst`, see above. */
export function offer(distance: f32, ordinal: u32): void {
  if (allowed) {
    const word = load<u32>(allowed + (<usize>(ordinal >> 5) << 2))
    if (((word >> (ordinal & 31)) & 1) == 0) return
  }
  if (distance != distance) distance = <f32>Infinity
  if (<f64>distance < lower || <f64>distance >= upper) return
  const key = keyOf(distance, ordinal)
  if (size < capacity) {
    rise(size++, key)
    if (size == capacity) worst = distanceOf(keyAt(0))
  } else if (key < keyAt(0)) {
    sink(0, key)
    worst = distanceOf(keyAt(0))
  }
}

/** Return the number of keys in the heap. */
export function held(): i32 {
  return size
}

/** Replace the heap by pairs (ordinal u32, distance f32), sorted by (distance, ordinal). Returns their number. */
export function close(): i32 {
  const found = size
  while (size > 1) {
    const last = keyAt(--size)
    const first = keyAt(0)
    sink(0, last)
    setKey(size, first)
  }
  for (let i = 0; i < found; i++) {
    const key = keyAt(i)
    setKey(i, (<u64>reinterpret<u32>(distanceOf(key)) << 32) | (key & 0xffffffff))
  }
  return found
}

/** Insert `key` at `hole` or above. Moves smaller parents down. */
function rise(hole: i32, key: u64): void {
  while (hole > 0) {
    const parent = (hole - 1) >> 1
    const above = keyAt(parent)
    if (above >= key) break
    setKey(hole, above)
    hole = parent
  }
  setKey(hole, key)
}

/** Insert `key` at `hole` or below. Moves greater children up. */
function sink(hole: i32, key: u64): void {
  for (let child = 2 * hole + 1; child < size; child = 2 * hole + 1) {
    if (child + 1 < size && keyAt(child + 1) > keyAt(child)) child++
    const below = keyAt(child)
    if (below <= key) break
    setKey(hole, below)
    hole = child
  }
  setKey(hole, key)
}

@inline
function keyAt(i: i32): u64 {
  return load<u64>(heap + (<usize>i << 3))
}

@inline
function setKey(i: i32, key: u64): void {
  store<u64>(heap + (<usize>i << 3), key)
}

@inline
function keyOf(distance: f32, ordinal: u32): u64 {
  const bits = reinterpret<i32>(distance)
  return (<u64>(<u32>(bits ^ ((bits >> 31) | i32.MIN_VALUE))) << 32) | ordinal
}

@inline
function distanceOf(key: u64): f32 {
  const bits = <i32>(key >> 32)
  return reinterpret<f32>(bits ^ (~(bits >> 31) | i32.MIN_VALUE))
}

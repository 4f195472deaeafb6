/**
 * Keeps the k nearest rows offered so far (AssemblyScript): a bounded binary max-heap of u64 keys ordered by (distance,
 * ordinal). One heap at a time per instance. Reference implementation: `../nearest.ts`.
 *
 * - A key contains the distance's bits in its upper half, mapped so that unsigned order is numeric order, and the row's
 *   ordinal in its lower half.
 * - `worst` is the largest distance in a full heap, and NaN before the heap is full. So `!(d >= worst)` is the only
 *   test for a row that cannot enter. This holds for rows in ascending order, where a tie with the worst row cannot
 *   enter. For rows in any order the test is `!(d > worst)`.
 * - Bounds and the allowed bit are tested only for rows that would enter, and only there NaN becomes Infinity.
 */

export let worst: f32 = NaN
let heap: usize = 0
let size: i32 = 0
let capacity: i32 = 0
let lower: f64 = 0
let upper: f64 = 0
let allowed: usize = 0

/**
 * Start an empty heap of `k` >= 1 keys at `at`. Only rows with from <= distance < to enter (a NaN bound is no bound)
 * and, if `bits` is not 0, only rows whose bit there is set.
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

/** Offer a row. Call only if its distance may enter the heap: see `worst` above. */
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

/** Convert the heap to (ordinal u32, distance f32) pairs in ascending order. Returns their number. */
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

/** Insert `key` at `hole`, moving smaller parents down. */
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

/** Insert `key` at `hole`, moving larger children up. */
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

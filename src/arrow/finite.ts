/** Checks many numbers for NaN and infinities. */

/** Return whether all values from index `from` to before `to` are finite: none is NaN or an infinity. */
export function allFinite(values: Float32Array | Float64Array, from: number, to: number): boolean {
  // A finite number times 0 is 0, but NaN or an infinity times 0 is NaN. The loop has four independent sums, because
  // the processor can compute them in parallel. With one sum each addition would wait for the previous one.
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  let i = from
  for (const end = to - 3; i < end; i += 4) {
    a += values[i]! * 0
    b += values[i + 1]! * 0
    c += values[i + 2]! * 0
    d += values[i + 3]! * 0
  }
  for (; i < to; i++) a += values[i]! * 0
  return a + b + c + d === 0
}

/**
 * Finds a value by its rank without sorting all values, by radix selection. Values become sortable 64-bit keys. Each of
 * four passes counts the values by 16 bits of their keys, and keeps only the values of the bucket that contains the
 * rank. The time is linear for all inputs.
 */
import type { Pacer } from '../primitives/pacer.js'

/** Number of values that are processed between two checks whether to let the event loop run. */
const valuesAtOnce = 64 * 1024
const buckets = 1 << 16
const signBit = 0x80000000
/** High word of the key of NaN, which is the greatest key. */
const keyOfNaN = 0xfff80000

/**
 * Return the value that would be at index `rank` if the values were sorted, and the value after it. If `rank` is the
 * last index, both are the same value. NaN counts as the greatest value, and -0 equals 0. Overwrites `values`.
 */
export async function selectRank(
  values: Float64Array,
  rank: number,
  pacer: Pacer,
): Promise<readonly [value: number, next: number]> {
  const keys = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length)
  for (let from = 0; from < values.length; from += valuesAtOnce) {
    encode(values, keys, from, Math.min(values.length, from + valuesAtOnce))
    await pacer.turn()
  }
  const counts = new Uint32Array(buckets)
  // High and low word of the minimum key that is greater than all kept keys. Infinity: no such key.
  const above = new Float64Array([Number.POSITIVE_INFINITY, 0])
  let length = values.length
  let wanted = rank
  for (const [word, shift] of [
    [1, 16],
    [1, 0],
    [0, 16],
    [0, 0],
  ] as const) {
    counts.fill(0)
    for (let from = 0; from < length; from += valuesAtOnce) {
      const to = Math.min(length, from + valuesAtOnce)
      for (let i = from; i < to; i++) counts[(keys[2 * i + word]! >>> shift) & 0xffff]! += 1
      await pacer.turn()
    }
    let bucket = 0
    while (wanted >= counts[bucket]!) wanted -= counts[bucket++]!
    if (counts[bucket]! === length) continue
    const least = new Float64Array([Number.POSITIVE_INFINITY, 0])
    let kept = 0
    for (let from = 0; from < length; from += valuesAtOnce) {
      const to = Math.min(length, from + valuesAtOnce)
      for (let i = from; i < to; i++) {
        const own = (keys[2 * i + word]! >>> shift) & 0xffff
        const [low, high] = [keys[2 * i]!, keys[2 * i + 1]!]
        if (own === bucket) {
          keys[2 * kept] = low
          keys[2 * kept + 1] = high
          kept++
        } else if (own > bucket && (high < least[0]! || (high === least[0] && low < least[1]!))) {
          least[0] = high
          least[1] = low
        }
      }
      await pacer.turn()
    }
    if (least[0] !== Number.POSITIVE_INFINITY) above.set(least)
    length = kept
  }
  const value = decode(keys[1]!, keys[0]!)
  const isLast = wanted + 1 >= length
  if (!isLast || above[0] === Number.POSITIVE_INFINITY) return [value, value]
  return [value, decode(above[0]!, above[1]!)]
}

/** Replace values by keys whose order as unsigned integers is the order of the values. */
function encode(values: Float64Array, keys: Uint32Array, from: number, to: number): void {
  for (let i = from; i < to; i++) {
    // NaN and zero may have a sign bit, so first replace them by one NaN and by 0.
    if (Number.isNaN(values[i])) {
      keys[2 * i + 1] = keyOfNaN
      keys[2 * i] = 0
      continue
    }
    if (values[i] === 0) values[i] = 0
    const high = keys[2 * i + 1]!
    const isNegative = high >>> 31 === 1
    keys[2 * i + 1] = isNegative ? ~high : (high | signBit) >>> 0
    if (isNegative) keys[2 * i] = ~keys[2 * i]!
  }
}

function decode(high: number, low: number): number {
  const isNegative = high >>> 31 === 0
  const words = Uint32Array.of(isNegative ? ~low : low, isNegative ? ~high : high ^ signBit)
  return new Float64Array(words.buffer)[0]!
}

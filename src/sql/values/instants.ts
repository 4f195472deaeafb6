/** Split dates, times and durations into whole seconds and a remainder. This is exact, and needs no bigint per row. */
import type { Column } from '../../arrow/column.js'
import { perSecond } from '../../arrow/instant.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput } from '../../errors.js'
import { fitsInt32, int32sOf, pairsOf } from './vector.js'

const secondsPerDay = 86_400
const half = 2 ** 16
const word = 2 ** 32

/** Maximum distance from 1970 in calendar computations, in seconds. It is the range of a JavaScript Date. */
const maxSeconds = 8.64e12

/** The split rows of a column. Row i is `seconds[i] + rest[i] / perSecond` seconds. `rest` is never negative. */
export interface SplitInstants {
  readonly seconds: Float64Array
  readonly rest: Int32Array
  readonly perSecond: number
}

/** Return the number of units per second of a date, time, timestamp or duration type. Return 0 for dates in days. */
function unitsPerSecond(type: DataType): number {
  if (type.kind === 'date') return type.unit === 'day' ? 0 : 1000
  return 'unit' in type ? Number(perSecond[type.unit as 's' | 'ms' | 'us' | 'ns']) : 1
}

/** Split the rows of a date, time, timestamp or duration column. The result is inexact for rows beyond `maxSeconds`. */
export function splitInstants(column: Column, length: number): SplitInstants {
  const divisor = unitsPerSecond(column.type)
  const seconds = new Float64Array(length)
  const rest = new Int32Array(length)
  if (fitsInt32(column.type)) {
    const values = int32sOf(column)
    for (let i = 0; i < length; i++) {
      const value = values[i]!
      seconds[i] = divisor === 0 ? value * secondsPerDay : Math.floor(value / divisor)
      rest[i] = divisor === 0 ? 0 : value - seconds[i]! * divisor
    }
    return { seconds, rest, perSecond: Math.max(1, divisor) }
  }
  // Long division, 16 bits at a time, so that all intermediate numbers stay below 2^53.
  const pairs = pairsOf(column)
  for (let i = 0; i < length; i++) {
    const low = pairs[2 * i]! >>> 0
    const high = Math.floor(pairs[2 * i + 1]! / divisor)
    const upper = (pairs[2 * i + 1]! - high * divisor) * half + Math.floor(low / half)
    const middle = Math.floor(upper / divisor)
    const lower = (upper - middle * divisor) * half + (low % half)
    const last = Math.floor(lower / divisor)
    seconds[i] = high * word + middle * half + last
    rest[i] = lower - last * divisor
  }
  return { seconds, rest, perSecond: divisor }
}

/**
 * Write `seconds * multiplier + rest` as a 64-bit integer into row `row` of `pairs` (low word, high word).
 * `multiplier`: units per second. Return false if the integer does not fit into 64 bits.
 */
export function joinInstant(
  pairs: Int32Array,
  row: number,
  seconds: number,
  rest: number,
  multiplier: number,
): boolean {
  const upper = Math.floor(seconds / half) * multiplier
  const lower = (seconds - Math.floor(seconds / half) * half) * multiplier + rest
  const top = Math.floor(upper / half)
  const bottom = (upper - top * half) * half + lower
  const high = top + Math.floor(bottom / word)
  pairs[2 * row] = bottom % word
  pairs[2 * row + 1] = high
  return high >= -(2 ** 31) && high < 2 ** 31
}

/**
 * Check that a time is within the range of a JavaScript Date. Throws `InvalidInput` if it is not. `seconds`: the time
 * in seconds since 1970.
 */
export function checkCalendar(seconds: number, describe: () => string): void {
  if (Math.abs(seconds) > maxSeconds) {
    throw invalidInput(
      `a time about ${Math.round(Math.abs(seconds) / 31_556_952)} years from 1970 is out of range, in ${describe()}`,
      {
        hint: 'dates are supported up to the year 275,760',
      },
    )
  }
}

/** Mathematical functions: functions of floats, and functions of integers that return integers. */
import type { Column } from '../../arrow/column.js'
import { invalidInput } from '../../errors.js'
import { spread } from '../kernels/gather.js'
import { strictTruth, strictValidity, type Truth } from '../kernels/truth.js'
import { bitAt, columnOf, doublesOf, narrowArray, wordCount } from '../values/vector.js'
import type { Call, Kernel } from './call.js'
import { overDoubles, overflow } from './numbers.js'
import { strictRows, wideOf } from './operands.js'

/** Return the kernel of a function of one double. */
export function ofDouble(change: (value: number) => number): Kernel {
  return call => overDoubles(call, change)
}

/** Return the kernel of a function of two doubles. */
export function ofDoubles(combine: (a: number, b: number) => number): Kernel {
  return ({ args, type, length }) => {
    const [first, second] = args.map(arg => doublesOf(spread(arg, length))) as [Float64Array, Float64Array]
    const values = new Float64Array(length)
    for (let i = 0; i < length; i++) values[i] = combine(first[i]!, second[i]!)
    return columnOf(type, length, { values: narrowArray(type, values) }, strictValidity(args, length))
  }
}

/** Return the kernel of a predicate of one double. */
export function testDouble(predicate: (value: number) => boolean): Kernel {
  return ({ args, length }): Truth => {
    const doubles = doublesOf(spread(args[0]!, length))
    const isTrue = new Uint32Array(wordCount(length))
    for (let i = 0; i < length; i++) if (predicate(doubles[i]!)) isTrue[i >>> 5]! |= 1 << (i & 31)
    return strictTruth(isTrue, args, length)
  }
}

/** Return the logarithm of `value` to the base `base`. The bases 2 and 10 give exact results for powers of the base. */
export function logarithm(base: number, value: number): number {
  if (base === 10) return Math.log10(value)
  return base === 2 ? Math.log2(value) : Math.log(value) / Math.log(base)
}

/** Compute `pi()`. */
export function pi({ type, length }: Call): Column {
  return columnOf(type, length, { values: new Float64Array(length).fill(Math.PI) }, null)
}

/** Compute `random()`: a random number for every row, uniformly distributed in [0, 1). */
export function randoms({ type, length, chance }: Call): Column {
  const values = new Float64Array(length)
  for (let i = 0; i < length; i++) values[i] = chance.random()
  return columnOf(type, length, { values }, null)
}

/** Compute a function of one or two int64 values. Throws `InvalidInput` for a result outside of int64. */
function ofIntegers(call: Call, combine: (a: bigint, b: bigint) => bigint): Column {
  const { args, type, length } = call
  const { valid, needed } = strictRows(call)
  const values = new BigInt64Array(length)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const numbers = args.map(arg => wideOf(arg, i))
    const value = combine(numbers[0]!, numbers[1] ?? 0n)
    if (BigInt.asIntN(64, value) !== value) throw overflow(call, `the arguments are ${numbers.join(' and ')}`)
    values[i] = value
  }
  return columnOf(type, length, { values }, valid)
}

/** Compute `power(base, exponent)` of integers. A negative exponent is an error unless the base is 1 or -1. */
export function integerPower(call: Call): Column {
  return ofIntegers(call, (base, exponent) => {
    // A value outside of int64, for which `ofIntegers` throws the overflow error.
    const tooLarge = 1n << 64n
    if (base === 1n || (base === -1n && exponent % 2n === 0n)) return 1n
    if (base === -1n) return -1n
    if (exponent < 0n) throw noInteger(call, base, exponent)
    if (base === 0n) return exponent === 0n ? 1n : 0n
    return exponent > 63n ? tooLarge : base ** exponent
  })
}

function noInteger({ describe }: Call, base: bigint, exponent: bigint) {
  const what = base === 0n ? 'division by zero' : 'no integer result'
  return invalidInput(`${what} in ${describe()}: ${base} to the power ${exponent}`, {
    hint: 'calculate with doubles: CAST(x AS double)',
  })
}

/** Compute `gcd(a, b)`. The result is never negative, and 0 only for two zeros. */
export function greatestDivisor(call: Call): Column {
  return ofIntegers(call, gcd)
}

/** Compute `lcm(a, b)`. The result is never negative, and 0 if an argument is 0. */
export function leastMultiple(call: Call): Column {
  return ofIntegers(call, (a, b) => {
    if (a === 0n || b === 0n) return 0n
    const multiple = (a / gcd(a, b)) * b
    return multiple < 0n ? -multiple : multiple
  })
}

/** Compute the greatest common divisor by Euclid's algorithm, in at most 92 steps for int64 values. */
function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b]
  while (y !== 0n) [x, y] = [y, x % y]
  return x < 0n ? -x : x
}

/**
 * Compute `width_bucket(x, low, high, count)`: the number, from 1, of the bucket that contains `x`, if the range from
 * `low` to `high` is divided into `count` buckets of equal width. A bucket contains its lower bound. The result is 0
 * below the range, and `count + 1` from `high` on and for NaN. If `low` is greater than `high`, the buckets are numbered
 * downwards from `low`. PostgreSQL has the same function. Throws `InvalidInput` for a count below 1, and for bounds that
 * are equal or not finite.
 */
export function widthBucket(call: Call): Column {
  const { args, type, length } = call
  const { valid, needed } = strictRows(call)
  const [xs, lows, highs] = args.slice(0, 3).map(arg => doublesOf(spread(arg, length)))
  const values = new BigInt64Array(length)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const [low, high, count] = [lows![i]!, highs![i]!, wideOf(args[3]!, i)]
    if (count < 1n || count > maxBuckets) {
      throw invalidInput(
        `the number of buckets must be from 1 to ${maxBuckets}, not ${count}, in ${call.describe()}`,
      )
    }
    if (low === high || !Number.isFinite(low) || !Number.isFinite(high)) {
      const bounds = `${low} and ${high}`
      throw invalidInput(
        `the bounds must be two different finite numbers, not ${bounds}, in ${call.describe()}`,
      )
    }
    values[i] = BigInt(bucketOf(xs![i]!, low, high, Number(count)))
  }
  return columnOf(type, length, { values }, valid)
}

/** Maximum number of buckets, as in PostgreSQL. */
const maxBuckets = 2n ** 31n - 2n

function bucketOf(x: number, low: number, high: number, count: number): number {
  if (low < high ? x < low : x > low) return 0
  if (!(low < high ? x < high : x > high)) return count + 1
  // Halves, because the difference of two large numbers of different signs can be infinite.
  const part = (x / 2 - low / 2) / (high / 2 - low / 2)
  return Math.min(count, Math.floor(part * count) + 1)
}

/** The greatest number whose factorial fits into an int64. */
const greatestFactorial = 20n

/** Compute `factorial(n)`. Throws `InvalidInput` for a negative n. */
export function factorial(call: Call): Column {
  return ofIntegers(call, n => {
    if (n < 0n) throw invalidInput(`a negative number has no factorial: ${n}, in ${call.describe()}`)
    if (n > greatestFactorial) return 1n << 64n
    let product = 1n
    for (let factor = 2n; factor <= n; factor++) product *= factor
    return product
  })
}

/** Declarations of functions of numbers. */
import type { DataType } from '../../arrow/types.js'
import { boolType, float64, int64 } from '../values/types.js'
import {
  factorial,
  greatestDivisor,
  integerPower,
  leastMultiple,
  logarithm,
  ofDouble,
  ofDoubles,
  pi,
  randoms,
  testDouble,
  widthBucket,
} from './mathematics.js'
import { abs, ceil, floor, round, truncate } from './numbers.js'
import {
  type Constants,
  isInteger,
  isNumber,
  type Sign,
  type Signature,
  type SqlFunction,
  shape,
} from './signature.js'

const degreesPerRadian = 180 / Math.PI

/** Functions of one float, by name. */
const ofOne: readonly (readonly [name: string, change: (value: number) => number])[] = [
  ['sqrt', Math.sqrt],
  ['cbrt', Math.cbrt],
  ['exp', Math.exp],
  ['ln', Math.log],
  ['log2', Math.log2],
  ['log10', Math.log10],
  ['sin', Math.sin],
  ['cos', Math.cos],
  ['tan', Math.tan],
  ['cot', value => 1 / Math.tan(value)],
  ['asin', Math.asin],
  ['acos', Math.acos],
  ['atan', Math.atan],
  ['sinh', Math.sinh],
  ['cosh', Math.cosh],
  ['tanh', Math.tanh],
  ['asinh', Math.asinh],
  ['acosh', Math.acosh],
  ['atanh', Math.atanh],
  ['degrees', value => value * degreesPerRadian],
  ['radians', value => value / degreesPerRadian],
]

export const numberFunctions: readonly SqlFunction[] = [
  { name: 'abs', usage: 'abs(number)', sign: sameNumber, kernel: abs, mayFail: true },
  { name: 'floor', usage: 'floor(number)', sign: wholeNumber, kernel: floor },
  { name: 'ceil', usage: 'ceil(number)', sign: wholeNumber, kernel: ceil },
  {
    name: 'round',
    usage: 'round(number) or round(number, places)',
    sign: numberAndPlaces,
    kernel: round,
    mayFail: true,
  },
  {
    name: 'trunc',
    usage: 'trunc(number) or trunc(number, places)',
    sign: numberAndPlaces,
    kernel: truncate,
    mayFail: true,
  },
  ...ofOne.map(([name, change]) => ({
    name,
    usage: `${name}(number)`,
    sign: floats(1),
    kernel: ofDouble(change),
  })),
  {
    name: 'signum',
    usage: 'signum(number)',
    sign: floats(1),
    kernel: ofDouble(Math.sign),
    aliases: ['sign'],
  },
  { name: 'atan2', usage: 'atan2(y, x)', sign: floats(2), kernel: ofDoubles(Math.atan2) },
  {
    name: 'nanvl',
    usage: 'nanvl(number, nan_value)',
    sign: floats(2),
    kernel: ofDoubles((value, instead) => (Number.isNaN(value) ? instead : value)),
  },
  {
    name: 'log',
    usage: 'log(number), to base 10, or log(base, number)',
    sign: args => (args.length === 1 ? floats(1)(args, []) : floats(2)(args, [])),
    kernel: call => (call.args.length === 1 ? ofDouble(Math.log10)(call) : ofDoubles(logarithm)(call)),
  },
  {
    name: 'power',
    usage: 'power(base, exponent)',
    sign: power,
    kernel: call => (call.type.kind === 'int' ? integerPower(call) : ofDoubles(powerOf)(call)),
    aliases: ['pow'],
    mayFail: true,
  },
  { name: 'isnan', usage: 'isnan(number)', sign: numberTest, kernel: testDouble(Number.isNaN) },
  { name: 'iszero', usage: 'iszero(number)', sign: numberTest, kernel: testDouble(value => value === 0) },
  {
    name: 'gcd',
    usage: 'gcd(integer, integer)',
    sign: shape('ii', int64),
    kernel: greatestDivisor,
    mayFail: true,
  },
  {
    name: 'lcm',
    usage: 'lcm(integer, integer)',
    sign: shape('ii', int64),
    kernel: leastMultiple,
    mayFail: true,
  },
  {
    name: 'factorial',
    usage: 'factorial(integer)',
    sign: shape('i', int64),
    kernel: factorial,
    mayFail: true,
  },
  {
    name: 'width_bucket',
    usage: 'width_bucket(number, low, high, count)',
    sign: numberInRange,
    kernel: widthBucket,
    mayFail: true,
  },
  { name: 'pi', usage: 'pi()', sign: shape('', float64), kernel: pi },
  { name: 'random', usage: 'random()', sign: shape('', float64), kernel: randoms, volatile: true },
]

/** Compute `pow` as in IEEE 754. JavaScript returns NaN instead of 1 for `1 ** NaN` and for `(±1) ** ±Infinity`. */
function powerOf(base: number, exponent: number): number {
  return base === 1 || (base === -1 && Math.abs(exponent) === Infinity) ? 1 : base ** exponent
}

/** Return the result type of a function that keeps the type of its argument. Half floats are computed as doubles. */
function resultType(type: DataType): DataType {
  if (type.kind === 'null') return int64
  return type.kind === 'float' && type.bits === 16 ? float64 : type
}

function sameNumber(args: readonly DataType[]): Signature | null {
  if (args.length !== 1 || !isNumber(args[0]!)) return null
  const type = resultType(args[0]!)
  return { args: [type], result: type }
}

/**
 * Return the signature of a function that rounds to an integer. A decimal may need one more integer digit, because
 * 99.99 becomes 100.
 */
function wholeNumber(args: readonly DataType[]): Signature | null {
  const signature = sameNumber(args)
  const type = signature?.result
  return type?.kind === 'decimal' ? { args: [type], result: roundedDecimal(type, 0n) } : signature
}

/** Return a signature of `count` floats. They are float32 if all arguments are float32, otherwise double. */
function floats(count: number): Sign {
  return args => {
    if (args.length !== count || !args.every(isNumber)) return null
    const isSingle = args.every(type => type.kind === 'float' && type.bits === 32)
    const type = isSingle ? args[0]! : float64
    return { args: args.map(() => type), result: type }
  }
}

/** Return the signature of `width_bucket`: three doubles and an integer. */
function numberInRange(args: readonly DataType[]): Signature | null {
  if (args.length !== 4 || !args.slice(0, 3).every(isNumber) || !isInteger(args[3]!)) return null
  return { args: [float64, float64, float64, int64], result: int64 }
}

function numberTest(args: readonly DataType[], constants: Constants): Signature | null {
  const signature = floats(1)(args, constants)
  return signature === null ? null : { ...signature, result: boolType }
}

function numberAndPlaces(args: readonly DataType[], constants: Constants): Signature | null {
  if (args.length !== 1 && args.length !== 2) return null
  const [value, places = int64] = args as [DataType, DataType?]
  if (!isNumber(value) || !isInteger(places)) return null
  const type = resultType(value)
  const known = args.length === 1 ? 0n : constants[1]
  const result = type.kind === 'decimal' ? roundedDecimal(type, known) : type
  return { args: args.length === 1 ? [type] : [type, int64], result }
}

/**
 * Return the type of a rounded decimal. `places`: the number of fractional digits to keep, as a bigint if it is
 * constant. Then it limits the scale of the result. Otherwise the scale stays the same. Rounding up may need one more
 * integer digit.
 */
function roundedDecimal(
  type: DataType & { readonly kind: 'decimal' },
  places: unknown,
): DataType & { readonly kind: 'decimal' } {
  const greatest = type.bits === 128 ? 38 : 76
  if (typeof places !== 'bigint') return { ...type, precision: Math.min(greatest, type.precision + 1) }
  const scale = Math.min(type.scale, Math.max(0, Number(places)))
  const hasRoom = scale < type.scale || places >= BigInt(type.scale)
  return { ...type, scale, precision: hasRoom ? type.precision : Math.min(greatest, type.precision + 1) }
}

/** Return the signature of `power`. With two integers, the result is an integer. */
function power(args: readonly DataType[], constants: Constants): Signature | null {
  const areIntegers = args.length === 2 && args.every(isInteger)
  return (areIntegers ? shape('ii', int64) : floats(2))(args, constants)
}

/** Functions of numbers whose result has the type of the argument. Integers and decimals are computed exactly. */
import type { Column } from '../../arrow/column.js'
import { readDecimal, writeDecimal } from '../../arrow/decimal.js'
import type { DataType, IntType } from '../../arrow/types.js'
import { invalidInput } from '../../errors.js'
import { spread } from '../kernels/gather.js'
import { strictValidity } from '../kernels/truth.js'
import { integerRange } from '../values/literal.js'
import { bitAt, columnOf, doublesOf, isWide, narrowArray } from '../values/vector.js'
import type { Call } from './call.js'
import { numberOf, strictRows } from './operands.js'

type Decimal = DataType & { readonly kind: 'decimal' }

/**
 * Compute `abs(x)`. Throws `InvalidInput` for the minimum of a signed integer type, because its absolute value
 * overflows.
 */
export function abs(call: Call): Column {
  const { type } = call
  if (type.kind === 'decimal') return overDecimals(call, value => (value < 0n ? -value : value))
  if (type.kind === 'float') return overDoubles(call, Math.abs)
  const column = spread(call.args[0]!, call.length)
  if (!(type as IntType).signed) return column
  return isWide(type) ? absWide(call, column) : absNarrow(call, column)
}

function absWide(call: Call, column: Column): Column {
  const { type, length } = call
  const { valid, needed } = strictRows(call)
  const source = column.values as BigInt64Array
  const values = source.slice(0, length)
  for (let i = 0; i < length; i++) {
    const value = source[i]!
    if (value >= 0n) continue
    values[i] = -value
    if (values[i] === value && bitAt(needed, i)) throw overflow(call, `abs(${value})`)
  }
  return columnOf(type, length, { values }, valid)
}

function absNarrow(call: Call, column: Column): Column {
  const { type, length } = call
  const { valid, needed } = strictRows(call)
  const values = (column.values as Int32Array).slice(0, length)
  for (let i = 0; i < length; i++) {
    if (values[i]! >= 0) continue
    const value = values[i]!
    values[i] = -value
    if (values[i] !== -value && bitAt(needed, i)) throw overflow(call, `abs(${value})`)
  }
  return columnOf(type, length, { values }, valid)
}

/** Create the error for a result that does not fit into the result type. `what`: the operation and its operands. */
export function overflow({ type, describe }: Call, what: string) {
  const name = type.kind === 'int' ? `${type.signed ? '' : 'u'}int${type.bits}` : type.kind
  return invalidInput(`${name} overflow in ${describe()}: ${what}`, {
    hint: 'calculate with doubles: CAST(x AS double)',
  })
}

/** Compute `floor(x)`. Integers are returned unchanged. */
export function floor(call: Call): Column {
  return wholes(call, Math.floor, (value, unit) => value - modulo(value, unit))
}

/** Compute `ceil(x)`. */
export function ceil(call: Call): Column {
  return wholes(call, Math.ceil, (value, unit) => value + modulo(-value, unit))
}

/**
 * Compute `round(x)` or `round(x, places)`. Halves are rounded away from zero. Negative places round to tens, hundreds
 * and so on.
 */
export function round(call: Call): Column {
  return toPlaces(call, roundHalfAway, (value, unit) => {
    const rest = value % unit
    const twice = 2n * (rest < 0n ? -rest : rest)
    return value - rest + (twice >= unit ? (value < 0n ? -unit : unit) : 0n)
  })
}

/** Compute `trunc(x)` or `trunc(x, places)`: round toward zero. */
export function truncate(call: Call): Column {
  return toPlaces(call, Math.trunc, (value, unit) => value - (value % unit))
}

/** Return the remainder of a division that rounds down. `unit` is positive, so the remainder is never negative. */
function modulo(value: bigint, unit: bigint): bigint {
  const rest = value % unit
  return rest < 0n ? rest + unit : rest
}

/** Rounds `value` to a multiple of `unit`. */
type ToWhole<T> = (value: T, unit: T) => T

function wholes(call: Call, ofDouble: (value: number) => number, ofInteger: ToWhole<bigint>): Column {
  const { type } = call
  if (type.kind === 'float') return overDoubles(call, ofDouble)
  return type.kind === 'decimal' ? decimalToPlaces(call, ofInteger) : spread(call.args[0]!, call.length)
}

function toPlaces(call: Call, ofDouble: (value: number) => number, ofInteger: ToWhole<bigint>): Column {
  const { args, type } = call
  if (type.kind === 'decimal') return decimalToPlaces(call, ofInteger)
  if (args.length === 1) return wholes(call, ofDouble, ofInteger)
  if (type.kind === 'int') return integerToPlaces(call, ofInteger)
  const { length } = call
  const doubles = doublesOf(spread(args[0]!, length))
  const values = new Float64Array(length)
  const { valid, needed } = strictRows(call)
  const isSingle = type.kind === 'float' && type.bits === 32
  for (let i = 0; i < length; i++) {
    if (bitAt(needed, i)) values[i] = toPlace(doubles[i]!, numberOf(args[1]!, i), ofDouble, isSingle)
  }
  return columnOf(type, length, { values: narrowArray(type, values) }, valid)
}

/**
 * Round a float to the given places. In single precision, `value * factor` is rounded to a float32 first. So the
 * float32 nearest to 0.00005 counts as exactly half of 0.0001.
 */
function toPlace(
  value: number,
  places: number,
  ofDouble: (value: number) => number,
  isSingle: boolean,
): number {
  if (places < -308) return 0 * value
  const factor = 10 ** places
  const scaled = value * factor
  const result = ofDouble(isSingle ? Math.fround(scaled) : scaled) / factor
  return Number.isFinite(result) ? result : value
}

function roundHalfAway(value: number): number {
  const whole = Math.trunc(value)
  return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole
}

/** Round integers to tens, hundreds and so on. With 0 or more places, the integers stay unchanged. */
function integerToPlaces(call: Call, ofInteger: ToWhole<bigint>): Column {
  const { args, type, length } = call
  const { valid, needed } = strictRows(call)
  const column = spread(args[0]!, length)
  const [least, greatest] = integerRange(type)!
  const values = column.values!.slice(0, length) as BigInt64Array | Int32Array
  for (let i = 0; i < length; i++) {
    const places = bitAt(needed, i) ? numberOf(args[1]!, i) : 0
    if (places >= 0) continue
    const value = BigInt(values[i]!)
    const rounded = places < -20 ? 0n : ofInteger(value, 10n ** BigInt(-places))
    if (rounded < least || rounded > greatest) throw overflow(call, String(rounded))
    if (isWide(type)) (values as BigInt64Array)[i] = rounded
    else values[i] = Number(rounded)
  }
  return columnOf(type, length, { values }, valid)
}

/** Round decimals to the given places, and convert them to the scale of the result, which may be smaller. */
function decimalToPlaces(call: Call, ofInteger: ToWhole<bigint>): Column {
  const { args } = call
  const from = (args[0]!.column.type as Decimal).scale
  const to = (call.type as Decimal).scale
  return overDecimals(call, (value, row) => {
    const places = args.length === 1 ? 0 : numberOf(args[1]!, row)
    const dropped = from - places
    const kept = dropped <= 0 ? value : dropped > 80 ? 0n : ofInteger(value, 10n ** BigInt(dropped))
    return kept / 10n ** BigInt(from - to)
  })
}

/** Compute a function of the unscaled integers of decimals. Throws `InvalidInput` if a result exceeds the precision. */
function overDecimals(call: Call, change: (value: bigint, row: number) => bigint): Column {
  const { args, length } = call
  const type = call.type as Decimal
  const { valid, needed } = strictRows(call)
  const column = spread(args[0]!, length)
  const from = column.type as Decimal
  const values = new Uint8Array((length * type.bits) / 8)
  const limit = 10n ** BigInt(type.precision)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const value = change(readDecimal(column.values as Uint8Array, i, from.bits), i)
    if (value >= limit || value <= -limit) throw overflow(call, `more than ${type.precision} digits`)
    writeDecimal(values, i, type.bits, value)
  }
  return columnOf(type, length, { values }, valid)
}

/** Compute a function of doubles, and convert the result to the width of the result type. */
export function overDoubles({ args, type, length }: Call, change: (value: number) => number): Column {
  const doubles = doublesOf(spread(args[0]!, length))
  const values = new Float64Array(length)
  for (let i = 0; i < length; i++) values[i] = change(doubles[i]!)
  return columnOf(type, length, { values: narrowArray(type, values) }, strictValidity(args, length))
}

/** Functions of numbers: int64, uint64 or float64 in, the same out. */
import type { Column } from '../arrow/column.js'
import { invalidInput } from '../errors.js'
import type { Call } from './call.js'
import { spread } from './gather.js'
import { strictValidity } from './truth.js'
import { bitAt, columnOf, doublesOf } from './vector.js'

/** `abs(x)`; the least int64 has none, which is an error. */
export function abs({ args, type, length, rows, describe }: Call): Column {
  const column = spread(args[0]!, length)
  const valid = strictValidity(args, length)
  if (type.kind === 'float') {
    const doubles = doublesOf(column)
    const values = new Float64Array(length)
    for (let i = 0; i < length; i++) values[i] = Math.abs(doubles[i]!)
    return columnOf(type, length, { values }, valid)
  }
  if (type.kind === 'int' && !type.signed) return column
  const source = column.values as BigInt64Array
  const values = source.slice(0, length)
  for (let i = 0; i < length; i++) {
    const value = source[i]!
    if (value >= 0n) continue
    values[i] = -value
    if (values[i] === value && (rows === null || bitAt(rows, i)) && (valid === null || bitAt(valid, i))) {
      throw invalidInput(`int64 overflow in ${describe()}: abs(${value})`)
    }
  }
  return columnOf(type, length, { values }, valid)
}

/** `floor(x)`. Integers come back unchanged. */
export function floor(call: Call): Column {
  return rounded(call, Math.floor)
}

/** `ceil(x)`. */
export function ceil(call: Call): Column {
  return rounded(call, Math.ceil)
}

/** `round(x)`, `round(x, places)`: halves away from zero; negative places round before the point. */
export function round(call: Call): Column {
  const { args, type, length } = call
  if (args.length === 1) return rounded(call, roundHalfAway)
  const column = spread(args[0]!, length)
  const places = spread(args[1]!, length).values as BigInt64Array
  const doubles = doublesOf(column)
  const values = new Float64Array(length)
  for (let i = 0; i < length; i++) values[i] = roundTo(doubles[i]!, Number(places[i]!))
  return columnOf(type, length, { values }, strictValidity(args, length))
}

function rounded({ args, type, length }: Call, change: (value: number) => number): Column {
  const column = spread(args[0]!, length)
  if (type.kind !== 'float') return column
  const doubles = doublesOf(column)
  const values = new Float64Array(length)
  for (let i = 0; i < length; i++) values[i] = change(doubles[i]!)
  return columnOf(type, length, { values }, strictValidity(args, length))
}

function roundHalfAway(value: number): number {
  const whole = Math.trunc(value)
  return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole
}

function roundTo(value: number, places: number): number {
  if (places < -308) return 0 * value
  const factor = 10 ** places
  const result = roundHalfAway(value * factor) / factor
  return Number.isFinite(result) ? result : value
}

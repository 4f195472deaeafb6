/**
 * CAST and TRY_CAST between bool, numbers, utf8, dates and timestamps.
 *
 * - What does not fit, and a fraction where an integer is asked for, is an error (null under TRY_CAST).
 * - A number becomes the nearest float. A time loses what is finer than its new unit, toward the past.
 * - bool is 0 and 1; a number other than 0 is true. An integer is a timestamp in units of its type.
 */
import type { Column } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { equalTypes } from '../arrow/same-type.js'
import { typeName } from '../arrow/type-name.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput, quote } from '../errors.js'
import type { Scalar } from './bound.js'
import { ByteBuilder, textAt } from './byte-builder.js'
import { integerRange, place, roundFloat } from './literal.js'
import { floorDivide, formatInstant, nanosPerUnit } from './temporal.js'
import { allRows } from './truth.js'
import { int32, int64, isNumeric, utf8 } from './types.js'
import {
  bitAt,
  bytesOfWords,
  columnOf,
  columnOfScalars,
  doublesOf,
  isWide,
  narrowArray,
  pairsOf,
  type RowMask,
  scalarAt,
  validWords,
  wordCount,
  wordsOf,
} from './vector.js'

/** Whether a CAST from one type to the other has a meaning. Dictionaries are cast as their values. */
export function castable(from: DataType, to: DataType): boolean {
  if (from.kind === 'null' || equalTypes(from, to)) return true
  const isInstant = (type: DataType) => type.kind === 'date' || type.kind === 'timestamp'
  const isPlain = (type: DataType) => type.kind === 'bool' || isNumeric(type) || isInstant(type)
  if (from.kind === 'utf8') return isPlain(to) || to.kind === 'utf8'
  if (to.kind === 'utf8') return isPlain(from)
  if (isInstant(from)) return isInstant(to) || to.kind === 'int'
  if (isInstant(to)) return from.kind === 'int'
  return isPlain(from) && isPlain(to)
}

/** One cast under way. */
interface Cast {
  readonly column: Column
  readonly to: DataType
  /** Rows whose value is asked for. */
  readonly wanted: Uint32Array
  /** Rows that have a value in the end; `reject` takes them out. */
  readonly valid: Uint32Array
  readonly isTry: boolean
  readonly describe: () => string
}

/** `column` in the type `to`; `castable(column.type, to)` holds. */
export function castColumn(
  column: Column,
  to: DataType,
  isTry: boolean,
  rows: RowMask,
  describe: () => string,
): Column {
  const from = column.type
  const { length } = column
  if (equalTypes(from, to)) return column
  if (from.kind === 'null') return nullColumn(to, length)
  if (from.kind === 'utf8' && to.kind === 'utf8') return { ...column, type: to }
  const valid = validWords(column) ?? allRows(length)
  const wanted = valid.slice()
  if (rows !== null) for (let w = 0; w < wanted.length; w++) wanted[w]! &= rows[w]!
  const cast: Cast = { column, to, wanted, valid, isTry, describe }
  if (from.kind === 'utf8') return readTexts(cast)
  if (to.kind === 'utf8') return writeTexts(cast)
  if (nanosPerUnit(from) !== null || nanosPerUnit(to) !== null) return castInstants(cast)
  if (isWide(from) && isWide(to)) return changeSign(cast)
  return castNumbers(cast, numbersOf(column))
}

/** The row has no value in the new type: null, or an error if it is asked for. */
function reject({ valid, wanted, isTry, to, describe }: Cast, row: number, value: Scalar): void {
  if (!isTry && bitAt(wanted, row)) {
    throw invalidInput(`${quote(value)} is not a value of ${typeName(to)}, in ${describe()}`, {
      hint: 'TRY_CAST gives null instead',
    })
  }
  valid[row >>> 5]! &= ~(1 << (row & 31))
}

/** Numbers and bools as doubles; 64-bit integers as the nearest one. */
function numbersOf(column: Column): Float64Array {
  const { type, length } = column
  if (type.kind === 'bool') {
    const bits = wordsOf(column.values as Uint8Array, length)
    return Float64Array.from({ length }, (_, i) => Number(bitAt(bits, i)))
  }
  if (!isWide(type)) return doublesOf(column).slice(0, length)
  const pairs = pairsOf(column)
  const lift = type.kind === 'int' && !type.signed ? 2 ** 32 : 0
  const out = new Float64Array(length)
  for (let i = 0; i < length; i++) {
    const high = pairs[2 * i + 1]!
    out[i] = (high < 0 ? high + lift : high) * 2 ** 32 + (pairs[2 * i]! >>> 0)
  }
  return out
}

function castNumbers(cast: Cast, numbers: Float64Array): Column {
  const { column, to, valid } = cast
  const { length } = column
  if (to.kind === 'bool') {
    const bits = new Uint32Array(wordCount(length))
    for (let i = 0; i < length; i++) if (numbers[i] !== 0) bits[i >>> 5]! |= 1 << (i & 31)
    return columnOf(to, length, { values: bytesOfWords(bits) }, valid)
  }
  if (to.kind === 'float') {
    for (let i = 0; i < length; i++) {
      const number = numbers[i]!
      numbers[i] = roundFloat(to.bits, number)
      if (Number.isFinite(number) && !Number.isFinite(numbers[i]!)) reject(cast, i, scalarAt(column, i))
    }
    return columnOf(to, length, { values: narrowArray(to, numbers) }, valid)
  }
  const [least, greatest] = integerRange(to)!
  // Doubles hold neither end of 64 bits exactly, but the first number past each.
  const from = Number(least) - 1
  const past = Number(greatest) + (isWide(to) ? 0 : 1)
  for (let i = 0; i < length; i++) {
    const number = numbers[i]!
    const fits = Number.isInteger(number) && (number > from || number === Number(least)) && number < past
    if (!fits) {
      reject(cast, i, scalarAt(column, i))
      numbers[i] = 0
    }
  }
  if (!isWide(to)) return columnOf(to, length, { values: narrowArray(to, numbers) }, valid)
  const values = to.kind === 'int' && to.signed ? new BigInt64Array(length) : new BigUint64Array(length)
  const pairs = new Int32Array(values.buffer)
  for (let i = 0; i < length; i++) {
    pairs[2 * i] = numbers[i]!
    pairs[2 * i + 1] = Math.floor(numbers[i]! / 2 ** 32)
  }
  return columnOf(to, length, { values }, valid)
}

/** int64 to uint64 or back: the same words, unless the top bit is set. */
function changeSign(cast: Cast): Column {
  const { column, to, valid } = cast
  const pairs = pairsOf(column)
  for (let i = 0; i < column.length; i++) if (pairs[2 * i + 1]! < 0) reject(cast, i, scalarAt(column, i))
  const { buffer, byteOffset } = column.values as BigInt64Array
  const isSigned = to.kind === 'int' && to.signed
  const values = isSigned
    ? new BigInt64Array(buffer, byteOffset, column.length)
    : new BigUint64Array(buffer, byteOffset, column.length)
  return columnOf(to, column.length, { values }, valid)
}

function castInstants(cast: Cast): Column {
  const { column, to, valid, isTry, wanted, describe } = cast
  const { length, type: from } = column
  const storage = (type: DataType) => (isWide(type) ? int64 : int32)
  if (to.kind === 'int') return castColumn({ ...column, type: storage(from) }, to, isTry, wanted, describe)
  if (from.kind === 'int') return { ...castColumn(column, storage(to), isTry, wanted, describe), type: to }
  const unitFrom = nanosPerUnit(from)!
  const unitTo = nanosPerUnit(to)!
  if (unitFrom === unitTo) return { ...column, type: to }
  const [least, greatest] = integerRange(to)!
  const values = isWide(to) ? new BigInt64Array(length) : new Int32Array(length)
  const source = column.values as BigInt64Array | Int32Array
  for (let i = 0; i < length; i++) {
    const value = floorDivide(BigInt(source[i]!) * unitFrom, unitTo)
    if (value < least || value > greatest) reject(cast, i, scalarAt(column, i))
    else if (values instanceof Int32Array) values[i] = Number(value)
    else values[i] = value
  }
  return columnOf(to, length, { values }, valid)
}

function readTexts(cast: Cast): Column {
  const { column, to, valid } = cast
  const scalars: Scalar[] = []
  for (let i = 0; i < column.length; i++) {
    const scalar = bitAt(valid, i) ? readText(textAt(column, i), to) : null
    if (scalar === null && bitAt(valid, i)) reject(cast, i, textAt(column, i))
    scalars.push(scalar)
  }
  return columnOfScalars(to, scalars)
}

const truths: Readonly<Record<string, boolean>> = {
  ...{ true: true, t: true, yes: true, y: true, on: true, '1': true },
  ...{ false: false, f: false, no: false, n: false, off: false, '0': false },
}
const infinities: Readonly<Record<string, number>> = { inf: Infinity, infinity: Infinity, nan: Number.NaN }

/** What a text says as a value of `type`, or null when it says none. */
function readText(text: string, type: DataType): Scalar {
  const plain = text.toLowerCase()
  switch (type.kind) {
    case 'bool':
      return Object.hasOwn(truths, plain) ? truths[plain]! : null
    case 'int': {
      if (!/^[+-]?\d{1,40}$/.test(plain)) return null
      const value = BigInt(plain.replace('+', ''))
      const [least, greatest] = integerRange(type)!
      return value >= least && value <= greatest ? value : null
    }
    case 'float': {
      const unsigned = plain.replace(/^[+-]/, '')
      const isDecimal = /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(unsigned)
      if (!isDecimal && !Object.hasOwn(infinities, unsigned)) return null
      const magnitude = isDecimal ? Number(unsigned) : infinities[unsigned]!
      const value = roundFloat(type.bits, plain.startsWith('-') ? -magnitude : magnitude)
      return isDecimal && !Number.isFinite(value) ? null : value
    }
    default: {
      const placement = place(type, { kind: 'literal', type: utf8, value: text })
      return placement === null || typeof placement === 'string' ? null : placement.value
    }
  }
}

function writeTexts(cast: Cast): Column {
  const { column, to, valid } = cast
  const builder = new ByteBuilder(column.length, column.length * 8)
  for (let i = 0; i < column.length; i++) {
    const text = bitAt(valid, i) ? writeText(scalarAt(column, i), column.type) : ''
    if (text === null) reject(cast, i, scalarAt(column, i))
    else builder.text(text)
    builder.endRow()
  }
  return builder.finish(to, valid)
}

/** Null for an instant beyond the calendar. */
function writeText(value: Scalar, type: DataType): string | null {
  if (type.kind === 'date' || type.kind === 'timestamp') return formatInstant(value as bigint, type)
  return type.kind === 'float' ? writeFloat(value as number, type.bits) : String(value)
}

/** The shortest digits that read back as the same float, with a point or an exponent. */
export function writeFloat(value: number, bits: 16 | 32 | 64): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  let text = Object.is(value, -0) ? '-0' : String(value)
  for (let digits = 1; bits !== 64 && digits < 10; digits++) {
    const shorter = Number(value.toPrecision(digits))
    if (roundFloat(bits, shorter) === value) {
      text = String(shorter)
      break
    }
  }
  return /[.e]/.test(text) ? text : `${text}.0`
}

/** Whether every value of `from` has one in `to`. */
export function isLossless(from: DataType, to: DataType): boolean {
  if (to.kind === 'utf8' || from.kind === 'null') return true
  if (from.kind === 'utf8') return false
  if (from.kind === 'bool' || to.kind === 'bool') return true
  if (from.kind === 'float') return to.kind === 'float' && to.bits >= from.bits
  if (from.kind !== 'int') return false
  if (to.kind === 'float') return to.bits > 16
  const [least, greatest] = integerRange(from)!
  const range = integerRange(to)
  return range !== null && least >= range[0] && greatest <= range[1]
}

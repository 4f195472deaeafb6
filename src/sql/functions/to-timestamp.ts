/** Build dates and timestamps from texts, numbers and parts. */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput, quote } from '../../errors.js'
import { castColumn } from '../kernels/cast.js'
import { spread } from '../kernels/gather.js'
import { daysInMonth, daysOfCivil, floorDivide, nanosPerUnit, readInstant } from '../values/temporal.js'
import { int64, timestampType } from '../values/types.js'
import { bitAt, columnOf, type Operand } from '../values/vector.js'
import type { Call, Kernel } from './call.js'
import { type DatetimeFormat, parseFormat, readFormatted } from './datetime-format.js'
import { numberOf, strictRows, textOf } from './operands.js'

/** Maximum number of cached formats. */
const maxCached = 256
const parsedFormats = new Map<string, DatetimeFormat>()

function formatOf(text: string): DatetimeFormat {
  let format = parsedFormats.get(text)
  if (format === undefined) {
    if (parsedFormats.size >= maxCached) parsedFormats.clear()
    format = parseFormat(text)
    parsedFormats.set(text, format)
  }
  return format
}

/**
 * Return the kernel of `to_timestamp(x)` and its variants. `unit`: the unit of an integer argument. A text must be in
 * ISO 8601, or in one of the formats that follow it in the call.
 */
export function toTimestamp(unit: 's' | 'ms' | 'us' | 'ns'): Kernel {
  return call => instants(call, timestampType(unit))
}

/** Compute `to_date(x)`. An integer is a number of days since 1970. */
export function toDate(call: Call): Column {
  return instants(call, call.type)
}

function instants(call: Call, integerType: DataType): Column {
  const { args, type, length, rows, describe } = call
  const [operand] = args as [Operand]
  const from = operand.column.type
  if (from.kind === 'utf8') return readTexts(call)
  if (from.kind === 'float') return fromDoubles(call)
  const column = spread(operand, length)
  if (from.kind === 'int') {
    return castColumn(castColumn(column, integerType, false, rows, describe), type, false, rows, describe)
  }
  return castColumn(column, type, false, rows, describe)
}

function readTexts(call: Call): Column {
  const { args, type, length, describe } = call
  const [text, ...formats] = args as [Operand, ...Operand[]]
  const { valid, needed } = strictRows(call)
  const unit = nanosPerUnit(type)!
  const isDays = type.kind === 'date' && type.unit === 'day'
  const values = isDays ? new Int32Array(length) : new BigInt64Array(length)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const written = textOf(text, i)
    const nanos = formats.length === 0 ? readInstant(written, null) : readAny(written, formats, i)
    if (nanos === null) throw notRead(written, formats, i, describe)
    const value = floorDivide(nanos, unit)
    if (BigInt.asIntN(isDays ? 32 : 64, value) !== value) {
      throw invalidInput(`${quote(written)} is outside the range of ${describe()}`, {
        hint: 'to_timestamp_micros, to_timestamp_millis and to_timestamp_seconds have a larger range',
      })
    }
    if (isDays) values[i] = Number(value)
    else values[i] = value
  }
  return columnOf(type, length, { values }, valid)
}

function readAny(text: string, formats: readonly Operand[], row: number): bigint | null {
  for (const format of formats) {
    const nanos = readFormatted(text, formatOf(textOf(format, row)))
    if (nanos !== null) return nanos
  }
  return null
}

function notRead(text: string, formats: readonly Operand[], row: number, describe: () => string) {
  if (formats.length === 0) {
    return invalidInput(`${quote(text)} is not a date or timestamp (ISO 8601), in ${describe()}`, {
      hint: "pass its format: to_timestamp('31.01.2026 12:00', '%d.%m.%Y %H:%M')",
    })
  }
  const written = formats.map(format => quote(textOf(format, row))).join(' nor ')
  return invalidInput(`${quote(text)} is not in the format ${written}, in ${describe()}`, {
    hint: 'several formats may follow the text; the first format that matches is used',
  })
}

/** Convert doubles, which are seconds since 1970 with a fraction. */
function fromDoubles(call: Call): Column {
  const { args, type, length, describe } = call
  const { valid, needed } = strictRows(call)
  const doubles = spread(args[0]!, length).values as Float64Array
  const unit = nanosPerUnit(type)!
  const values = new BigInt64Array(length)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const value = doubles[i]!
    const whole = Math.floor(value)
    const nanos = Number.isFinite(value)
      ? BigInt(whole) * 1_000_000_000n + BigInt(Math.round((value - whole) * 1e9))
      : 1n << 200n
    const count = floorDivide(nanos, unit)
    if (BigInt.asIntN(64, count) !== count) {
      throw invalidInput(`${value} is outside the range of ${describe()}`, {
        hint: 'to_timestamp_micros, to_timestamp_millis and to_timestamp_seconds have a larger range',
      })
    }
    values[i] = count
  }
  return columnOf(type, length, { values }, valid)
}

/** Compute `from_unixtime(seconds)` or `from_unixtime(seconds, 'zone')`. */
export function fromUnixtime({ args, type, length }: Call): Column {
  return { ...spread(args[0]!, length), type }
}

/** Compute `to_unixtime(x)`: whole seconds since 1970. */
export function toUnixtime(call: Call): Column {
  const { rows, describe } = call
  if (call.args[0]!.column.type.kind === 'int') return spread(call.args[0]!, call.length)
  const seconds = instants({ ...call, type: timestampType('s') }, timestampType('s'))
  return castColumn(seconds, int64, false, rows, describe)
}

/** Compute `make_date(year, month, day)`. Throws `InvalidInput` for a date that does not exist. */
export function makeDate(call: Call): Column {
  const { args, type, length, describe } = call
  const { valid, needed } = strictRows(call)
  const values = new Int32Array(length)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const [year, month, day] = args.map(arg => numberOf(arg, i)) as [number, number, number]
    const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)
    const days = isDate ? daysOfCivil({ year, month, day }) : 0
    if (!isDate || (days | 0) !== days) {
      throw invalidInput(`there is no day ${day} of month ${month} of the year ${year}, in ${describe()}`, {
        hint:
          month < 1 || month > 12
            ? 'months are 1 to 12'
            : `the days of that month are 1 to ${daysInMonth(year, month)}`,
      })
    }
    values[i] = days
  }
  return columnOf(type, length, { values }, valid)
}

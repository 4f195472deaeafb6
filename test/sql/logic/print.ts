/**
 * Values as the scripts have them. SQLite: by the letter of the column, as in about.wiki. DataFusion: by the type of the
 * value, as its README.sqllogictest.md says and its `conversion.rs` and arrow-rs' display of nested values do.
 */
import type { DataType, TimeUnit } from '../../../src/arrow/types.js'

/** `letter`: I, R or T. */
export function printSqlite(value: unknown, letter: string): string {
  if (value === null) return 'NULL'
  // SQLite has no booleans.
  const scalar = typeof value === 'boolean' ? Number(value) : value
  if (letter === 'R') return Number(scalar).toFixed(3)
  if (letter === 'I') {
    if (typeof scalar === 'bigint') return scalar.toString()
    // What printf("%d") gives of a real or a text is the integer it begins with.
    return String(Math.trunc(typeof scalar === 'number' ? scalar : Number.parseFloat(String(scalar)) || 0))
  }
  const text = String(scalar)
  return text === '' ? '(empty)' : text.replace(/[^ -~]/g, '@')
}

/** A value of a result column. */
export function printDatafusion(value: unknown, type: DataType): string {
  if (value === null) return 'NULL'
  switch (type.kind) {
    case 'dictionary':
      return printDatafusion(value, type.value)
    case 'float':
      return printNumber(shortest(value as number, type.bits))
    case 'decimal':
      return printNumber(String(value))
    case 'utf8': {
      const text = value as string
      return text === '' ? '(empty)' : text.replace(/\n+$/, '').replaceAll('\0', '\\0')
    }
    default:
      return printNested(value, type)
  }
}

/** Rounded to 12 places, half to even, without zeros at the end. */
function printNumber(text: string): string {
  if (text === 'NaN' || text.endsWith('Infinity')) return text
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(text)!
  const places = 12
  // The value is `digits` / 10 ** scale.
  let digits = BigInt(whole! + fraction)
  let scale = fraction.length - Number(exponent)
  if (scale < 0) {
    digits *= 10n ** BigInt(-scale)
    scale = 0
  }
  if (scale > places) {
    const unit = 10n ** BigInt(scale - places)
    const rest = digits % unit
    digits /= unit
    if (rest * 2n > unit || (rest * 2n === unit && digits % 2n === 1n)) digits++
    scale = places
  }
  const padded = digits.toString().padStart(scale + 1, '0')
  const [left, right] = [padded.slice(0, padded.length - scale), padded.slice(padded.length - scale)]
  const kept = right.replace(/0+$/, '')
  if (digits === 0n) return '0'
  return sign + left + (kept === '' ? '' : `.${kept}`)
}

/** The fewest digits that name a float of that many bits. */
function shortest(value: number, bits: 16 | 32 | 64): string {
  if (bits === 64 || !Number.isFinite(value)) return String(value)
  for (let precision = 1; precision < 9; precision++) {
    const text = value.toPrecision(precision)
    if (Math.fround(Number(text)) === value) return String(Number(text))
  }
  return value.toPrecision(9)
}

/** A value as arrow-rs shows it inside of lists and structs, and on its own where it is no number or text. */
function printNested(value: unknown, type: DataType): string {
  if (value === null) return 'NULL'
  switch (type.kind) {
    case 'dictionary':
      return printNested(value, type.value)
    case 'float': {
      const text = shortest(value as number, type.bits)
      return /^-?\d+$/.test(text) ? `${text}.0` : text
    }
    case 'binary':
    case 'fixed_size_binary':
      return Buffer.from(value as Uint8Array).toString('hex')
    case 'list':
    case 'fixed_size_list':
      return `[${Array.from(value as ArrayLike<unknown>, item => printNested(item, type.child.type)).join(', ')}]`
    case 'struct': {
      const fields = value as Readonly<Record<string, unknown>>
      return `{${type.children.map(child => `${child.name}: ${printNested(fields[child.name], child.type)}`).join(', ')}}`
    }
    case 'date':
      return printDate(
        instantNanos(value, type.unit === 'day' ? 's' : 'ms', type.unit === 'day' ? 86_400n : 1n),
      )
    case 'timestamp': {
      const zone = type.timezone === null ? '' : type.timezone === 'UTC' ? 'Z' : type.timezone
      return `${printInstant(instantNanos(value, type.unit))}${zone.replace(/^[+-]00:00$/, 'Z')}`
    }
    case 'duration':
      return printDuration(value as bigint, type.unit)
    case 'interval':
      return printInterval(value as IntervalValue)
    default:
      return String(value)
  }
}

const nanosOf: Readonly<Record<TimeUnit, bigint>> = { s: 1_000_000_000n, ms: 1_000_000n, us: 1_000n, ns: 1n }
const day = 86_400_000_000_000n

/** Nanoseconds since 1970 of a Date, or of a count of `unit` (times `factor`). */
function instantNanos(value: unknown, unit: TimeUnit, factor = 1n): bigint {
  if (value instanceof Date) return BigInt(value.getTime()) * nanosOf.ms
  return BigInt(value as bigint) * factor * nanosOf[unit]
}

function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b
  return a % b < 0n ? quotient - 1n : quotient
}

/** Years outside of 0 to 9999 have a sign. */
function printDate(nanos: bigint): string {
  let days = Number(floorDiv(nanos, day))
  // 400 years have 146097 days; Date holds fewer years than Arrow does.
  const cycles = Math.floor(days / 146_097)
  days -= cycles * 146_097
  const date = new Date(days * 86_400_000)
  const year = date.getUTCFullYear() + cycles * 400
  const digits = String(Math.abs(year)).padStart(4, '0')
  const sign = year < 0 ? '-' : year > 9999 ? '+' : ''
  return `${sign}${digits}-${date.toISOString().slice(5, 10)}`
}

function printInstant(nanos: bigint): string {
  const time = nanos - floorDiv(nanos, day) * day
  const [seconds, fraction] = [time / nanosOf.s, time % nanosOf.s]
  const clock = [seconds / 3600n, (seconds / 60n) % 60n, seconds % 60n]
  const places = fraction % 1_000_000n === 0n ? 3 : fraction % 1_000n === 0n ? 6 : 9
  const decimals = fraction === 0n ? '' : `.${String(fraction).padStart(9, '0').slice(0, places)}`
  return `${printDate(nanos)}T${clock.map(part => String(part).padStart(2, '0')).join(':')}${decimals}`
}

function printDuration(count: bigint, unit: TimeUnit): string {
  const perSecond = nanosOf.s / nanosOf[unit]
  const [whole, part] = [count / perSecond, count % perSecond]
  const places = String(perSecond).length - 1
  const fraction = places === 0 ? '' : `.${String(magnitude(part)).padStart(places, '0')}`
  const sign = count < 0n && (whole % 60n !== 0n || part !== 0n) ? '-' : ''
  const parts = [whole / 86_400n, (whole / 3600n) % 24n, (whole / 60n) % 60n]
  const seconds = `${sign}${magnitude(whole % 60n)}${fraction}`
  return `${parts[0]} days ${parts[1]} hours ${parts[2]} mins ${seconds} secs`
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}

type IntervalValue =
  | number
  | { readonly days: number; readonly milliseconds: number }
  | { readonly months: number; readonly days: number; readonly nanoseconds: bigint }

function printInterval(value: IntervalValue): string {
  const months = typeof value === 'number' ? value : 'months' in value ? value.months : 0
  const days = typeof value === 'number' ? 0 : value.days
  const nanos =
    typeof value === 'number'
      ? 0n
      : 'nanoseconds' in value
        ? value.nanoseconds
        : BigInt(value.milliseconds) * nanosOf.ms
  const parts: string[] = []
  if (months !== 0) parts.push(`${months} mons`)
  if (days !== 0) parts.push(`${days} days`)
  const seconds = nanos / nanosOf.s
  const [hours, minutes] = [seconds / 3600n, (seconds / 60n) % 60n]
  if (hours !== 0n) parts.push(`${hours} hours`)
  if (minutes !== 0n) parts.push(`${minutes} mins`)
  const rest = nanos % (60n * nanosOf.s)
  if (rest !== 0n) {
    const size = magnitude(rest)
    parts.push(`${rest < 0n ? '-' : ''}${size / nanosOf.s}.${String(size % nanosOf.s).padStart(9, '0')} secs`)
  }
  return parts.join(' ')
}

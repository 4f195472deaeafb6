/**
 * Parse dates and times in a custom format. A format has the conversions of strftime, such as %Y, with the meaning that
 * they have in the chrono crate of Rust.
 *
 * - White space in a format matches any amount of white space, also none. White space may precede a number.
 * - Without a time of day, the time is midnight. The text must contain a date, or the seconds since 1970.
 * - A format with an unknown conversion matches no text.
 */
import { daysInMonth, daysOfCivil, nanosPerDay } from '../values/temporal.js'

/** The fields that were read from a text. */
interface Fields {
  year?: number
  century?: number
  yearOfCentury?: number
  month?: number
  day?: number
  dayOfYear?: number
  weekday?: number
  hour?: number
  hour12?: number
  isAfternoon?: boolean
  minute?: number
  second?: number
  nanos?: number
  /** Seconds since 1970. */
  epoch?: number
  /** Seconds east of UTC. */
  offset?: number
}

type Reader = (match: RegExpExecArray, fields: Fields) => void

const monthNames =
  'january february march april may june july august september october november december'.split(' ')
const dayNames = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')

const numberField = (field: keyof Fields): Reader => {
  return (match, fields) => {
    ;(fields as Record<string, unknown>)[field] = Number(match[1])
  }
}

const offsetField: Reader = ([text, sign, hours, minutes = '0', seconds = '0'], fields) => {
  if (text.trim().toLowerCase() === 'z') fields.offset = 0
  else {
    const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
    fields.offset = sign === '-' ? -size : size
  }
}

const fractionField: Reader = (match, fields) => {
  if (match[1] !== undefined) fields.nanos = Number(match[1].slice(0, 9).padEnd(9, '0'))
}

function nameField(
  names: readonly string[],
  first: number,
  field: 'month' | 'weekday',
): readonly [RegExp, Reader] {
  const pattern = new RegExp(names.map(name => `${name}|${name.slice(0, 3)}`).join('|'), 'iy')
  return [
    pattern,
    (match, fields) => {
      const short = match[0].slice(0, 3).toLowerCase()
      fields[field] = names.findIndex(name => name.startsWith(short)) + first
    },
  ]
}

const fields: Readonly<Record<string, readonly [pattern: RegExp, read: Reader]>> = {
  Y: [/\s*([+-]\d{1,6}|\d{1,4})/y, numberField('year')],
  C: [/\s*(\d{1,2})/y, numberField('century')],
  y: [/\s*(\d{1,2})/y, numberField('yearOfCentury')],
  m: [/\s*(\d{1,2})/y, numberField('month')],
  d: [/\s*(\d{1,2})/y, numberField('day')],
  e: [/\s*(\d{1,2})/y, numberField('day')],
  j: [/\s*(\d{1,3})/y, numberField('dayOfYear')],
  H: [/\s*(\d{1,2})/y, numberField('hour')],
  k: [/\s*(\d{1,2})/y, numberField('hour')],
  I: [/\s*(\d{1,2})/y, numberField('hour12')],
  l: [/\s*(\d{1,2})/y, numberField('hour12')],
  M: [/\s*(\d{1,2})/y, numberField('minute')],
  S: [/\s*(\d{1,2})/y, numberField('second')],
  f: [/\s*(\d{1,9})/y, numberField('nanos')],
  '.f': [/(?:\.(\d+))?/y, fractionField],
  '.3f': [/(?:\.(\d+))?/y, fractionField],
  '.6f': [/(?:\.(\d+))?/y, fractionField],
  '.9f': [/(?:\.(\d+))?/y, fractionField],
  '3f': [/(\d{3})/y, fractionField],
  '6f': [/(\d{6})/y, fractionField],
  '9f': [/(\d{9})/y, fractionField],
  s: [/\s*([+-]?\d{1,15})/y, numberField('epoch')],
  b: nameField(monthNames, 1, 'month'),
  B: nameField(monthNames, 1, 'month'),
  h: nameField(monthNames, 1, 'month'),
  a: nameField(dayNames, 0, 'weekday'),
  A: nameField(dayNames, 0, 'weekday'),
  p: [/([ap])m/iy, ([, half], read) => (read.isAfternoon = half!.toLowerCase() === 'p')],
  P: [/([ap])m/iy, ([, half], read) => (read.isAfternoon = half!.toLowerCase() === 'p')],
  z: [/\s*([+-])(\d\d):?(\d\d)/y, offsetField],
  ':z': [/\s*([+-])(\d\d):?(\d\d)/y, offsetField],
  '::z': [/\s*([+-])(\d\d):?(\d\d)(?::?(\d\d))?/y, offsetField],
  '#z': [/\s*(?:z|([+-])(\d\d):?(\d\d)?)/iy, offsetField],
  Z: [/[^\s]+/y, () => {}],
  // The offset at the end of the conversion %+, as in RFC 3339. No format can name this conversion alone.
  '+z': [/\s*(?:z|([+-])(\d\d):?(\d\d))/iy, offsetField],
}

/** Conversions that are abbreviations of several conversions. */
const compounds: Readonly<Record<string, string>> = {
  D: '%m/%d/%y',
  x: '%m/%d/%y',
  F: '%Y-%m-%d',
  v: '%e-%b-%Y',
  R: '%H:%M',
  T: '%H:%M:%S',
  X: '%H:%M:%S',
  r: '%I:%M:%S %p',
  c: '%a %b %e %H:%M:%S %Y',
  t: ' ',
  n: ' ',
}

type Item = readonly [pattern: RegExp, read: Reader] | string | 'unknown'

/** A parsed format. Null: the format matches no text. */
export type DatetimeFormat = readonly Item[] | null

/** Maximum length of a format. Longer formats match no text. */
const maxFormat = 1000

/** Parse a format. Return null if it matches no text. */
export function parseFormat(format: string): DatetimeFormat {
  if (format.length > maxFormat) return null
  const items: Item[] = []
  const conversion = /%([-_0]?)((?:\.[369]?|[369]|::?|#)?[A-Za-z+%])|\s+|[^%\s]+|%/g
  for (const match of format.matchAll(conversion)) {
    const [text, , name] = match
    if (name === undefined) {
      if (text === '%') return null
      items.push(text.trim() === '' ? ' ' : text)
    } else if (name === '%') items.push('%')
    else if (name === '+') items.push(...rfc3339)
    else if (Object.hasOwn(compounds, name)) items.push(...parseFormat(compounds[name]!)!)
    else if (Object.hasOwn(fields, name)) items.push(fields[name]!)
    else return null
  }
  return items
}

const rfc3339: readonly Item[] = [
  ...['Y', '-', 'm', '-', 'd'].map(itemOf),
  [/[T ]/iy, () => {}],
  ...['H', ':', 'M', ':', 'S', '.f', '+z'].map(itemOf),
]

function itemOf(name: string): Item {
  return fields[name] ?? name
}

/**
 * Parse a text in the given format to nanoseconds since 1970. Return null if the text does not match the format. A text
 * without an offset is in UTC.
 */
export function readFormatted(text: string, format: DatetimeFormat): bigint | null {
  if (format === null) return null
  const read: Fields = {}
  let at = 0
  for (const item of format) {
    if (item === ' ') at += /^\s*/.exec(text.slice(at, at + 1000))![0].length
    else if (typeof item === 'string') {
      if (!text.startsWith(item, at)) return null
      at += item.length
    } else {
      const [pattern, apply] = item
      pattern.lastIndex = at
      const match = pattern.exec(text)
      if (match === null) return null
      apply(match, read)
      at = pattern.lastIndex
    }
  }
  return at === text.length ? instantOf(read) : null
}

function instantOf(read: Fields): bigint | null {
  const { nanos = 0, offset = 0 } = read
  if (Math.abs(offset) >= 86_400) return null
  if (read.epoch !== undefined) return BigInt(read.epoch) * 1_000_000_000n + BigInt(nanos)
  const days = daysOf(read)
  const seconds = secondsOf(read)
  if (days === null || seconds === null) return null
  if (read.weekday !== undefined && (((days + 4) % 7) + 7) % 7 !== read.weekday) return null
  return BigInt(days) * nanosPerDay + BigInt(seconds - offset) * 1_000_000_000n + BigInt(nanos)
}

function daysOf(read: Fields): number | null {
  const year = yearOf(read)
  if (year === null) return null
  if (read.dayOfYear !== undefined) {
    const first = daysOfCivil({ year, month: 1, day: 1 })
    const days = first + read.dayOfYear - 1
    const isInside = read.dayOfYear >= 1 && days < daysOfCivil({ year: year + 1, month: 1, day: 1 })
    return isInside ? days : null
  }
  const { month = 0, day = 0 } = read
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null
  return daysOfCivil({ year, month, day })
}

/** Return the year, or null if no year was read. A year of two digits without a century is a year from 1970 to 2069. */
function yearOf({ year, century, yearOfCentury }: Fields): number | null {
  if (year !== undefined) return year
  if (yearOfCentury === undefined) return null
  return (century ?? (yearOfCentury < 70 ? 20 : 19)) * 100 + yearOfCentury
}

function secondsOf({ hour, hour12, isAfternoon, minute = 0, second = 0 }: Fields): number | null {
  let hours = hour ?? 0
  if (hour === undefined && hour12 !== undefined) {
    if (isAfternoon === undefined || hour12 < 1 || hour12 > 12) return null
    hours = (hour12 % 12) + (isAfternoon ? 12 : 0)
  }
  return hours > 23 || minute > 59 || second > 59 ? null : hours * 3600 + minute * 60 + second
}

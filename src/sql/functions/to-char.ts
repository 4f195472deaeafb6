/**
 * Compute `to_char(value, format)`: write dates and times in a custom format. A format has the conversions of strftime,
 * such as %Y, with the meaning that they have in the chrono crate of Rust. A `-`, `_` or `0` after the % sets the
 * padding of a number: none, spaces or zeros.
 */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput, quote } from '../../errors.js'
import { ByteBuilder } from '../kernels/byte-builder.js'
import { checkCalendar, splitInstants } from '../values/instants.js'
import { type Civil, civilOfDays, daysOfCivil } from '../values/temporal.js'
import { offsetAt, zoneNamed } from '../values/time-zone.js'
import { bitAt, type Operand } from '../values/vector.js'
import type { Call } from './call.js'
import { instantColumn, modulo } from './date-part.js'
import { strictRows, textOf } from './operands.js'

/** A point in time to write, in the local time of its zone. */
interface Shown {
  /** Days since 1970. */
  readonly days: number
  readonly secondOfDay: number
  readonly nanos: number
  /** Seconds east of UTC; 0 without a zone. */
  readonly offset: number
  readonly civil: Civil
}

/** The part of a value that a conversion writes. Some types do not have all parts. For example, a date has no zone. */
type Needs = 'clock' | 'date' | 'zone'

interface Conversion {
  readonly needs: Needs
  readonly write: (shown: Shown) => string
}

/** A conversion that writes a number. `width`: minimum number of characters. `fill`: padding up to this width. */
interface NumberConversion {
  readonly needs: Needs
  readonly value: (shown: Shown) => number
  readonly width: number
  readonly fill: '0' | ' '
}

const monthNames =
  'January February March April May June July August September October November December'.split(' ')
const dayNames = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

const hourOf = ({ secondOfDay }: Shown) => Math.floor(secondOfDay / 3600)
const hour12Of = (shown: Shown) => modulo(hourOf(shown) + 11, 12) + 1
const weekdayOf = ({ days }: Shown) => modulo(days + 4, 7)
const dayOfYearOf = ({ days, civil }: Shown) => days - daysOfCivil({ year: civil.year, month: 1, day: 1 })
/**
 * Returns the Thursday of the week of a date, in days since 1970. In ISO 8601, a week belongs to the year of its
 * Thursday.
 */
const thursdayOf = ({ days }: Shown) => days - modulo(days + 3, 7) + 3
const isoYearOf = (shown: Shown) => civilOfDays(thursdayOf(shown)).year

function isoWeekOf(shown: Shown): number {
  const thursday = thursdayOf(shown)
  return Math.floor((thursday - daysOfCivil({ year: isoYearOf(shown), month: 1, day: 1 })) / 7) + 1
}

const number = (
  needs: Needs,
  width: number,
  value: NumberConversion['value'],
  fill: NumberConversion['fill'] = '0',
): NumberConversion => ({ needs, width, value, fill })

const numbers: Readonly<Record<string, NumberConversion>> = {
  Y: number('date', 4, ({ civil }) => civil.year),
  C: number('date', 2, ({ civil }) => Math.floor(civil.year / 100)),
  y: number('date', 2, ({ civil }) => modulo(civil.year, 100)),
  q: number('date', 1, ({ civil }) => Math.ceil(civil.month / 3)),
  m: number('date', 2, ({ civil }) => civil.month),
  d: number('date', 2, ({ civil }) => civil.day),
  e: number('date', 2, ({ civil }) => civil.day, ' '),
  w: number('date', 1, weekdayOf),
  u: number('date', 1, shown => modulo(weekdayOf(shown) + 6, 7) + 1),
  U: number('date', 2, shown => Math.floor((dayOfYearOf(shown) + 7 - weekdayOf(shown)) / 7)),
  W: number('date', 2, shown => Math.floor((dayOfYearOf(shown) + 7 - modulo(weekdayOf(shown) + 6, 7)) / 7)),
  G: number('date', 4, isoYearOf),
  g: number('date', 2, shown => modulo(isoYearOf(shown), 100)),
  V: number('date', 2, isoWeekOf),
  j: number('date', 3, shown => dayOfYearOf(shown) + 1),
  H: number('clock', 2, hourOf),
  k: number('clock', 2, hourOf, ' '),
  I: number('clock', 2, hour12Of),
  l: number('clock', 2, hour12Of, ' '),
  M: number('clock', 2, ({ secondOfDay }) => Math.floor(secondOfDay / 60) % 60),
  S: number('clock', 2, ({ secondOfDay }) => secondOfDay % 60),
  f: number('clock', 9, ({ nanos }) => nanos),
  s: number('date', 1, ({ days, secondOfDay, offset }) => days * 86_400 + secondOfDay - offset),
}

const texts: Readonly<Record<string, Conversion>> = {
  B: { needs: 'date', write: ({ civil }) => monthNames[civil.month - 1]! },
  b: { needs: 'date', write: ({ civil }) => monthNames[civil.month - 1]!.slice(0, 3) },
  A: { needs: 'date', write: shown => dayNames[weekdayOf(shown)]! },
  a: { needs: 'date', write: shown => dayNames[weekdayOf(shown)]!.slice(0, 3) },
  p: { needs: 'clock', write: shown => (hourOf(shown) < 12 ? 'AM' : 'PM') },
  P: { needs: 'clock', write: shown => (hourOf(shown) < 12 ? 'am' : 'pm') },
  '.f': { needs: 'clock', write: shortFraction },
  '.3f': { needs: 'clock', write: shown => `.${fraction(shown, 3)}` },
  '.6f': { needs: 'clock', write: shown => `.${fraction(shown, 6)}` },
  '.9f': { needs: 'clock', write: shown => `.${fraction(shown, 9)}` },
  '3f': { needs: 'clock', write: shown => fraction(shown, 3) },
  '6f': { needs: 'clock', write: shown => fraction(shown, 6) },
  '9f': { needs: 'clock', write: shown => fraction(shown, 9) },
  z: { needs: 'zone', write: shown => offsetText(shown, 2, '') },
  ':z': { needs: 'zone', write: shown => offsetText(shown, 2, ':') },
  '::z': { needs: 'zone', write: shown => offsetText(shown, 3, ':') },
  ':::z': { needs: 'zone', write: shown => offsetText(shown, 1, ':') },
  Z: { needs: 'zone', write: shown => offsetText(shown, 2, ':') },
}

/** Conversions that are abbreviations of several conversions. */
const compounds: Readonly<Record<string, string>> = {
  h: '%b',
  D: '%m/%d/%y',
  x: '%m/%d/%y',
  F: '%Y-%m-%d',
  v: '%e-%b-%Y',
  R: '%H:%M',
  T: '%H:%M:%S',
  X: '%H:%M:%S',
  r: '%I:%M:%S %p',
  c: '%a %b %e %H:%M:%S %Y',
  '+': '%Y-%m-%dT%H:%M:%S%.f%:z',
}

function fraction({ nanos }: Shown, digits: number): string {
  return nanos.toString().padStart(9, '0').slice(0, digits)
}

function shortFraction(shown: Shown): string {
  const { nanos } = shown
  if (nanos === 0) return ''
  return `.${fraction(shown, nanos % 1_000_000 === 0 ? 3 : nanos % 1000 === 0 ? 6 : 9)}`
}

function offsetText({ offset }: Shown, parts: 1 | 2 | 3, between: string): string {
  const magnitude = Math.abs(offset)
  const all = [Math.floor(magnitude / 3600), Math.floor(magnitude / 60) % 60, magnitude % 60]
  const digits = all.slice(0, parts).map(part => part.toString().padStart(2, '0'))
  return `${offset < 0 ? '-' : '+'}${digits.join(between)}`
}

/**
 * Write a number. The sign comes before the zeros of the padding. A number with the width 4 is a year, which also has a
 * sign after 9999.
 */
function numberText(value: number, width: number, fill: '0' | ' ' | ''): string {
  const isLong = width === 4 && (value > 9999 || value < 0)
  const digits = Math.abs(value).toString()
  const sign = value < 0 ? '-' : isLong ? '+' : ''
  if (fill === '0') return sign + digits.padStart(width, '0')
  return (sign + digits).padStart(fill === ' ' ? width + (isLong ? 1 : 0) : 0)
}

/** Patterns of `to_char` in PostgreSQL and of formats in Java, with the conversions of strftime. Longer patterns first. */
const patterns: readonly (readonly [pattern: string, conversion: string])[] = [
  ['YYYY', '%Y'],
  ['MONTH', '%B'],
  ['HH24', '%H'],
  ['HH12', '%I'],
  ['IYYY', '%G'],
  ['DDD', '%j'],
  ['MON', '%b'],
  ['DAY', '%A'],
  [':MM', ':%M'],
  ['YY', '%y'],
  ['MM', '%m'],
  ['DD', '%d'],
  ['DY', '%a'],
  ['HH', '%H'],
  ['MI', '%M'],
  ['SS', '%S'],
  ['MS', '%3f'],
  ['US', '%6f'],
  ['AM', '%p'],
  ['PM', '%p'],
  ['IW', '%V'],
  ['ID', '%u'],
  ['Q', '%q'],
]
const conversionOf: ReadonlyMap<string, string> = new Map(patterns)
const anyPattern = new RegExp(patterns.map(([pattern]) => pattern).join('|'), 'gi')

/**
 * Check that a format has conversions. Otherwise `to_char(x, 'YYYY-MM')` would return its format. Throws `InvalidInput`
 * for a format without a `%`, except the empty format.
 */
function checkConversions(format: string, describe: () => string): void {
  if (format === '' || format.includes('%')) return
  const converted = format.replace(anyPattern, pattern => conversionOf.get(pattern.toUpperCase())!)
  throw invalidInput(`the format ${quote(format)} has no conversion such as %Y, in ${describe()}`, {
    hint: `write the conversions of strftime, for example '${converted.includes('%') ? converted : '%Y-%m-%d'}'`,
  })
}

type Format = readonly (string | Conversion)[]

/** Maximum length of a format. */
const maxFormat = 1000

function parseFormat(text: string, type: DataType, describe: () => string): Format {
  if (text.length > maxFormat) {
    throw invalidInput(`a format of ${text.length} characters is too long, in ${describe()}`, {
      hint: `a format has at most ${maxFormat} characters`,
    })
  }
  const items: (string | Conversion)[] = []
  for (const [part, fill, name] of text.matchAll(
    /%([-_0]?)((?:\.[369]?|[369]|:{1,3})?[A-Za-z+%])|[^%]+|%/g,
  )) {
    if (name === undefined && part !== '%') items.push(part)
    else items.push(...itemsOf(part, fill ?? '', name ?? '', type, describe))
  }
  return items
}

const characters: Readonly<Record<string, string>> = { '%': '%', t: '\t', n: '\n' }
const fills = { '-': '', _: ' ', '0': '0' } as const

function itemsOf(part: string, fill: string, name: string, type: DataType, describe: () => string): Format {
  if (Object.hasOwn(numbers, name)) {
    const { needs, value, width, fill: own } = numbers[name]!
    const filled = fill === '' ? own : fills[fill as keyof typeof fills]
    return [fitting({ needs, write: shown => numberText(value(shown), width, filled) }, part, type, describe)]
  }
  if (fill === '') {
    if (Object.hasOwn(characters, name)) return [characters[name]!]
    if (Object.hasOwn(texts, name)) return [fitting(texts[name]!, part, type, describe)]
    if (Object.hasOwn(compounds, name)) return parseFormat(compounds[name]!, type, describe)
  }
  throw invalidInput(`${quote(part)} is not a format conversion, in ${describe()}`, {
    hint: "write for example '%Y-%m-%d %H:%M:%S'; %% is a percent sign",
  })
}

/** Check that values of a type have the part that a conversion writes. Throws `InvalidInput` if they do not have it. */
function fitting(conversion: Conversion, part: string, type: DataType, describe: () => string): Conversion {
  const { needs } = conversion
  const hasZone = type.kind === 'timestamp' && type.timezone !== null
  if (needs === 'clock' || (needs === 'date' ? type.kind !== 'time' : hasZone)) return conversion
  throw invalidInput(
    `${quote(part)} needs a ${needs}, which a ${type.kind} ${needs === 'zone' && type.kind === 'timestamp' ? 'without a zone ' : ''}does not have, in ${describe()}`,
    {
      hint:
        needs === 'zone'
          ? 'CAST the value to timestamp with time zone'
          : 'use conversions of a time of day: %H:%M:%S',
    },
  )
}

/** Maximum number of cached formats per call. */
const maxCached = 256

/** Compute `to_char(value, format)`. Throws `InvalidInput` for an invalid format. */
export function toChar(call: Call): Column {
  const { args, length, type, describe } = call
  const [operand, format] = args as [Operand, Operand]
  const { valid, needed } = strictRows(call)
  const column = instantColumn(operand, call)
  const { seconds, rest, perSecond } = splitInstants(column, length)
  const zone =
    column.type.kind === 'timestamp' && column.type.timezone !== null ? zoneNamed(column.type.timezone) : null
  const formats = new Map<string, Format>()
  const builder = ByteBuilder.growing(length, length * 16)
  for (let i = 0; i < length; i++) {
    if (bitAt(needed, i)) {
      const written = textOf(format, i)
      let items = formats.get(written)
      if (items === undefined) {
        if (formats.size >= maxCached) formats.clear()
        checkConversions(written, describe)
        items = parseFormat(written, column.type, describe)
        formats.set(written, items)
      }
      checkCalendar(seconds[i]!, describe)
      const offset = zone === null ? 0 : offsetAt(zone, seconds[i]!)
      const local = seconds[i]! + offset
      const days = Math.floor(local / 86_400)
      const shown: Shown = {
        days,
        secondOfDay: local - days * 86_400,
        nanos: rest[i]! * (1e9 / perSecond),
        offset,
        civil: civilOfDays(days),
      }
      for (const item of items) builder.text(typeof item === 'string' ? item : item.write(shown))
    }
    builder.endRow()
  }
  return builder.finish(type, valid)
}

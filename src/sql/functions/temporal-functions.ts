/** Declarations of functions of dates and times. */
import type { DataType, TimeUnit } from '../../arrow/types.js'
import { zoneNamed } from '../values/time-zone.js'
import { dateType, float64, int64, timestampType, utf8 } from '../values/types.js'
import { datePart, hasPart, noSuchPart, partNamed, typeOfPart } from './date-part.js'
import { dateBin, dateTrunc, truncUnitNamed } from './date-trunc.js'
import {
  type Constants,
  isInteger,
  isText,
  type Sign,
  type Signature,
  type SqlFunction,
  shape,
} from './signature.js'
import { toChar } from './to-char.js'
import { fromUnixtime, makeDate, toDate, toTimestamp, toUnixtime } from './to-timestamp.js'

const nanoseconds = timestampType('ns')

export const temporalFunctions: readonly SqlFunction[] = [
  {
    name: 'date_part',
    usage: "date_part('year', date, time, timestamp, duration or interval)",
    sign: partOf,
    kernel: datePart,
    aliases: ['datepart'],
    constant: 0,
    mayFail: true,
  },
  {
    name: 'date_trunc',
    usage: "date_trunc('month', date, time or timestamp)",
    sign: truncated,
    kernel: dateTrunc,
    aliases: ['datetrunc'],
    constant: 0,
    mayFail: true,
  },
  {
    name: 'date_bin',
    usage: "date_bin(INTERVAL '15 minutes', timestamp) or date_bin(interval, timestamp, origin)",
    sign: binned,
    kernel: dateBin,
    mayFail: true,
  },
  {
    name: 'make_date',
    usage: 'make_date(year, month, day)',
    sign: shape('iii', dateType),
    kernel: makeDate,
    mayFail: true,
  },
  {
    name: 'to_date',
    usage: "to_date(value) or to_date(text, '%d.%m.%Y', ...)",
    sign: toInstant(() => dateType),
    kernel: toDate,
    mayFail: true,
  },
  timestampFunction('to_timestamp', 'ns', 's'),
  timestampFunction('to_timestamp_seconds', 's', 's'),
  timestampFunction('to_timestamp_millis', 'ms', 'ms'),
  timestampFunction('to_timestamp_micros', 'us', 'us'),
  timestampFunction('to_timestamp_nanos', 'ns', 'ns'),
  {
    name: 'to_char',
    usage: "to_char(date, time or timestamp, '%Y-%m-%d %H:%M:%S')",
    sign: formatted,
    kernel: toChar,
    aliases: ['date_format'],
    mayFail: true,
  },
  {
    name: 'from_unixtime',
    usage: "from_unixtime(seconds) or from_unixtime(seconds, 'Europe/Berlin')",
    sign: inZone,
    kernel: fromUnixtime,
  },
  {
    name: 'to_unixtime',
    usage: "to_unixtime(value) or to_unixtime(text, '%d.%m.%Y', ...)",
    sign: toInstant(() => int64),
    kernel: toUnixtime,
    mayFail: true,
  },
]

/** Declare a variant of `to_timestamp`. `unit`: the unit of the result. `counted`: the unit of an integer argument. */
function timestampFunction(name: string, unit: TimeUnit, counted: TimeUnit): SqlFunction {
  return {
    name,
    usage: `${name}(value) or ${name}(text, '%d.%m.%Y %H:%M', ...)`,
    sign: toInstant(from => timestampType(unit, from.kind === 'timestamp' ? from.timezone : null)),
    kernel: toTimestamp(counted),
    mayFail: true,
  }
}

/**
 * Return the timestamp type in which an argument is computed: nanoseconds for strings and dates. Null for other types.
 */
function asTimestamp(type: DataType): DataType | null {
  if (isText(type) || type.kind === 'date') return nanoseconds
  return type.kind === 'timestamp' ? type : null
}

/**
 * Return the argument type of the signature: `read`, but utf8 for a string, because the kernel parses strings itself.
 */
function given(type: DataType, read: DataType): DataType {
  return type.kind === 'utf8' ? utf8 : read
}

function partOf(args: readonly DataType[], constants: Constants): Signature | null {
  const [name, value] = args
  if (args.length !== 2 || !isText(name!)) return null
  const type = isText(value!) ? nanoseconds : value!
  // Use any part if the name is not a constant, because the binder then reports that the name must be constant.
  const part = typeof constants[0] === 'string' ? partNamed(constants[0]) : 'year'
  if (!['date', 'time', 'timestamp', 'duration', 'interval'].includes(type.kind)) return null
  if (!hasPart(type, part)) throw noSuchPart(part, type)
  return { args: [utf8, given(value!, type)], result: typeOfPart(type, part) }
}

function truncated(args: readonly DataType[], constants: Constants): Signature | null {
  const [name, value] = args
  if (args.length !== 2 || !isText(name!)) return null
  if (typeof constants[0] === 'string') truncUnitNamed(constants[0])
  const type = value!.kind === 'time' ? value! : asTimestamp(value!)
  return type === null ? null : { args: [utf8, given(value!, type)], result: type }
}

function binned(args: readonly DataType[]): Signature | null {
  const [stride, value, origin] = args
  if (args.length < 2 || args.length > 3) return null
  const isSpan = stride!.kind === 'duration' || stride!.kind === 'interval'
  const type = asTimestamp(value!)
  if (!isSpan || type === null || (origin !== undefined && asTimestamp(origin) === null)) return null
  const instants = [value!, ...(origin === undefined ? [] : [origin])].map(arg => given(arg, type))
  return { args: [stride!, ...instants], result: type }
}

/**
 * Return the signature of a function of a string, number, date or timestamp that is converted to an instant. Formats
 * may follow a string. `resultOf`: returns the result type for the type of the argument.
 */
function toInstant(resultOf: (from: DataType) => DataType): Sign {
  return args => {
    const [value, ...formats] = args
    if (value === undefined || !formats.every(isText)) return null
    const result = resultOf(value)
    const type = argumentType(value, result)
    if (type === null) return null
    return { args: [type, ...formats.map(() => utf8)], result }
  }
}

function argumentType(type: DataType, result: DataType): DataType | null {
  switch (type.kind) {
    case 'utf8':
      return utf8
    case 'null':
    case 'int':
      return int64
    case 'float':
    case 'decimal':
      return result.kind === 'date' ? null : float64
    case 'date':
    case 'timestamp':
      return type
    default:
      return null
  }
}

function formatted(args: readonly DataType[]): Signature | null {
  const [value, format] = args
  if (args.length !== 2 || !isText(format!)) return null
  const type = value!.kind === 'time' ? value! : asTimestamp(value!)
  if (type === null) return null
  return { args: [value!.kind === 'date' ? value! : given(value!, type), utf8], result: utf8 }
}

/** Return the signature of `from_unixtime`. The zone must be a constant, because it is part of the result type. */
function inZone(args: readonly DataType[], constants: Constants): Signature | null {
  if (args.length === 1 && isInteger(args[0]!)) return { args: [int64], result: timestampType('s') }
  const zone = constants[1]
  if (args.length !== 2 || !isInteger(args[0]!) || typeof zone !== 'string') return null
  return { args: [int64, utf8], result: timestampType('s', zoneNamed(zone).name) }
}

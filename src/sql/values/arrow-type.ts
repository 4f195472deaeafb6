/**
 * Read and write Arrow types in the notation of DataFusion and arrow-rs: `Timestamp(Nanosecond, Some("+00:00"))`,
 * `List(Int64)`.
 */
import { isDecimal } from '../../arrow/decimal.js'
import { type DataType, type IntType, maxTypeDepth, type TimeUnit } from '../../arrow/types.js'

const plain: Readonly<Record<string, DataType>> = {
  Null: { kind: 'null' },
  Boolean: { kind: 'bool' },
  Int8: { kind: 'int', bits: 8, signed: true },
  Int16: { kind: 'int', bits: 16, signed: true },
  Int32: { kind: 'int', bits: 32, signed: true },
  Int64: { kind: 'int', bits: 64, signed: true },
  UInt8: { kind: 'int', bits: 8, signed: false },
  UInt16: { kind: 'int', bits: 16, signed: false },
  UInt32: { kind: 'int', bits: 32, signed: false },
  UInt64: { kind: 'int', bits: 64, signed: false },
  Float16: { kind: 'float', bits: 16 },
  Float32: { kind: 'float', bits: 32 },
  Float64: { kind: 'float', bits: 64 },
  Utf8: { kind: 'utf8', large: false },
  LargeUtf8: { kind: 'utf8', large: true },
  Utf8View: { kind: 'utf8', large: false },
  Binary: { kind: 'binary', large: false },
  LargeBinary: { kind: 'binary', large: true },
  BinaryView: { kind: 'binary', large: false },
  Date32: { kind: 'date', unit: 'day' },
  Date64: { kind: 'date', unit: 'ms' },
}

const unitNames: Readonly<Record<string, TimeUnit>> = {
  Second: 's',
  Millisecond: 'ms',
  Microsecond: 'us',
  Nanosecond: 'ns',
}

const intervalNames = {
  YearMonth: 'year_month',
  DayTime: 'day_time',
  MonthDayNano: 'month_day_nano',
} as const

/**
 * Parse the name of an Arrow type. Return null for any other text, and for structs and maps. `Utf8View` becomes utf8,
 * and `BinaryView` becomes binary.
 */
export function parseArrowType(text: string): DataType | null {
  const tokens = text.match(/"[^"]*"|\w+|-\d+|\S/g) ?? []
  const reader = { tokens, at: 0 }
  const type = readType(reader, 1)
  return reader.at === tokens.length ? type : null
}

interface Reader {
  readonly tokens: readonly string[]
  at: number
}

function readType(reader: Reader, depth: number): DataType | null {
  const name = reader.tokens[reader.at++]
  if (name === undefined || depth > maxTypeDepth) return null
  if (Object.hasOwn(plain, name)) return plain[name]!
  if (!take(reader, '(')) return null
  const type = readArguments(name, reader, depth)
  return type !== null && take(reader, ')') ? type : null
}

function readArguments(name: string, reader: Reader, depth: number): DataType | null {
  switch (name) {
    case 'Timestamp': {
      const unit = readUnit(reader)
      const timezone = take(reader, ',') ? readZone(reader) : undefined
      return unit === null || timezone === undefined ? null : { kind: 'timestamp', unit, timezone }
    }
    case 'Time32':
    case 'Time64': {
      const unit = readUnit(reader)
      const isNarrow = unit === 's' || unit === 'ms'
      return unit === null || isNarrow !== (name === 'Time32') ? null : { kind: 'time', unit }
    }
    case 'Duration': {
      const unit = readUnit(reader)
      return unit === null ? null : { kind: 'duration', unit }
    }
    case 'Interval': {
      const word = reader.tokens[reader.at++] ?? ''
      if (!Object.hasOwn(intervalNames, word)) return null
      return { kind: 'interval', unit: intervalNames[word as keyof typeof intervalNames] }
    }
    case 'Decimal128':
    case 'Decimal256': {
      const precision = readInteger(reader)
      const scale = take(reader, ',') ? readInteger(reader) : null
      const bits = name === 'Decimal128' ? 128 : 256
      if (precision === null || scale === null || !isDecimal(bits, precision, scale)) return null
      return { kind: 'decimal', bits, precision, scale }
    }
    case 'FixedSizeBinary': {
      const width = readInteger(reader)
      return width === null || width < 0 ? null : { kind: 'fixed_size_binary', width }
    }
    case 'List':
    case 'LargeList': {
      const child = readType(reader, depth + 1)
      return child === null ? null : { kind: 'list', large: name === 'LargeList', child: element(child) }
    }
    case 'FixedSizeList': {
      const size = readInteger(reader)
      const child = take(reader, ',') ? readType(reader, depth + 1) : null
      return size === null || size < 0 || child === null
        ? null
        : { kind: 'fixed_size_list', size, child: element(child) }
    }
    case 'Dictionary': {
      const index = readType(reader, depth + 1)
      const value = take(reader, ',') ? readType(reader, depth + 1) : null
      if (index?.kind !== 'int' || value === null || value.kind === 'dictionary') return null
      return { kind: 'dictionary', index: index as IntType, value, ordered: false }
    }
    default:
      return null
  }
}

function take(reader: Reader, token: string): boolean {
  if (reader.tokens[reader.at] !== token) return false
  reader.at++
  return true
}

function readUnit(reader: Reader): TimeUnit | null {
  const word = reader.tokens[reader.at++] ?? ''
  return Object.hasOwn(unitNames, word) ? unitNames[word]! : null
}

/** Read `None` (null) or `Some("UTC")`. Return undefined for anything else. */
function readZone(reader: Reader): string | null | undefined {
  if (take(reader, 'None')) return null
  if (!take(reader, 'Some') || !take(reader, '(')) return undefined
  const word = reader.tokens[reader.at++] ?? ''
  return word.length > 2 && word.startsWith('"') && take(reader, ')') ? word.slice(1, -1) : undefined
}

function readInteger(reader: Reader): number | null {
  const word = reader.tokens[reader.at++] ?? ''
  return /^-?\d{1,9}$/.test(word) ? Number(word) : null
}

function element(type: DataType) {
  return { name: 'item', type, nullable: true } as const
}

/** Write a type in the notation of arrow-rs. `parseArrowType` parses the result, except for structs and maps. */
export function formatArrowType(type: DataType): string {
  switch (type.kind) {
    case 'null':
      return 'Null'
    case 'bool':
      return 'Boolean'
    case 'int':
      return `${type.signed ? '' : 'U'}Int${type.bits}`
    case 'float':
      return `Float${type.bits}`
    case 'utf8':
      return type.large ? 'LargeUtf8' : 'Utf8'
    case 'binary':
      return type.large ? 'LargeBinary' : 'Binary'
    case 'fixed_size_binary':
      return `FixedSizeBinary(${type.width})`
    case 'decimal':
      return `Decimal${type.bits}(${type.precision}, ${type.scale})`
    case 'date':
      return type.unit === 'day' ? 'Date32' : 'Date64'
    case 'time':
      return `Time${type.unit === 's' || type.unit === 'ms' ? 32 : 64}(${unitName(type.unit)})`
    case 'timestamp':
      return `Timestamp(${unitName(type.unit)}, ${type.timezone === null ? 'None' : `Some("${type.timezone}")`})`
    case 'duration':
      return `Duration(${unitName(type.unit)})`
    case 'interval':
      return `Interval(${Object.entries(intervalNames).find(([, unit]) => unit === type.unit)![0]})`
    case 'list':
      return `${type.large ? 'LargeList' : 'List'}(${formatArrowType(type.child.type)})`
    case 'fixed_size_list':
      return `FixedSizeList(${type.size}, ${formatArrowType(type.child.type)})`
    case 'struct':
      return `Struct(${type.children.map(child => `${child.name}: ${formatArrowType(child.type)}`).join(', ')})`
    case 'map':
      return `Map(${formatArrowType(type.child.type)}, ${type.keysSorted ? 'sorted' : 'unsorted'})`
    case 'dictionary':
      return `Dictionary(${formatArrowType(type.index)}, ${formatArrowType(type.value)})`
  }
}

function unitName(unit: TimeUnit): string {
  return Object.entries(unitNames).find(([, other]) => other === unit)![0]
}

/** Reads and writes schemas in IPC metadata (Arrow format, Schema.fbs). */
import { quote, type SheafError, schemaMismatch, unsupported } from '../errors.js'
import { isDecimal } from './decimal.js'
import type { Table } from './flatbuffer-read.js'
import { bool, int8, int16, int32, int64, type Part, table, tables, text } from './flatbuffer-write.js'
import {
  childFields,
  type DataType,
  type Field,
  type IntType,
  maxTypeDepth,
  type Schema,
  type TimeUnit,
} from './types.js'
import type { WireField } from './wire-field.js'

/** Numbers of the union `Type` in Schema.fbs. */
const TypeId = {
  Null: 1,
  Int: 2,
  FloatingPoint: 3,
  Binary: 4,
  Utf8: 5,
  Bool: 6,
  Decimal: 7,
  Date: 8,
  Time: 9,
  Timestamp: 10,
  Interval: 11,
  List: 12,
  Struct: 13,
  Union: 14,
  FixedSizeBinary: 15,
  FixedSizeList: 16,
  Map: 17,
  Duration: 18,
  LargeBinary: 19,
  LargeUtf8: 20,
  LargeList: 21,
  RunEndEncoded: 22,
  BinaryView: 23,
  Utf8View: 24,
  ListView: 25,
  LargeListView: 26,
} as const

const units: readonly TimeUnit[] = ['s', 'ms', 'us', 'ns']
const intervalUnits = ['year_month', 'day_time', 'month_day_nano'] as const
const floatBits = [16, 32, 64] as const

/**
 * Encode a schema as a flatbuffer part. Dictionary fields get the ids that `wireFields(schema)` gives them.
 * @throws SchemaValidation if types are nested deeper than `maxTypeDepth`.
 */
export function encodeSchema(schema: Schema): Part {
  const ids = { next: 0 }
  const fields = schema.fields.map(field => encodeField(field, 1, ids))
  return table([null, tables(fields), encodeMetadata(schema.metadata)])
}

/** Encode custom metadata as a vector of KeyValue tables. Returns null if the metadata is empty or undefined. */
export function encodeMetadata(metadata: Readonly<Record<string, string>> | undefined): Part | null {
  const entries = Object.entries(metadata ?? {})
  if (entries.length === 0) return null
  return tables(entries.map(([key, value]) => table([text(key), text(value)])))
}

function encodeField(field: Field, depth: number, ids: { next: number }): Part {
  if (depth > maxTypeDepth) throw tooDeep(field.name)
  const { name, type, nullable, metadata } = field
  let dictionary: Part | null = null
  let plain = type
  if (type.kind === 'dictionary') {
    dictionary = table([int64(ids.next++), encodeInt(type.index), type.ordered ? bool(true) : null])
    plain = type.value
  }
  const { id, part } = encodeType(plain)
  return table([
    text(name),
    nullable ? bool(true) : null,
    int8(id),
    part,
    dictionary,
    tables(childFields(plain).map(child => encodeField(child, depth + 1, ids))),
    encodeMetadata(metadata),
  ])
}

function encodeInt(type: IntType): Part {
  return table([int32(type.bits), bool(type.signed)])
}

function encodeType(type: DataType): { id: number; part: Part } {
  switch (type.kind) {
    case 'null':
      return { id: TypeId.Null, part: table([]) }
    case 'bool':
      return { id: TypeId.Bool, part: table([]) }
    case 'int':
      return { id: TypeId.Int, part: encodeInt(type) }
    case 'float':
      return { id: TypeId.FloatingPoint, part: table([int16(floatBits.indexOf(type.bits))]) }
    case 'utf8':
      return { id: type.large ? TypeId.LargeUtf8 : TypeId.Utf8, part: table([]) }
    case 'binary':
      return { id: type.large ? TypeId.LargeBinary : TypeId.Binary, part: table([]) }
    case 'fixed_size_binary':
      return { id: TypeId.FixedSizeBinary, part: table([int32(type.width)]) }
    case 'decimal':
      return { id: TypeId.Decimal, part: table([int32(type.precision), int32(type.scale), int32(type.bits)]) }
    case 'date':
      return { id: TypeId.Date, part: table([int16(type.unit === 'day' ? 0 : 1)]) }
    case 'time': {
      const unit = units.indexOf(type.unit)
      return { id: TypeId.Time, part: table([int16(unit), int32(unit < 2 ? 32 : 64)]) }
    }
    case 'timestamp': {
      const timezone = type.timezone === null ? null : text(type.timezone)
      return { id: TypeId.Timestamp, part: table([int16(units.indexOf(type.unit)), timezone]) }
    }
    case 'duration':
      return { id: TypeId.Duration, part: table([int16(units.indexOf(type.unit))]) }
    case 'interval':
      return { id: TypeId.Interval, part: table([int16(intervalUnits.indexOf(type.unit))]) }
    case 'list':
      return { id: type.large ? TypeId.LargeList : TypeId.List, part: table([]) }
    case 'fixed_size_list':
      return { id: TypeId.FixedSizeList, part: table([int32(type.size)]) }
    case 'struct':
      return { id: TypeId.Struct, part: table([]) }
    case 'map':
      return { id: TypeId.Map, part: table([bool(type.keysSorted)]) }
    case 'dictionary':
      throw unsupported('Arrow cannot encode a dictionary whose values are dictionary-encoded')
  }
}

/** A decoded schema, and its fields in the form in which bodies contain them. */
export interface DecodedSchema {
  readonly schema: Schema
  readonly fields: readonly WireField[]
}

/**
 * Decode a Schema table. Converts utf8_view and binary_view to utf8 and binary.
 * @throws Unsupported for a type that Sheaf does not support (union, list view, run-end encoded, decimal32, decimal64),
 * and for big-endian data. InvalidInput for an invalid type. SchemaValidation if types are nested deeper than
 * `maxTypeDepth`.
 */
export function decodeSchema(source: Table): DecodedSchema {
  if (source.int16(0, 0) !== 0) {
    throw unsupported('the body is big-endian', { hint: 'write it in little-endian byte order' })
  }
  const decoded = source.tables(1).map(child => {
    const name = child.text(0) ?? ''
    return decodeField(child, name, name, 1)
  })
  const metadata = decodeMetadata(source, 2)
  return {
    schema: { fields: decoded.map(entry => entry.field), ...(metadata && { metadata }) },
    fields: decoded.map(entry => entry.wire),
  }
}

/**
 * Decode the KeyValue vector in field `slot` of a table. Returns undefined if it is empty or absent. If a key occurs
 * several times, its last value counts.
 */
export function decodeMetadata(source: Table, slot: number): Record<string, string> | undefined {
  const pairs = source.tables(slot)
  if (pairs.length === 0) return undefined
  return Object.fromEntries(pairs.map(pair => [pair.text(0) ?? '', pair.text(1) ?? '']))
}

interface DecodedField {
  readonly field: Field
  readonly wire: WireField
}

function decodeField(source: Table, name: string, path: string, depth: number): DecodedField {
  if (depth > maxTypeDepth) throw tooDeep(path)
  const id = source.uint8(2, 0)
  const childTables = source.tables(5)
  const only = (count: number): Table[] => {
    if (childTables.length !== count) {
      throw source.fault(`column ${quote(path)} has ${childTables.length} child fields, but needs ${count}`)
    }
    return childTables
  }
  const decodeChild = (child: Table, parent: 'list' | 'struct'): DecodedField => {
    const childName = child.text(0) ?? ''
    return decodeField(child, childName, parent === 'list' ? `${path}[]` : `${path}.${childName}`, depth + 1)
  }

  let children: DecodedField[] = []
  let type: DataType
  const parameters = source.table(3)
  if (parameters === null) throw source.fault(`column ${quote(path)} has no type`)
  switch (id) {
    case TypeId.List:
    case TypeId.LargeList:
      children = only(1).map(child => decodeChild(child, 'list'))
      type = { kind: 'list', large: id === TypeId.LargeList, child: children[0]!.field }
      break
    case TypeId.FixedSizeList:
      children = only(1).map(child => decodeChild(child, 'list'))
      type = {
        kind: 'fixed_size_list',
        size: decodeSize(parameters, 'list size', path),
        child: children[0]!.field,
      }
      break
    case TypeId.Struct:
      children = childTables.map(child => decodeChild(child, 'struct'))
      type = { kind: 'struct', children: children.map(child => child.field) }
      break
    case TypeId.Map: {
      children = only(1).map(child => decodeChild(child, 'struct'))
      const entries = children[0]!.field
      if (entries.type.kind !== 'struct' || entries.type.children.length !== 2) {
        throw source.fault(`column ${quote(path)} is a map whose entries are not a struct of key and value`)
      }
      type = { kind: 'map', keysSorted: parameters.bool(0), child: entries }
      break
    }
    default:
      type = decodeLeaf(id, parameters, path)
      only(0)
  }

  const view = id === TypeId.Utf8View || id === TypeId.BinaryView
  let wire: WireField = {
    path,
    type,
    view,
    dictionaryId: -1,
    children: children.map(child => child.wire),
    values: null,
  }
  const dictionary = source.table(4)
  if (dictionary !== null) {
    const index = dictionary.table(1)
    type = {
      kind: 'dictionary',
      index: index === null ? { kind: 'int', bits: 32, signed: true } : decodeInt(index, path),
      value: type,
      ordered: dictionary.bool(2),
    }
    wire = { path, type, view: false, dictionaryId: dictionary.int64(0, 0), children: [], values: wire }
  }
  const metadata = decodeMetadata(source, 6)
  const nullable = source.bool(1)
  return { field: { name, type, nullable, ...(metadata && { metadata }) }, wire }
}

function decodeLeaf(id: number, source: Table, path: string): DataType {
  switch (id) {
    case TypeId.Null:
      return { kind: 'null' }
    case TypeId.Bool:
      return { kind: 'bool' }
    case TypeId.Int:
      return decodeInt(source, path)
    case TypeId.FloatingPoint:
      return { kind: 'float', bits: pick(floatBits, source.int16(0, 0), source, path) }
    case TypeId.Utf8:
    case TypeId.LargeUtf8:
    case TypeId.Utf8View:
      return { kind: 'utf8', large: id === TypeId.LargeUtf8 }
    case TypeId.Binary:
    case TypeId.LargeBinary:
    case TypeId.BinaryView:
      return { kind: 'binary', large: id === TypeId.LargeBinary }
    case TypeId.FixedSizeBinary:
      return { kind: 'fixed_size_binary', width: decodeSize(source, 'width', path) }
    case TypeId.Decimal:
      return decodeDecimal(source, path)
    case TypeId.Date:
      return { kind: 'date', unit: pick(['day', 'ms'] as const, source.int16(0, 1), source, path) }
    case TypeId.Time: {
      const unit = pick(units, source.int16(0, 1), source, path)
      const bits = source.int32(1, 32)
      if (bits !== (unit === 's' || unit === 'ms' ? 32 : 64)) {
        throw source.fault(
          `column ${quote(path)} is a time in ${unit} with the invalid width of ${bits} bits`,
        )
      }
      return { kind: 'time', unit }
    }
    case TypeId.Timestamp: {
      const timezone = source.text(1)
      const unit = pick(units, source.int16(0, 0), source, path)
      return { kind: 'timestamp', unit, timezone: timezone === '' ? null : timezone }
    }
    case TypeId.Duration:
      return { kind: 'duration', unit: pick(units, source.int16(0, 1), source, path) }
    case TypeId.Interval:
      return { kind: 'interval', unit: pick(intervalUnits, source.int16(0, 0), source, path) }
    case TypeId.Union:
      throw unsupportedType(path, 'union')
    case TypeId.RunEndEncoded:
      throw unsupportedType(path, 'run_end_encoded')
    case TypeId.ListView:
      throw unsupportedType(path, 'list_view')
    case TypeId.LargeListView:
      throw unsupportedType(path, 'large_list_view')
    default:
      throw source.fault(`column ${quote(path)} has the unknown type number ${id}`)
  }
}

function decodeInt(source: Table, path: string): IntType {
  const bits = source.int32(0, 0)
  if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64) {
    throw source.fault(`column ${quote(path)} has integers of ${bits} bits, expected 8, 16, 32 or 64`)
  }
  return { kind: 'int', bits, signed: source.bool(1) }
}

function decodeDecimal(source: Table, path: string): DataType {
  const precision = source.int32(0, 0)
  const scale = source.int32(1, 0)
  const bits = source.int32(2, 128)
  if (bits === 32 || bits === 64) throw unsupportedType(path, `decimal${bits}`)
  if (bits !== 128 && bits !== 256)
    throw source.fault(`column ${quote(path)} is a decimal of ${bits} bits, expected 128 or 256`)
  if (!isDecimal(bits, precision, scale)) {
    throw source.fault(
      `column ${quote(path)} is a decimal with the invalid precision ${precision} or scale ${scale}`,
    )
  }
  return { kind: 'decimal', bits, precision, scale }
}

function decodeSize(source: Table, what: string, path: string): number {
  const size = source.int32(0, 0)
  if (size < 0) throw source.fault(`column ${quote(path)} has the ${what} ${size}`)
  return size
}

function pick<T>(from: readonly T[], index: number, source: Table, path: string): T {
  const found = from[index]
  if (found === undefined) throw source.fault(`column ${quote(path)} has the unknown unit ${index}`)
  return found
}

function unsupportedType(path: string, type: string): SheafError {
  return unsupported(`column ${quote(path)} has type ${type}, which Sheaf does not support`, {
    hint: 'cast the column before sending it',
  })
}

function tooDeep(path: string): SheafError {
  return schemaMismatch(`column ${quote(path)} is nested deeper than ${maxTypeDepth} types`)
}

/**
 * Plans how columns of Arrow become columns of a Parquet file. Types that Parquet does not have are stored as another
 * type, and the Arrow schema in the metadata of the file has the type (`read-plan.ts`).
 */
import type { DataType, Field, TimeUnit } from '../../../src/arrow/types.js'
import { quote, unsupported } from '../../../src/errors.js'
import { type PhysicalType, physicalTypes } from './metadata.js'
import { bool, int8, int32, struct, type ThriftField, type ThriftFields, text } from './thrift-writer.js'

interface PlanBase {
  /** The name of the column and of the fields inside, for messages. */
  readonly path: string
  readonly isOptional: boolean
  /** The definition level at which a row is not null. */
  readonly level: number
}

/** How a field becomes a node of the schema. */
export type WritePlan =
  | LeafWritePlan
  | (PlanBase & { readonly kind: 'struct'; readonly children: readonly WritePlan[] })
  | (PlanBase & { readonly kind: 'list'; readonly child: WritePlan; readonly repeated: number })

export interface LeafWritePlan extends PlanBase {
  readonly kind: 'leaf'
  readonly type: DataType
  readonly storage: Storage
  /** The names of the nodes from the root to the leaf. */
  readonly names: readonly string[]
  /** The number of repeated nodes from the root to the leaf. */
  readonly repeated: number
}

/** How values are stored. */
interface Storage {
  readonly physical: PhysicalType
  /** Bytes of each value of a fixed_len_byte_array. */
  readonly width?: number
  readonly converted?: number
  readonly logical?: ThriftFields
  /** Scale and precision of a decimal. */
  readonly decimal?: readonly [scale: number, precision: number]
  /** Values are multiplied by this number. Default: 1. */
  readonly factor?: bigint
}

/** The elements of the schema of a file in their order, and the plan of each column. */
export interface FilePlan {
  readonly elements: readonly ThriftField[]
  readonly columns: readonly WritePlan[]
}

interface Place {
  readonly path: string
  readonly names: readonly string[]
  readonly level: number
  readonly repeated: number
}

/** Plan the columns of a file. Throws Unsupported for a struct without fields, which Parquet does not have. */
export function planFile(fields: readonly Field[]): FilePlan {
  const elements: ThriftField[] = [
    struct([
      [4, text('schema')],
      [5, int32(fields.length)],
    ]),
  ]
  const root: Place = { path: '', names: [], level: 0, repeated: 0 }
  return { elements, columns: fields.map(field => planField(field, field.name, root, elements)) }
}

function planField(field: Field, name: string, parent: Place, elements: ThriftField[]): WritePlan {
  const path = parent.path === '' ? field.name : `${parent.path}.${field.name}`
  const type = field.type.kind === 'dictionary' ? field.type.value : field.type
  const isOptional = field.nullable || type.kind === 'null'
  const level = parent.level + (isOptional ? 1 : 0)
  const names = [...parent.names, name]
  const base = { path, isOptional, level }
  const repetition = isOptional ? 1 : 0
  switch (type.kind) {
    case 'struct': {
      const { children } = type
      if (children.length === 0)
        throw unsupported(`column ${quote(path)} is a struct without fields, which Parquet does not have`, {
          hint: 'leave out the column',
        })
      elements.push(group(name, repetition, children.length))
      const place = { path, names, level, repeated: parent.repeated }
      return {
        ...base,
        kind: 'struct',
        children: children.map(child => planField(child, child.name, place, elements)),
      }
    }
    case 'list':
    case 'fixed_size_list': {
      elements.push(group(name, repetition, 1, { converted: 3, logical: [[3, struct([])]] }))
      elements.push(group('list', 2, 1))
      const repeated = parent.repeated + 1
      const place = { path: `${path}[]`, names: [...names, 'list'], level: level + 1, repeated }
      return { ...base, kind: 'list', repeated, child: planField(type.child, 'element', place, elements) }
    }
    case 'map': {
      elements.push(group(name, repetition, 1, { converted: 1, logical: [[2, struct([])]] }))
      elements.push(group('key_value', 2, 2))
      const repeated = parent.repeated + 1
      const place = { path: `${path}[]`, names: [...names, 'key_value'], level: level + 1, repeated }
      const entries = type.child.type.kind === 'struct' ? type.child.type.children : []
      const children = entries.map((child, i) => planField(child, i === 0 ? 'key' : 'value', place, elements))
      // The entries are the repeated node itself.
      const child: WritePlan = { path, isOptional: false, level: level + 1, kind: 'struct', children }
      return { ...base, kind: 'list', repeated, child }
    }
    default: {
      const storage = storageOf(type)
      elements.push(leaf(name, repetition, storage))
      return { ...base, kind: 'leaf', type, storage, names, repeated: parent.repeated }
    }
  }
}

function group(
  name: string,
  repetition: number,
  children: number,
  annotation: Pick<Storage, 'converted' | 'logical'> = {},
): ThriftField {
  const { converted, logical } = annotation
  return struct([
    [3, int32(repetition)],
    [4, text(name)],
    [5, int32(children)],
    [6, converted === undefined ? null : int32(converted)],
    [10, logical === undefined ? null : struct(logical)],
  ])
}

function leaf(name: string, repetition: number, storage: Storage): ThriftField {
  const { physical, width, converted, logical, decimal } = storage
  return struct([
    [1, int32(physicalTypes.indexOf(physical))],
    [2, width === undefined ? null : int32(width)],
    [3, int32(repetition)],
    [4, text(name)],
    [6, converted === undefined ? null : int32(converted)],
    [7, decimal === undefined ? null : int32(decimal[0])],
    [8, decimal === undefined ? null : int32(decimal[1])],
    [10, logical === undefined ? null : struct(logical)],
  ])
}

type LeafType = Exclude<
  DataType,
  { readonly kind: 'struct' | 'list' | 'fixed_size_list' | 'map' | 'dictionary' }
>

function storageOf(type: DataType): Storage {
  const leafType = type as LeafType
  switch (leafType.kind) {
    case 'null':
      return { physical: 'int32', logical: [[11, struct([])]] }
    case 'bool':
      return { physical: 'boolean' }
    case 'int':
      return intStorage(leafType.bits, leafType.signed)
    case 'float':
      if (leafType.bits === 16)
        return { physical: 'fixed_len_byte_array', width: 2, logical: [[15, struct([])]] }
      return { physical: leafType.bits === 32 ? 'float' : 'double' }
    case 'utf8':
      return { physical: 'byte_array', converted: 0, logical: [[1, struct([])]] }
    case 'binary':
      return { physical: 'byte_array' }
    case 'fixed_size_binary':
      // Parquet has no values of 0 bytes with a fixed width.
      if (leafType.width === 0) return { physical: 'byte_array' }
      return { physical: 'fixed_len_byte_array', width: leafType.width }
    case 'decimal':
      return decimalStorage(leafType)
    case 'date':
      if (leafType.unit === 'day') return { physical: 'int32', converted: 6, logical: [[6, struct([])]] }
      return timestampStorage('ms', false)
    case 'time':
      return timeStorage(leafType.unit)
    case 'timestamp':
      return timestampStorage(leafType.unit, leafType.timezone !== null)
    case 'duration':
      return { physical: 'int64' }
    case 'interval': {
      const width = { year_month: 4, day_time: 8, month_day_nano: 16 }[leafType.unit]
      return { physical: 'fixed_len_byte_array', width }
    }
  }
}

function intStorage(bits: 8 | 16 | 32 | 64, signed: boolean): Storage {
  const physical = bits === 64 ? 'int64' : 'int32'
  if (signed && bits >= 32) return { physical }
  const converted = (signed ? 15 : 11) + [8, 16, 32, 64].indexOf(bits)
  return {
    physical,
    converted,
    logical: [
      [
        10,
        struct([
          [1, int8(bits)],
          [2, bool(signed)],
        ]),
      ],
    ],
  }
}

function decimalStorage({ bits, precision, scale }: DataType & { readonly kind: 'decimal' }): Storage {
  const fixed = { physical: 'fixed_len_byte_array', width: bits / 8 } as const
  // Parquet has no decimals with other scales. Such a column is stored as bytes.
  if (scale < 0 || scale > precision) return fixed
  return {
    ...fixed,
    converted: 5,
    decimal: [scale, precision],
    logical: [
      [
        5,
        struct([
          [1, int32(scale)],
          [2, int32(precision)],
        ]),
      ],
    ],
  }
}

function unitField(unit: 'ms' | 'us' | 'ns'): ThriftField {
  return struct([[{ ms: 1, us: 2, ns: 3 }[unit], struct([])]])
}

/** Parquet has no unit of seconds. A finer unit holds all seconds. */
function timeStorage(unit: TimeUnit): Storage {
  const stored = unit === 's' ? 'us' : unit
  return {
    physical: stored === 'ms' ? 'int32' : 'int64',
    logical: [
      [
        7,
        struct([
          [1, bool(false)],
          [2, unitField(stored)],
        ]),
      ],
    ],
    ...(unit === 's' && { factor: 1_000_000n }),
  }
}

function timestampStorage(unit: TimeUnit, utc: boolean): Storage {
  const stored = unit === 's' ? 'ms' : unit
  return {
    physical: 'int64',
    logical: [
      [
        8,
        struct([
          [1, bool(utc)],
          [2, unitField(stored)],
        ]),
      ],
    ],
    ...(utc && stored !== 'ns' && { converted: stored === 'ms' ? 9 : 10 }),
    ...(unit === 's' && { factor: 1000n }),
  }
}

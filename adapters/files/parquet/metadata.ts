/** The metadata of a Parquet file as plain data: schema, row groups and indexes of pages (parquet.thrift). */
import { unsupported } from '../../../src/errors.js'
import { brokenParquet } from './fault.js'
import { readThrift, ThriftEnd, type ThriftStruct } from './thrift-reader.js'

/** How values are stored, by their number in the format. */
export const physicalTypes = [
  'boolean',
  'int32',
  'int64',
  'int96',
  'float',
  'double',
  'byte_array',
  'fixed_len_byte_array',
] as const
export type PhysicalType = (typeof physicalTypes)[number]

/** The meaning of stored values. */
type Annotation =
  | { readonly kind: 'none' | 'text' | 'date' | 'float16' | 'interval' | 'null' | 'list' | 'map' }
  | { readonly kind: 'int'; readonly bits: 8 | 16 | 32 | 64; readonly signed: boolean }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'time'; readonly unit: 'ms' | 'us' | 'ns' }
  | { readonly kind: 'timestamp'; readonly unit: 'ms' | 'us' | 'ns'; readonly utc: boolean }

/** A node of the schema. A group has children. A leaf has a physical type and a number among all leaves. */
export interface SchemaNode {
  readonly name: string
  readonly repetition: 'required' | 'optional' | 'repeated'
  readonly annotation: Annotation
  readonly children: readonly SchemaNode[]
  /** Null for a group. */
  readonly physical: PhysicalType | null
  /** Bytes of each value of a fixed_len_byte_array. 0 for other types. */
  readonly width: number
  /** Number among all leaves. -1 for a group. */
  readonly leaf: number
  /** The definition level at which a value of the node is present. */
  readonly definition: number
  /** The number of repeated nodes from the root to this node. */
  readonly repeated: number
}

/** The statistics of a column chunk or page. A bound is null if it is absent. */
export interface Statistics {
  readonly least: Uint8Array | null
  readonly greatest: Uint8Array | null
  readonly nulls: number | null
  readonly nans: number | null
}

export interface FileRange {
  readonly offset: number
  readonly length: number
}

export interface ColumnChunk {
  readonly codec: number
  readonly values: number
  /** The bytes of all pages. */
  readonly range: FileRange
  readonly statistics: Statistics | null
  readonly columnIndex: FileRange | null
  readonly offsetIndex: FileRange | null
}

export interface RowGroup {
  readonly rows: number
  /** Bytes of all columns before compression. */
  readonly bytes: number
  readonly chunks: readonly ColumnChunk[]
}

export interface FileMetadata {
  readonly rows: number
  readonly root: SchemaNode
  readonly leaves: readonly SchemaNode[]
  readonly groups: readonly RowGroup[]
  readonly pairs: ReadonlyMap<string, string>
  /** By leaf: whether the bounds in its statistics have the order that its type defines. */
  readonly isOrdered: readonly boolean[]
}

/** Read a whole struct. Throws InvalidInput if the bytes end before the struct. */
function readStruct(bytes: Uint8Array, at: number): ThriftStruct {
  try {
    return readThrift(bytes, at).struct
  } catch (error) {
    throw error instanceof ThriftEnd ? brokenParquet('its metadata is cut off', at) : error
  }
}

/** Read the metadata in a footer. `at`: the byte of the file at which it begins, and before which the data ends. */
export function readMetadata(bytes: Uint8Array, at: number): FileMetadata {
  const file = readStruct(bytes, at)
  const elements = file.structs(2)
  const leaves: SchemaNode[] = []
  const cursor = { next: 0 }
  if (elements.length === 0) throw file.fault('it has no schema')
  const root = readNode(elements, cursor, leaves, null)
  if (cursor.next !== elements.length) throw file.fault('its schema has more elements than its tree')
  if (root.leaf !== -1) throw file.fault('the root of its schema is not a group')
  const slack = slackOf(file.text(6) ?? '')
  const groups = file.structs(4).map(group => readGroup(group, leaves, { end: at, slack }))
  const rows = groups.reduce((sum, group) => sum + group.rows, 0)
  const recorded = file.neededCount(3)
  // parquet-rs 0.3 recorded 0 rows.
  if (recorded !== 0 && recorded !== rows) {
    throw file.fault(`its row groups do not have the ${recorded} rows of the file`)
  }
  const pairs = new Map<string, string>()
  for (const pair of file.structs(5)) pairs.set(pair.text(1) ?? '', pair.text(2) ?? '')
  const orders = file.structs(7)
  return { rows, root, leaves, groups, pairs, isOrdered: leaves.map((_, i) => orders[i]?.has(1) ?? false) }
}

/**
 * Return the bytes that may follow a column beyond its recorded length. parquet-mr before 1.2.9 did not count the header of
 * the dictionary page (PARQUET-816). `writer`: the name that the writer recorded.
 */
function slackOf(writer: string): number {
  const match = /^parquet-mr(?: version (\d+)\.(\d+)\.(\d+))?/.exec(writer)
  if (match === null) return 0
  const [major, minor, patch] = match.slice(1).map(digits => Number(digits ?? 0))
  return major! * 1e6 + minor! * 1e3 + patch! < 1_002_009 ? 100 : 0
}

/** Maximum depth of the schema. Each nested type of Arrow has up to two levels. */
const maxDepth = 110

function readNode(
  elements: readonly ThriftStruct[],
  cursor: { next: number },
  leaves: SchemaNode[],
  parent: Pick<SchemaNode, 'definition' | 'repeated'> | null,
  depth = 0,
): SchemaNode {
  const element = elements[cursor.next++]
  if (element === undefined) throw brokenParquet('its schema ends inside of a group')
  if (depth > maxDepth) throw element.fault(`its schema is nested deeper than ${maxDepth} levels`)
  const repetition =
    parent === null ? 'required' : (['required', 'optional', 'repeated'] as const)[element.count(3) ?? -1]
  if (repetition === undefined) throw element.fault('a column has an unknown repetition type')
  const base = {
    name: element.text(4) ?? '',
    repetition,
    annotation: readAnnotation(element),
    definition: (parent?.definition ?? 0) + (repetition === 'required' ? 0 : 1),
    repeated: (parent?.repeated ?? 0) + (repetition === 'repeated' ? 1 : 0),
  }
  const type = element.count(1)
  if (type !== null) {
    const physical = physicalTypes[type]
    if (physical === undefined) throw element.fault(`a column has the unknown physical type ${type}`)
    const width = physical === 'fixed_len_byte_array' ? element.neededCount(2) : 0
    if (physical === 'fixed_len_byte_array' && (width === 0 || width > 2 ** 24))
      throw element.fault(`a column has values of ${width} bytes`)
    const leaf = { ...base, children: [], physical, width, leaf: leaves.length }
    leaves.push(leaf)
    return leaf
  }
  const count = element.count(5) ?? 0
  if (count > elements.length) throw element.fault(`a group has ${count} children`)
  const children: SchemaNode[] = []
  for (let i = 0; i < count; i++) children.push(readNode(elements, cursor, leaves, base, depth + 1))
  return { ...base, children, physical: null, width: 0, leaf: -1 }
}

function readAnnotation(element: ThriftStruct): Annotation {
  const logical = element.struct(10)
  return (logical === null ? null : readLogical(logical)) ?? readConverted(element)
}

function readLogical(logical: ThriftStruct): Annotation | null {
  if (logical.has(1) || logical.has(4) || logical.has(12)) return { kind: 'text' }
  if (logical.has(2)) return { kind: 'map' }
  if (logical.has(3)) return { kind: 'list' }
  const decimal = logical.struct(5)
  if (decimal !== null)
    return { kind: 'decimal', precision: decimal.neededCount(2), scale: decimal.neededCount(1) }
  if (logical.has(6)) return { kind: 'date' }
  const time = logical.struct(7)
  if (time !== null) return { kind: 'time', unit: readUnit(time) }
  const timestamp = logical.struct(8)
  if (timestamp !== null)
    return { kind: 'timestamp', unit: readUnit(timestamp), utc: timestamp.flag(1) ?? false }
  const int = logical.struct(10)
  if (int !== null) {
    const bits = int.integer(1)
    if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64)
      throw int.fault(`a column has integers of ${bits} bits`)
    return { kind: 'int', bits, signed: int.flag(2) ?? true }
  }
  if (logical.has(11)) return { kind: 'null' }
  if (logical.has(15)) return { kind: 'float16' }
  return null
}

function readUnit(type: ThriftStruct): 'ms' | 'us' | 'ns' {
  const unit = type.struct(2)
  if (unit?.has(1)) return 'ms'
  if (unit?.has(2)) return 'us'
  if (unit?.has(3)) return 'ns'
  throw type.fault('a column has a time without a unit')
}

/** Read the older form of the annotation. */
function readConverted(element: ThriftStruct): Annotation {
  const converted = element.count(6)
  const int = (bits: 8 | 16 | 32 | 64, signed: boolean): Annotation => ({ kind: 'int', bits, signed })
  switch (converted) {
    case 0:
    case 4:
    case 19:
      return { kind: 'text' }
    case 1:
    case 2:
      return { kind: 'map' }
    case 3:
      return { kind: 'list' }
    case 5:
      return { kind: 'decimal', precision: element.neededCount(8), scale: element.count(7) ?? 0 }
    case 6:
      return { kind: 'date' }
    case 7:
    case 8:
      return { kind: 'time', unit: converted === 7 ? 'ms' : 'us' }
    case 9:
    case 10:
      return { kind: 'timestamp', unit: converted === 9 ? 'ms' : 'us', utc: true }
    case 11:
    case 12:
    case 13:
    case 14:
      return int(([8, 16, 32, 64] as const)[converted - 11]!, false)
    case 15:
    case 16:
    case 17:
    case 18:
      return int(([8, 16, 32, 64] as const)[converted - 15]!, true)
    case 21:
      return { kind: 'interval' }
    default:
      return { kind: 'none' }
  }
}

/** Where the data of a file ends, and the bytes that may follow a column beyond its recorded length. */
interface DataEnd {
  readonly end: number
  readonly slack: number
}

function readGroup(group: ThriftStruct, leaves: readonly SchemaNode[], end: DataEnd): RowGroup {
  const chunks = group.structs(1)
  if (chunks.length !== leaves.length) {
    throw group.fault(`a row group has ${chunks.length} columns, but the schema has ${leaves.length}`)
  }
  const rows = group.neededCount(3)
  return {
    rows,
    bytes: group.count(2) ?? 0,
    chunks: chunks.map((chunk, i) => readChunk(chunk, leaves[i]!, end)),
  }
}

function readChunk(chunk: ThriftStruct, leaf: SchemaNode, { end, slack }: DataEnd): ColumnChunk {
  if (chunk.has(8) || chunk.has(9)) throw unsupported('Sheaf does not read encrypted Parquet files')
  if (chunk.has(1)) throw unsupported('Sheaf does not read Parquet files whose columns are in other files')
  const data = chunk.struct(3)
  if (data === null) throw chunk.fault('a column of a row group has no metadata')
  if (physicalTypes[data.neededCount(1)] !== leaf.physical)
    throw data.fault('a column of a row group has another physical type than the schema')
  const first = data.neededCount(9)
  const dictionary = data.count(11) ?? 0
  const offset = dictionary > 0 ? Math.min(first, dictionary) : first
  const length = data.neededCount(7)
  const values = data.neededCount(5)
  // Some writers record the offset 0 for a column without values.
  const range =
    values === 0
      ? { offset: 4, length: 0 }
      : within({ offset, length: Math.max(length, Math.min(length + slack, end - offset)) }, end, data)
  const statistics = data.struct(12)
  return {
    codec: data.neededCount(4),
    values,
    range,
    statistics: statistics === null ? null : readStatistics(statistics),
    offsetIndex: indexRange(chunk, 4, end),
    columnIndex: indexRange(chunk, 6, end),
  }
}

function indexRange(chunk: ThriftStruct, field: number, end: number): FileRange | null {
  const offset = chunk.count(field)
  const length = chunk.count(field + 1)
  return offset === null || length === null || length === 0 ? null : within({ offset, length }, end, chunk)
}

function within(range: FileRange, end: number, struct: ThriftStruct): FileRange {
  if (range.offset < 4 || range.offset + range.length > end) {
    throw struct.fault(
      `a column has its data at bytes ${range.offset} to ${range.offset + range.length}, but the data of the file ends at byte ${end}`,
    )
  }
  return range
}

/** Read statistics. The older bounds, in fields 1 and 2, are ignored, because writers disagreed about their order. */
function readStatistics(statistics: ThriftStruct): Statistics {
  return {
    greatest: statistics.bytes(5),
    least: statistics.bytes(6),
    nulls: statistics.count(3),
    nans: statistics.count(9),
  }
}

/** The place of a page, and the number of its first row in the row group. */
export interface PagePlace extends FileRange {
  readonly firstRow: number
}

/** Read the places of the data pages of a chunk. Returns null if they are not in order, so that nobody relies on them. */
export function readOffsetIndex(
  bytes: Uint8Array,
  at: number,
  chunk: ColumnChunk,
  rows: number,
): PagePlace[] | null {
  const places = readStruct(bytes, at)
    .structs(1)
    .map(place => ({
      offset: place.neededCount(1),
      length: place.neededCount(2),
      firstRow: place.neededCount(3),
    }))
  const { offset, length } = chunk.range
  let end = offset
  let row = -1
  for (const place of places) {
    if (place.offset < end || place.offset + place.length > offset + length || place.firstRow <= row)
      return null
    end = place.offset + place.length
    row = place.firstRow
  }
  return places[0]?.firstRow === 0 && row < rows ? places : null
}

/** Read the statistics of each page of a chunk. Returns null if there are not as many as `pages`. */
export function readColumnIndex(bytes: Uint8Array, at: number, pages: number): Statistics[] | null {
  const index = readStruct(bytes, at)
  const isNull = index.list(1) ?? []
  const least = index.byteStrings(2)
  const greatest = index.byteStrings(3)
  const nulls = index.has(5) ? index.integers(5) : null
  const nans = index.has(8) ? index.integers(8) : null
  const lists = [isNull, least, greatest, nulls ?? isNull, nans ?? isNull]
  if (lists.some(({ length }) => length !== pages)) return null
  return least.map((bound, i) => ({
    // In a page of nulls, the bounds are empty and have no meaning.
    least: isNull[i] === true ? null : bound,
    greatest: isNull[i] === true ? null : greatest[i]!,
    nulls: nulls?.[i] ?? null,
    nans: nans?.[i] ?? null,
  }))
}

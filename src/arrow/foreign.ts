/**
 * Reads tables and record batches of any version of apache-arrow. This module recognizes them by their properties. It
 * does not use `instanceof`, because an application may have several copies of the package with different classes.
 *
 * `ForeignData` has the properties of apache-arrow's class `Data` that this module uses. `offset` is the first row of a
 * slice. It applies only to bitmaps (validity and bool values), because apache-arrow already cuts the values, offsets
 * and children of a slice.
 */
import { invalidInput, quote, type SheafError, schemaMismatch, unsupported } from '../errors.js'
import { bitmapBytes, countBits, cutBits } from './bits.js'
import { invalidUtf8Row } from './check-utf8.js'
import type { Batch, Column } from './column.js'
import { concatColumns } from './concat.js'
import { isDecimal } from './decimal.js'
import { emptyColumn, nullColumn } from './fill.js'
import { asBytes, cellBytes, hasCells, hasOffsets, viewCells } from './layout.js'
import { equalSchemas } from './same-type.js'
import { sliceColumn } from './slice.js'
import { childFields, type DataType, type Field, type IntType, maxTypeDepth, type Schema } from './types.js'

interface ForeignType {
  readonly typeId: number
  readonly [property: string]: unknown
}

interface ForeignField {
  readonly name: string
  readonly type: ForeignType
  readonly nullable: boolean
  readonly metadata?: ReadonlyMap<string, string> | null
}

interface ForeignSchema {
  readonly fields: readonly ForeignField[]
  readonly metadata?: ReadonlyMap<string, string> | null
}

interface ForeignData {
  readonly type: ForeignType
  readonly length: number
  readonly offset: number
  readonly nullBitmap?: Uint8Array | null
  readonly valueOffsets?: Int32Array | BigInt64Array | null
  readonly values?: ArrayBufferView | null
  readonly children: readonly ForeignData[]
  readonly dictionary?: { readonly data: readonly ForeignData[] } | null
  readonly variadicBuffers?: readonly Uint8Array[]
}

interface ForeignBatch {
  readonly schema: ForeignSchema
  readonly data: ForeignData
}

/** The batches of a converted table or batch, and their common schema. */
interface ForeignBatches {
  readonly schema: Schema
  readonly batches: readonly Batch[]
}

/**
 * Convert a Table, a RecordBatch, or an array of them. The elements of an array must have equal schemas. Returns null
 * for any other value. Shares buffers with the value if they have the layout that Sheaf uses, and copies other buffers.
 * @throws Unsupported for a type that Sheaf does not support. SchemaValidation for elements with different schemas.
 * InvalidInput for data that contradicts its type.
 */
export function fromForeignArrow(value: unknown): ForeignBatches | null {
  const parts: readonly unknown[] = Array.isArray(value) ? value : [value]
  const known = parts.filter(part => isTable(part) || isBatch(part))
  if (known.length === 0 || known.length < parts.length) return null
  const first = readSchema(known[0]!.schema)
  const batches: Batch[] = []
  for (const part of known) {
    if (!equalSchemas(readSchema(part.schema), first)) {
      throw schemaMismatch('the Arrow tables or batches of one call must have equal schemas')
    }
    for (const batch of isTable(part) ? part.batches : [part]) batches.push(readBatch(batch, first))
  }
  return { schema: first, batches }
}

/** Return whether a value is a Table or a RecordBatch. */
export function isForeignArrow(value: unknown): boolean {
  return isTable(value) || isBatch(value)
}

/**
 * Return a Schema of apache-arrow as plain data. Returns null if the value is not such a Schema, or has no fields.
 * Throws `Unsupported` for a type that Sheaf does not support.
 */
export function fromForeignSchema(value: unknown): Schema | null {
  return isSchema(value) && value.fields.length > 0 ? readSchema(value) : null
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isSchema(value: unknown): value is ForeignSchema {
  return (
    isObject(value) &&
    Array.isArray(value.fields) &&
    value.fields.every(
      field => isObject(field) && isObject(field.type) && typeof field.type.typeId === 'number',
    )
  )
}

function isData(value: unknown): value is ForeignData {
  return (
    isObject(value) &&
    isObject(value.type) &&
    typeof value.length === 'number' &&
    Array.isArray(value.children)
  )
}

function isBatch(value: unknown): value is ForeignBatch {
  return isObject(value) && isSchema(value.schema) && isData(value.data)
}

function isTable(value: unknown): value is { schema: ForeignSchema; batches: readonly ForeignBatch[] } {
  return (
    isObject(value) && isSchema(value.schema) && Array.isArray(value.batches) && value.batches.every(isBatch)
  )
}

function readSchema(source: ForeignSchema): Schema {
  const metadata = readMetadata(source.metadata)
  return { fields: source.fields.map(field => readField(field, 1)), ...(metadata && { metadata }) }
}

function readMetadata(source: ReadonlyMap<string, string> | null | undefined): Field['metadata'] {
  return source && source.size > 0 ? Object.fromEntries(source) : undefined
}

function readField(source: ForeignField, depth: number): Field {
  const name = String(source.name)
  if (depth > maxTypeDepth)
    throw invalidInput(`column ${quote(name)} is nested deeper than ${maxTypeDepth} types`)
  const metadata = readMetadata(source.metadata)
  return {
    name,
    type: readType(source.type, name, depth),
    nullable: source.nullable === true,
    ...(metadata && { metadata }),
  }
}

const units = ['s', 'ms', 'us', 'ns'] as const
const intervalUnits = ['year_month', 'day_time', 'month_day_nano'] as const

/**
 * Convert a type. `typeId` is a value of apache-arrow's enum `Type`: a number from Schema.fbs, or -1 for a dictionary.
 */
function readType(source: ForeignType, name: string, depth: number): DataType {
  const child = (index: number): Field => {
    const children = source.children
    if (!Array.isArray(children) || children[index] === undefined) throw unsupportedType(name, source)
    return readField(children[index] as ForeignField, depth + 1)
  }
  const pick = <T>(from: readonly T[]): T => {
    const found = from[Number(source.unit)]
    if (found === undefined) throw unsupportedType(name, source)
    return found
  }
  switch (source.typeId) {
    case 1:
      return { kind: 'null' }
    case 2:
      return readInt(source, name)
    case 3: {
      const bits = ([16, 32, 64] as const)[Number(source.precision)]
      if (bits === undefined) throw unsupportedType(name, source)
      return { kind: 'float', bits }
    }
    case 4:
    case 19:
    case 23:
      return { kind: 'binary', large: source.typeId === 19 }
    case 5:
    case 20:
    case 24:
      return { kind: 'utf8', large: source.typeId === 20 }
    case 6:
      return { kind: 'bool' }
    case 7: {
      const bits = source.bitWidth ?? 128
      const precision = Number(source.precision)
      const scale = Number(source.scale)
      if ((bits !== 128 && bits !== 256) || !isDecimal(bits, precision, scale))
        throw unsupportedType(name, source)
      return { kind: 'decimal', bits, precision, scale }
    }
    case 8:
      return { kind: 'date', unit: pick(['day', 'ms'] as const) }
    case 9:
      return { kind: 'time', unit: pick(units) }
    case 10: {
      const timezone = source.timezone
      return { kind: 'timestamp', unit: pick(units), timezone: timezone ? String(timezone) : null }
    }
    case 11:
      return { kind: 'interval', unit: pick(intervalUnits) }
    case 12:
    case 21:
      return { kind: 'list', large: source.typeId === 21, child: child(0) }
    case 13:
      return { kind: 'struct', children: ((source.children ?? []) as unknown[]).map((_, i) => child(i)) }
    case 15:
      return { kind: 'fixed_size_binary', width: Number(source.byteWidth) }
    case 16:
      return { kind: 'fixed_size_list', size: Number(source.listSize), child: child(0) }
    case 17:
      return { kind: 'map', keysSorted: source.keysSorted === true, child: child(0) }
    case 18:
      return { kind: 'duration', unit: pick(units) }
    case -1: {
      const { indices, dictionary } = source
      if (!isObject(indices) || !isObject(dictionary)) throw unsupportedType(name, source)
      return {
        kind: 'dictionary',
        index: readInt(indices as ForeignType, name),
        value: readType(dictionary as ForeignType, name, depth + 1),
        ordered: source.isOrdered === true,
      }
    }
    default:
      throw unsupportedType(name, source)
  }
}

function readInt(source: ForeignType, name: string): IntType {
  const bits = source.bitWidth
  if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64) throw unsupportedType(name, source)
  return { kind: 'int', bits, signed: source.isSigned === true }
}

function unsupportedType(name: string, source: ForeignType): SheafError {
  return unsupported(
    `column ${quote(name)} has type ${String(source)} (${source.typeId}), which Sheaf does not support`,
  )
}

function readBatch({ data }: ForeignBatch, schema: Schema): Batch {
  if (data.children.length !== schema.fields.length) {
    throw invalidInput(
      `a record batch has ${data.children.length} columns, but its table has ${schema.fields.length}`,
    )
  }
  if (data.nullBitmap && countNulls(data) > 0) {
    throw unsupported(
      'Sheaf does not support record batches that were made from a struct column with null rows',
      {
        hint: 'filter the null rows out first',
      },
    )
  }
  const columns = schema.fields.map((field, i) =>
    readColumn(field.type, data.children[i]!, data.length, field.name),
  )
  return { schema, length: data.length, columns }
}

function countNulls({ nullBitmap, offset, length }: ForeignData): number {
  if (!nullBitmap || nullBitmap.length === 0) return 0
  return length - countBits(cutBits(nullBitmap, offset, length), length)
}

/** Convert the first `length` rows of `data` to a column. `type` is the converted type of `data`. */
function readColumn(type: DataType, data: ForeignData, length: number, path: string): Column {
  if (data.length < length) throw broken(path, `has ${data.length} rows, but needs ${length}`)
  // A table without rows may have a batch in which nested columns have no children, so do not read children here.
  if (length === 0) return emptyColumn(type)
  if (type.kind === 'null') return nullColumn(type, length)
  const rows = { type, length, ...readValidity(data, length, path), children: [], dictionary: null }
  if (data.type.typeId === 23 || data.type.typeId === 24) return readViews(type, data, rows, path)
  if (hasOffsets(type)) return readOffsetColumn(type, data, rows, path)
  if (type.kind === 'struct') {
    const children = type.children.map((field, i) =>
      readColumn(field.type, childOf(data, i, path), length, `${path}.${field.name}`),
    )
    return { ...rows, values: null, offsets: null, children }
  }
  if (type.kind === 'fixed_size_list') {
    const child = readColumn(type.child.type, childOf(data, 0, path), length * type.size, `${path}[]`)
    return { ...rows, values: null, offsets: null, children: [child] }
  }
  if (type.kind === 'bool') {
    const bits = bytesOf(data, path, bitmapBytes(data.offset + length))
    return { ...rows, values: cutBits(bits, data.offset, length), offsets: null }
  }
  if (!hasCells(type)) throw broken(path, `has the unsupported type ${type.kind}`)
  const cells = viewCells(type, bytesOf(data, path, cellBytes(type) * length), length)
  if (type.kind !== 'dictionary') return { ...rows, values: cells, offsets: null }

  const chunks = (data.dictionary?.data ?? []).map(chunk => readColumn(type.value, chunk, chunk.length, path))
  const dictionary = chunks.length === 0 ? emptyColumn(type.value) : concatColumns(chunks)
  for (let i = 0; i < length; i++) {
    const present = rows.validity === null || ((rows.validity[i >>> 3]! >>> (i & 7)) & 1) === 1
    const index = cells[i]!
    if (present && (index < 0 || index >= dictionary.length)) {
      throw broken(path, `has index ${index} in row ${i}, but its dictionary has ${dictionary.length} values`)
    }
  }
  return { ...rows, values: cells, offsets: null, dictionary }
}

type Rows = Pick<Column, 'type' | 'length' | 'nullCount' | 'validity' | 'children' | 'dictionary'>

function readValidity(
  data: ForeignData,
  length: number,
  path: string,
): Pick<Column, 'validity' | 'nullCount'> {
  const none = { validity: null, nullCount: 0 }
  const { nullBitmap, offset } = data
  if (!nullBitmap || nullBitmap.length === 0) return none
  if (nullBitmap.length < bitmapBytes(offset + length)) throw broken(path, 'has too few validity bits')
  const validity = cutBits(asBytes(nullBitmap), offset, length)
  const nullCount = length - countBits(validity, length)
  return nullCount === 0 ? none : { validity, nullCount }
}

function readOffsetColumn(type: DataType, data: ForeignData, rows: Rows, path: string): Column {
  const { length } = rows
  const source = data.valueOffsets
  if (!source || source.length < length + 1) {
    throw broken(path, 'has too few offsets')
  }
  const first = Number(source[0])
  const last = Number(source[length])
  const offsets = new Int32Array(length + 1)
  let previous = first
  for (let i = 0; i <= length; i++) {
    const offset = Number(source[i])
    if (offset < previous || offset - first > 0x7fffffff)
      throw broken(path, `has the offset ${offset} at row ${i}`)
    offsets[i] = offset - first
    previous = offset
  }
  if (type.kind === 'utf8' || type.kind === 'binary') {
    const values = bytesOf(data, path, last).subarray(first, last)
    return checkedText({ ...rows, values, offsets }, path)
  }
  const [field] = childFields(type)
  const child = readColumn(field!.type, childOf(data, 0, path), last, `${path}[]`)
  return { ...rows, values: null, offsets, children: [sliceColumn(child, first, last - first)] }
}

function readViews(type: DataType, data: ForeignData, rows: Rows, path: string): Column {
  const { length } = rows
  const bytes = bytesOf(data, path, 16 * length)
  const views = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parts: Uint8Array[] = []
  const offsets = new Int32Array(length + 1)
  let total = 0
  for (let i = 0; i < length; i++) {
    const present = rows.validity === null || ((rows.validity[i >>> 3]! >>> (i & 7)) & 1) === 1
    const size = present ? views.getUint32(16 * i, true) : 0
    total += size
    if (total > 0x7fffffff) throw broken(path, 'has more than 2 GiB of values')
    offsets[i + 1] = total
    if (size === 0) continue
    const inline = size <= 12
    const source = inline ? bytes : data.variadicBuffers?.[views.getInt32(16 * i + 8, true)]
    const start = inline ? 16 * i + 4 : views.getInt32(16 * i + 12, true)
    if (source === undefined || start < 0 || start + size > source.length) {
      throw broken(path, `has a view outside its data buffers in row ${i}`)
    }
    parts.push(source.subarray(start, start + size))
  }
  const values = new Uint8Array(total)
  let at = 0
  for (const part of parts) {
    values.set(part, at)
    at += part.length
  }
  return checkedText({ ...rows, type, values, offsets }, path)
}

/** Return a column of text or bytes. Throws InvalidInput if a text is not valid UTF-8. */
function checkedText(column: Column, path: string): Column {
  const row = column.type.kind === 'utf8' ? invalidUtf8Row(column) : -1
  if (row !== -1) throw broken(path, `has invalid UTF-8 in row ${row}`)
  return column
}

function childOf(data: ForeignData, index: number, path: string): ForeignData {
  const child = data.children[index]
  if (child === undefined) throw broken(path, `has no child ${index}`)
  return child
}

function bytesOf(data: ForeignData, path: string, least: number): Uint8Array {
  const { values } = data
  const bytes = values && ArrayBuffer.isView(values) ? asBytes(values) : new Uint8Array(0)
  if (bytes.length < least) throw broken(path, `has ${bytes.length} bytes of values, but needs ${least}`)
  return bytes
}

function broken(path: string, what: string): SheafError {
  return invalidInput(`broken arrow data: column ${quote(path)} ${what}`)
}

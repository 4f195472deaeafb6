/**
 * Converts values of columns to JavaScript values, for callers of the API and for JSON. The engine itself reads the
 * buffers.
 *
 *   null                             null
 *   bool, float                      boolean, number
 *   int 8-32                         number
 *   int64, uint64, duration, time    number, bigint or string, as the option `int64` says (time in s and ms: number)
 *   utf8 / binary                    string / Uint8Array (a copy)
 *   decimal                          string, with all digits of its scale
 *   date, timestamp                  Date; the number of units since 1970 as a bigint if a Date cannot represent it
 *                                    (finer than a millisecond, or out of the range of Date)
 *   interval                         months as a number, {days, milliseconds} or {months, days, nanoseconds}
 *   list / struct                    array / object
 *   map                              array of [key, value], because keys may repeat
 *   fixed_size_list of numbers       typed array (a copy; float16 as Float32Array); plain array if an element is null,
 *                                    or if the option `vectors` is 'array'
 *   dictionary                       the value
 */
import { isAscii } from 'node:buffer'
import { assert, invalidInput, quote } from '../errors.js'
import { type Batch, type Column, isValid } from './column.js'
import { formatDecimal, readDecimal } from './decimal.js'
import { fromFloat16 } from './float16.js'
import { toDate } from './instant.js'
import type { DataType, Field } from './types.js'

/** Options that select the JavaScript types of values. */
export interface ReadOptions {
  /**
   * JavaScript type of 64-bit integers. With 'number' (default), an integer that a number cannot represent exactly
   * throws InvalidInput. 'bigint' and 'string' represent all integers.
   */
  readonly int64?: 'number' | 'bigint' | 'string' | undefined
  /** JavaScript type of fixed_size_lists of numbers: typed arrays (default) or plain arrays. */
  readonly vectors?: 'typed' | 'array' | undefined
  /** Name of the column in messages. */
  readonly name?: string
}

const dayMs = 86_400_000n

/** Return the value of one row. @throws InvalidInput for an int64 that a number cannot represent exactly. */
export function valueAt(column: Column, index: number, options: ReadOptions = {}): unknown {
  if (!isValid(column, index)) return null
  const { type, values, offsets } = column
  switch (type.kind) {
    case 'null':
      return null
    case 'bool':
      return (((values as Uint8Array)[index >>> 3]! >>> (index & 7)) & 1) === 1
    case 'int':
      if (type.bits === 64) return readInt64(values![index] as bigint, options)
      return values![index]
    case 'float':
      return type.bits === 16 ? fromFloat16(values![index] as number) : values![index]
    case 'utf8':
      return utf8Slice.call(values as Uint8Array, offsets![index]!, offsets![index + 1]!)
    case 'binary':
      return new Uint8Array((values as Uint8Array).subarray(offsets![index], offsets![index + 1]))
    case 'fixed_size_binary':
      return new Uint8Array((values as Uint8Array).subarray(type.width * index, type.width * (index + 1)))
    case 'decimal':
      return formatDecimal(readDecimal(values as Uint8Array, index, type.bits), type.scale)
    case 'date': {
      const count = BigInt(values![index]!)
      return toDate(type.unit === 'day' ? count * dayMs : count, 'ms') ?? count
    }
    case 'timestamp': {
      const count = values![index] as bigint
      return toDate(count, type.unit) ?? count
    }
    case 'time': {
      const count = values![index]!
      return typeof count === 'bigint' ? readInt64(count, options) : count
    }
    case 'duration':
      return readInt64(values![index] as bigint, options)
    case 'interval':
      return readInterval(type.unit, values as Uint8Array, index)
    case 'list':
      return readList(column.children[0]!, offsets![index]!, offsets![index + 1]!, options)
    case 'fixed_size_list':
      return readFixedSizeList(column.children[0]!, type.size * index, type.size * (index + 1), options)
    case 'map':
      return readMap(column.children[0]!, offsets![index]!, offsets![index + 1]!, options)
    case 'struct': {
      const out: Record<string, unknown> = {}
      type.children.forEach((field, i) => {
        setOwn(out, field.name, valueAt(column.children[i]!, index, childOptions(options, field)))
      })
      return out
    }
    case 'dictionary':
      return valueAt(column.dictionary!, Number(values![index]), options)
  }
}

/** Return the values of all rows. Rows with the same dictionary value share one JavaScript value. */
export function columnValues(column: Column, options: ReadOptions = {}): unknown[] {
  const out: unknown[] = new Array(column.length)
  if (column.type.kind === 'dictionary' && column.dictionary!.length < column.length) {
    const known = columnValues(column.dictionary!, options)
    for (let i = 0; i < out.length; i++) out[i] = isValid(column, i) ? known[Number(column.values![i])] : null
  } else if (column.type.kind === 'utf8') {
    readTexts(column, out)
  } else {
    for (let i = 0; i < out.length; i++) out[i] = valueAt(column, i, options)
  }
  return out
}

function readTexts(column: Column, out: unknown[]): void {
  const bytes = column.values as Uint8Array
  const offsets = column.offsets!
  const slice = isAscii(bytes) ? latin1Slice : utf8Slice
  for (let i = 0; i < out.length; i++) {
    out[i] = isValid(column, i) ? slice.call(bytes, offsets[i]!, offsets[i + 1]!) : null
  }
}

/**
 * Return the rows as plain objects. Their keys are in the order of the schema.
 * @throws InvalidInput for an int64 that a number cannot represent exactly.
 */
export function batchToRows(batch: Batch, options: ReadOptions = {}): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = []
  for (let i = 0; i < batch.length; i++) rows.push({})
  batch.columns.forEach((column, i) => {
    const field = batch.schema.fields[i]
    assert(field !== undefined, 'a column without a field')
    const values = columnValues(column, childOptions(options, field))
    for (let r = 0; r < rows.length; r++) setOwn(rows[r]!, field.name, values[r])
  })
  return rows
}

/** Set an own property. An assignment to `__proto__`, which is a valid column name, would set the prototype instead. */
export function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') target[name] = value
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}

function childOptions({ int64, vectors, name: parent }: ReadOptions, { name }: Field): ReadOptions {
  return { int64, vectors, name: parent === undefined ? name : `${parent}.${name}` }
}

function readInt64(value: bigint, { int64 = 'number', name }: ReadOptions): number | bigint | string {
  if (int64 === 'bigint') return value
  if (int64 === 'string') return value.toString()
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  const where = name === undefined ? 'a column' : `column ${quote(name)}`
  throw invalidInput(`${where} holds ${value}, which a number cannot represent exactly`, {
    hint: "read with int64: 'bigint' or 'string'",
  })
}

/** A method of Buffer that decodes text. It also works on a Uint8Array, so no Buffer is created for each value. */
type Slice = (this: Uint8Array, start: number, end: number) => string
const utf8Slice: Slice = Buffer.prototype.utf8Slice
const latin1Slice: Slice = Buffer.prototype.latin1Slice

function readInterval(
  unit: (DataType & { kind: 'interval' })['unit'],
  bytes: Uint8Array,
  index: number,
): number | object {
  const width = unit === 'year_month' ? 4 : unit === 'day_time' ? 8 : 16
  const view = new DataView(bytes.buffer, bytes.byteOffset + width * index, width)
  const first = view.getInt32(0, true)
  if (unit === 'year_month') return first
  const second = view.getInt32(4, true)
  if (unit === 'day_time') return { days: first, milliseconds: second }
  return { months: first, days: second, nanoseconds: view.getBigInt64(8, true) }
}

function readList(child: Column, start: number, end: number, options: ReadOptions): unknown[] {
  const out: unknown[] = []
  for (let i = start; i < end; i++) out.push(valueAt(child, i, options))
  return out
}

function readFixedSizeList(child: Column, start: number, end: number, options: ReadOptions): unknown {
  const { type, values } = child
  const numbers = type.kind === 'float' || (type.kind === 'int' && type.bits < 64)
  const isPlain = options.vectors === 'array' || !numbers || hasNull(child, start, end)
  if (isPlain) return readList(child, start, end, options)
  assert(values !== null, 'numbers without values')
  if (type.bits === 16 && type.kind === 'float') {
    return Float32Array.from((values as Uint16Array).subarray(start, end), fromFloat16)
  }
  return values.slice(start, end)
}

function hasNull(column: Column, start: number, end: number): boolean {
  if (column.validity === null) return false
  for (let i = start; i < end; i++) if (!isValid(column, i)) return true
  return false
}

function readMap(entries: Column, start: number, end: number, options: ReadOptions): [unknown, unknown][] {
  const [keys, values] = entries.children
  const out: [unknown, unknown][] = []
  for (let i = start; i < end; i++) {
    out.push([valueAt(keys!, i, options), valueAt(values!, i, options)])
  }
  return out
}

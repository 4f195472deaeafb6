/**
 * Builds columns of a given type from JavaScript values. Checks every value, and rejects values that it would have to
 * change.
 */
import { types } from 'node:util'
import { assert, invalidInput, nearestName, quote, type SheafError, schemaMismatch } from '../errors.js'
import { bitmapBytes } from './bits.js'
import type { Column, Values } from './column.js'
import { concatBytes } from './concat-bytes.js'
import { parseDecimal, writeDecimal } from './decimal.js'
import { encodeTexts } from './encode-text.js'
import { allFinite } from './finite.js'
import { toFloat16 } from './float16.js'
import { kindOf, readColumn, type SpreadLimit, spreadLists } from './infer-type.js'
import { fromDate, parseInstant, parseTimeOfDay, perSecond } from './instant.js'
import { cellBytes, viewCells } from './layout.js'
import { Place } from './place.js'
import { typeName } from './type-name.js'
import type { DataType, Field, IntType } from './types.js'

/** Options of `buildColumn`. */
export interface BuildOptions {
  readonly limit: SpreadLimit
  /** Whether the types were inferred from the rows. If true, vectors must contain only finite numbers. */
  readonly inferred: boolean
}

/** One value per row. Null and undefined both mean null. */
type Cells = readonly unknown[]

interface Target {
  readonly type: DataType
  readonly nullable: boolean
}

const dayMs = 86_400_000

/**
 * Build a column from values. `undefined` means null.
 *
 * `present`: bitmap of the rows in which a null is an error if the column is not nullable. For a child column, these
 * are the rows whose parent is not null. Null (default): all rows.
 * @throws SchemaValidation if a value does not fit. The message names the row, the column, the type and the value.
 */
export function buildColumn(
  target: Target,
  values: Cells,
  place: Place,
  options: BuildOptions,
  present: Uint8Array | null = null,
): Column {
  const { type } = target
  const nulls = findNulls(target, values, place, present)
  const rows = { type, length: values.length, ...nulls, offsets: null, children: [], dictionary: null }
  switch (type.kind) {
    case 'null':
      return { ...rows, validity: null, values: null }
    case 'bool':
      return { ...rows, values: buildBools(type, values, place) }
    case 'int':
      return { ...rows, values: buildInts(type, values, place) }
    case 'float':
      return { ...rows, values: buildFloats(type, values, place) }
    case 'utf8':
      return { ...rows, ...buildTexts(type, values, place) }
    case 'binary':
      return { ...rows, ...buildBinary(type, values, place) }
    case 'fixed_size_binary':
      return { ...rows, values: buildFixedBinary(type, values, place) }
    case 'decimal':
      return { ...rows, values: buildDecimals(type, values, place) }
    case 'date':
    case 'time':
    case 'timestamp':
    case 'duration':
      return { ...rows, values: buildCounts(type, values, place) }
    case 'interval':
      return { ...rows, values: buildIntervals(type, values, place) }
    case 'list': {
      const lists = checkLists(type, values, place)
      const { elements, offsets } = spreadLists(lists, place, options.limit)
      const child = buildColumn(type.child, elements, place.elements(offsets), options)
      return { ...rows, values: null, offsets, children: [child] }
    }
    case 'map': {
      const { elements, offsets } = spreadLists(checkMaps(type, values, place), place, options.limit)
      const child = buildEntries(type.child, elements, place.elements(offsets), options)
      return { ...rows, values: null, offsets, children: [child] }
    }
    case 'fixed_size_list':
      return {
        ...rows,
        values: null,
        children: [buildEqualLists(type, values, place, options, nulls.validity)],
      }
    case 'struct': {
      const objects = checkObjects(type, values, place)
      const children = type.children.map(field =>
        buildColumn(field, readColumn(objects, field.name), place.field(field.name), options, nulls.validity),
      )
      return { ...rows, values: null, children }
    }
    case 'dictionary':
      return { ...rows, ...buildDictionary(type, values, place, options) }
  }
}

function findNulls(
  { type, nullable }: Target,
  values: Cells,
  place: Place,
  present: Uint8Array | null,
): Pick<Column, 'validity' | 'nullCount'> {
  let nullCount = 0
  for (let i = 0; i < values.length; i++) {
    if (values[i] !== null && values[i] !== undefined) continue
    nullCount++
    if (!nullable && (present === null || ((present[i >>> 3]! >>> (i & 7)) & 1) === 1)) {
      throw schemaMismatch(`row ${place.row(i)}: column ${quote(place.path)} is null, but is not nullable`)
    }
  }
  if (type.kind === 'null' && nullCount < values.length) {
    throw misfit(type, values, firstValue(values), place)
  }
  if (nullCount === 0 || type.kind === 'null') return { validity: null, nullCount }
  const validity = new Uint8Array(bitmapBytes(values.length))
  for (let i = 0; i < values.length; i++) {
    if (values[i] !== null && values[i] !== undefined) validity[i >>> 3]! |= 1 << (i & 7)
  }
  return { validity, nullCount }
}

function firstValue(values: Cells): number {
  return values.findIndex(value => value !== null && value !== undefined)
}

function misfit(type: DataType, values: Cells, index: number, place: Place, hint?: string): SheafError {
  return schemaMismatch(
    `row ${place.row(index)}: column ${quote(place.path)} is ${typeName(type)}, got ${quote(values[index])}`,
    { hint },
  )
}

function zeroCells(type: DataType, length: number): Values {
  return viewCells(type, new Uint8Array(cellBytes(type) * length), length)
}

function buildBools(type: DataType, values: Cells, place: Place): Uint8Array {
  const out = new Uint8Array(bitmapBytes(values.length))
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === true) out[i >>> 3]! |= 1 << (i & 7)
    else if (value !== false && value !== null && value !== undefined) throw misfit(type, values, i, place)
  }
  return out
}

function buildInts(type: IntType, values: Cells, place: Place): Values {
  const out = zeroCells(type, values.length)
  if (out instanceof BigInt64Array || out instanceof BigUint64Array) {
    for (let i = 0; i < values.length; i++) {
      const value = values[i]
      if (value === null || value === undefined) continue
      const exact = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value
      if (typeof exact !== 'bigint') throw misfit(type, values, i, place, wideHint(value))
      out[i] = exact
      if (out[i] !== exact) throw misfit(type, values, i, place)
    }
    return out
  }
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    const number = typeof value === 'bigint' ? Number(value) : value
    if (typeof number !== 'number') throw misfit(type, values, i, place)
    out[i] = number
    if (out[i] !== number) throw misfit(type, values, i, place)
  }
  return out
}

function wideHint(value: unknown): string | undefined {
  return typeof value === 'number' && Number.isInteger(value)
    ? 'pass integers above 2^53 as bigint'
    : undefined
}

function buildFloats(type: DataType & { kind: 'float' }, values: Cells, place: Place): Values {
  const out = zeroCells(type, values.length)
  const half = type.bits === 16
  for (let i = 0; i < values.length; i++) {
    const given = values[i]
    if (given === null || given === undefined) continue
    const value = typeof given === 'bigint' && BigInt(Number(given)) === given ? Number(given) : given
    if (typeof value !== 'number') throw misfit(type, values, i, place)
    out[i] = half ? toFloat16(value) : value
    const infinite = half ? ((out[i] as number) & 0x7fff) === 0x7c00 : !Number.isFinite(out[i])
    if (infinite && Number.isFinite(value)) throw misfit(type, values, i, place)
  }
  return out
}

function buildTexts(type: DataType, values: Cells, place: Place): Pick<Column, 'values' | 'offsets'> {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (typeof value !== 'string' && value !== null && value !== undefined)
      throw misfit(type, values, i, place)
  }
  return encodeTexts(values as readonly (string | null | undefined)[], place)
}

function buildBinary(type: DataType, values: Cells, place: Place): Pick<Column, 'values' | 'offsets'> {
  const offsets = new Int32Array(values.length + 1)
  const parts: Uint8Array[] = []
  let total = 0
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value !== null && value !== undefined) {
      if (!types.isUint8Array(value)) throw misfit(type, values, i, place)
      parts.push(value)
      total += value.length
      if (total > 0x7fffffff) {
        throw invalidInput(`row ${place.row(i)}: column ${quote(place.path)} has more than 2 GiB of values`)
      }
    }
    offsets[i + 1] = total
  }
  return { values: concatBytes(parts), offsets }
}

function buildFixedBinary(
  type: DataType & { kind: 'fixed_size_binary' },
  values: Cells,
  place: Place,
): Uint8Array {
  const out = new Uint8Array(type.width * values.length)
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    if (!types.isUint8Array(value)) throw misfit(type, values, i, place)
    if (value.length !== type.width) throw wrongLength(place, i, type.width, value.length, 'bytes')
    out.set(value, type.width * i)
  }
  return out
}

function wrongLength(place: Place, index: number, need: number, got: number, what: string): SheafError {
  return schemaMismatch(
    `row ${place.row(index)}: column ${quote(place.path)} needs ${need} ${what}, got ${got}`,
  )
}

function buildDecimals(type: DataType & { kind: 'decimal' }, values: Cells, place: Place): Uint8Array {
  const out = new Uint8Array((type.bits >>> 3) * values.length)
  const limit = 10n ** BigInt(type.precision)
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    if (typeof value !== 'bigint' && typeof value !== 'string' && typeof value !== 'number') {
      throw misfit(type, values, i, place)
    }
    const isUnsafe = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
    const scaled = isUnsafe ? null : parseDecimal(String(value), type.scale)
    if (scaled === null || scaled >= limit || scaled <= -limit) {
      throw misfit(
        type,
        values,
        i,
        place,
        isUnsafe ? 'pass integers above 2^53 as bigint or text' : undefined,
      )
    }
    writeDecimal(out, i, type.bits, scaled)
  }
  return out
}

type CountType = DataType & { kind: 'date' | 'time' | 'timestamp' | 'duration' }

/**
 * Build dates, times, timestamps and durations. A number or bigint is a number of units. A Date or an ISO 8601 text
 * must be a whole multiple of the unit.
 */
function buildCounts(type: CountType, values: Cells, place: Place): Values {
  const out = zeroCells(type, values.length)
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    const count = countOf(type, value)
    if (count === null || !inRange(type, count)) throw misfit(type, values, i, place, countHint(type, value))
    if (out instanceof BigInt64Array) {
      out[i] = count
      if (out[i] !== count) throw misfit(type, values, i, place)
    } else {
      out[i] = Number(count)
      if (out[i] !== Number(count)) throw misfit(type, values, i, place)
    }
  }
  return out
}

function countOf(type: CountType, value: unknown): bigint | null {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : null
  switch (type.kind) {
    case 'timestamp':
      if (types.isDate(value)) return Number.isNaN(value.getTime()) ? null : fromDate(value, type.unit)
      return typeof value === 'string' ? parseInstant(value, type.unit) : null
    case 'date': {
      const ms = types.isDate(value)
        ? value.getTime()
        : typeof value === 'string'
          ? dateMs(value)
          : Number.NaN
      if (ms % dayMs !== 0) return null
      return BigInt(type.unit === 'day' ? ms / dayMs : ms)
    }
    case 'time':
      return typeof value === 'string' ? parseTimeOfDay(value, type.unit) : null
    case 'duration':
      return null
  }
}

function dateMs(text: string): number {
  const ms = parseInstant(text, 'ms')
  return ms === null ? Number.NaN : Number(ms)
}

function inRange(type: CountType, count: bigint): boolean {
  if (type.kind === 'time') return count >= 0n && count < 86_400n * perSecond[type.unit]
  return type.kind !== 'date' || type.unit === 'day' || count % BigInt(dayMs) === 0n
}

function countHint(type: CountType, value: unknown): string | undefined {
  if (type.kind === 'date') return "pass midnight UTC or 'YYYY-MM-DD'"
  return types.isDate(value) && type.kind === 'timestamp'
    ? `the value is not a whole number of ${type.unit}`
    : undefined
}

function buildIntervals(type: DataType & { kind: 'interval' }, values: Cells, place: Place): Uint8Array {
  const width = cellBytes(type)
  const out = new Uint8Array(width * values.length)
  const view = new DataView(out.buffer)
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    const at = width * i
    const parts = (typeof value === 'object' ? value : { months: value }) as Readonly<Record<string, unknown>>
    const names = {
      year_month: ['months'],
      day_time: ['days', 'milliseconds'],
      month_day_nano: ['months', 'days'],
    }
    names[type.unit].forEach((name, k) => {
      const part = parts[name]
      if (typeof part !== 'number' || (part | 0) !== part) throw misfit(type, values, i, place)
      view.setInt32(at + 4 * k, part, true)
    })
    if (type.unit !== 'month_day_nano') continue
    const nanoseconds = parts.nanoseconds
    const exact = Number.isSafeInteger(nanoseconds) ? BigInt(nanoseconds as number) : nanoseconds
    if (typeof exact !== 'bigint' || BigInt.asIntN(64, exact) !== exact) throw misfit(type, values, i, place)
    view.setBigInt64(at + 8, exact, true)
  }
  return out
}

type Lists = readonly (ArrayLike<unknown> | null | undefined)[]
type Objects = readonly (Readonly<Record<string, unknown>> | null | undefined)[]

function checkLists(type: DataType, values: Cells, place: Place): Lists {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined || Array.isArray(value) || types.isTypedArray(value)) continue
    throw misfit(type, values, i, place)
  }
  return values as Lists
}

/** Convert every Map or plain object to an array of [key, value] pairs. Arrays of pairs stay as they are. */
function checkMaps(type: DataType, values: Cells, place: Place): Lists {
  return values.map((value, i) => {
    if (value === null || value === undefined) return null
    const entries = types.isMap(value)
      ? [...value]
      : kindOf(value) === 'object'
        ? Object.entries(value as object)
        : value
    if (Array.isArray(entries) && entries.every(pair => Array.isArray(pair) && pair.length === 2))
      return entries
    throw misfit(type, values, i, place)
  })
}

function buildEntries(entries: Field, pairs: Cells, place: Place, options: BuildOptions): Column {
  assert(entries.type.kind === 'struct' && entries.type.children.length === 2, 'map entries of another type')
  const children = entries.type.children.map((field, side) => {
    const cells = pairs.map(pair => (pair as readonly unknown[])[side])
    return buildColumn(field, cells, place.field(field.name), options)
  })
  return {
    type: entries.type,
    length: pairs.length,
    nullCount: 0,
    validity: null,
    values: null,
    offsets: null,
    children,
    dictionary: null,
  }
}

function checkObjects(type: DataType & { kind: 'struct' }, values: Cells, place: Place): Objects {
  const known = type.children.map(field => field.name)
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    if (kindOf(value) !== 'object') throw misfit(type, values, i, place)
    checkKeys(value as object, known, i, place)
  }
  return values as Objects
}

/**
 * Check that every key of a row is a column name. `index`: number of the row in `place`, or in messages if `place` is
 * null.
 * @throws SchemaValidation for an unknown key. The hint suggests the most similar name.
 */
export function checkKeys(
  row: object,
  known: readonly string[],
  index: number,
  place: Place | null,
  isKnown = (name: string): boolean => known.includes(name),
): void {
  for (const key of Object.keys(row)) {
    if (isKnown(key)) continue
    const near = nearestName(key, known)
    const where = place === null ? `row ${index}` : `row ${place.row(index)}: column ${quote(place.path)}`
    throw schemaMismatch(`${where} has the unknown key ${quote(key)}`, {
      hint: near === undefined ? `columns: ${known.slice(0, 20).join(', ')}` : `did you mean ${quote(near)}?`,
    })
  }
}

type VectorType = DataType & { kind: 'fixed_size_list' }

function buildEqualLists(
  type: VectorType,
  values: Cells,
  place: Place,
  options: BuildOptions,
  present: Uint8Array | null,
): Column {
  const lists = checkLists(type, values, place)
  for (let i = 0; i < lists.length; i++) {
    const list = lists[i]
    if (list !== null && list !== undefined && list.length !== type.size) {
      throw wrongLength(place, i, type.size, list.length, 'values')
    }
  }
  const numbers = buildNumbers(type, lists, place, options)
  if (numbers !== null) {
    return {
      type: type.child.type,
      length: type.size * lists.length,
      nullCount: 0,
      validity: null,
      values: numbers,
      offsets: null,
      children: [],
      dictionary: null,
    }
  }
  options.limit.elements(type.size * lists.length, place)
  const elements: unknown[] = new Array(type.size * lists.length)
  const elementPresent = present === null ? null : new Uint8Array(bitmapBytes(elements.length))
  for (let i = 0, at = 0; i < lists.length; i++) {
    const list = lists[i]
    for (let k = 0; k < type.size; k++, at++) {
      elements[at] = list?.[k]
      if (elementPresent !== null && list) elementPresent[at >>> 3]! |= 1 << (at & 7)
    }
  }
  return buildColumn(type.child, elements, place.elements(type.size), options, elementPresent)
}

/**
 * Return the elements of all vectors, with zeros for null vectors. Returns null if an element is not a number of the
 * element type. The caller then builds the elements one by one: null elements may be allowed, other values are an
 * error.
 */
function buildNumbers(type: VectorType, lists: Lists, place: Place, options: BuildOptions): Values | null {
  const child = type.child.type
  const { size } = type
  if (child.kind !== 'float' && child.kind !== 'int') return null
  const out = zeroCells(child, size * lists.length)
  if (out instanceof BigInt64Array || out instanceof BigUint64Array) return null
  for (let i = 0; i < lists.length; i++) {
    const list = lists[i]
    if (list === null || list === undefined) continue
    if (out instanceof Float32Array) {
      const fill = fillFloat32(out, size * i, list, size)
      if (fill === 'misfit') return null
      if (fill === 'non-finite' && options.inferred) {
        const bad = Array.prototype.find.call(list, number => !Number.isFinite(number))
        throw invalidInput(`row ${place.row(i)}: vector ${quote(place.path)} contains ${bad}`, {
          hint: "fix these rows, or set badVectors to 'null' or 'skip'",
        })
      }
    } else if (!fillNumbers(out, child, size * i, list, size)) {
      return null
    }
  }
  return out
}

function fillFloat32(
  out: Float32Array,
  at: number,
  list: ArrayLike<unknown>,
  size: number,
): 'finite' | 'non-finite' | 'misfit' {
  if (types.isFloat32Array(list)) out.set(list, at)
  else {
    for (let k = 0; k < size; k++) {
      const number = list[k]
      if (typeof number !== 'number') return 'misfit'
      out[at + k] = number
    }
  }
  if (allFinite(out, at, at + size)) return 'finite'
  for (let k = 0; k < size; k++) {
    if (!Number.isFinite(out[at + k]) && Number.isFinite(list[k])) return 'misfit'
  }
  return 'non-finite'
}

function fillNumbers(
  out: Exclude<Values, BigInt64Array | BigUint64Array>,
  type: DataType,
  at: number,
  list: ArrayLike<unknown>,
  size: number,
): boolean {
  const half = type.kind === 'float' && type.bits === 16
  for (let k = 0; k < size; k++) {
    const number = list[k]
    if (typeof number !== 'number') return false
    if (half) {
      out[at + k] = toFloat16(number)
      if ((out[at + k]! & 0x7fff) === 0x7c00 && Number.isFinite(number)) return false
    } else {
      out[at + k] = number
      if (out[at + k] !== number && !(Number.isNaN(number) && type.kind === 'float')) return false
    }
  }
  return true
}

function buildDictionary(
  type: DataType & { kind: 'dictionary' },
  values: Cells,
  place: Place,
  options: BuildOptions,
): Pick<Column, 'values' | 'dictionary'> {
  const indices: (number | null)[] = new Array(values.length)
  const seen = new Map<unknown, number>()
  const distinct: unknown[] = []
  const origin: number[] = []
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) {
      indices[i] = null
      continue
    }
    const key = types.isDate(value) ? value.getTime() : value
    let index = seen.get(key)
    if (index === undefined) {
      index = distinct.length
      distinct.push(value)
      origin.push(i)
      seen.set(key, index)
    }
    indices[i] = index
  }
  const { bits, signed } = type.index
  const maxDistinct = 2 ** (signed ? bits - 1 : bits)
  if (distinct.length > maxDistinct) {
    throw schemaMismatch(
      `row ${place.row(origin[maxDistinct]!)}: column ${quote(place.path)} has more than ${maxDistinct} distinct values, ` +
        `the maximum for its ${typeName(type.index)} indices`,
    )
  }
  const rows = Uint32Array.from(origin, i => place.row(i))
  return {
    values: buildInts(type.index, indices, place),
    dictionary: buildColumn(
      { type: type.value, nullable: false },
      distinct,
      Place.column(place.path, rows),
      options,
    ),
  }
}

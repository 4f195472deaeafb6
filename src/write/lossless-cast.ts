/**
 * Casts columns to another Arrow type without loss. Every write casts its columns to the types of the table.
 * `exact-values.ts` contains the casts between types without children.
 */
import { bitmapBytes, setBits } from '../arrow/bits.js'
import { type Column, isValid } from '../arrow/column.js'
import { emptyColumn, nullColumn } from '../arrow/fill.js'
import { viewCells } from '../arrow/layout.js'
import { Place } from '../arrow/place.js'
import { equalTypes } from '../arrow/same-type.js'
import { takeColumn } from '../arrow/take.js'
import { typeName } from '../arrow/type-name.js'
import type { DataType, Field } from '../arrow/types.js'
import { cut, ErrorCode, quote, SheafError, schemaMismatch } from '../errors.js'
import { Grouper } from '../query/group.js'
import { writeText } from '../sql/kernels/cast-text.js'
import { decoded } from '../sql/kernels/dictionary.js'
import { isOrdered } from '../sql/values/types.js'
import { scalarAt } from '../sql/values/vector.js'
import { bothPresent, exactCast, isPresent, type Present } from './exact-values.js'

type TypeOf<K extends DataType['kind']> = DataType & { readonly kind: K }

/**
 * Return null if there is a lossless cast from `from` to `to`. The cast may still reject some values. If there is no
 * cast, return the error for a column with the name `path`.
 */
export function castRefusal(from: DataType, to: DataType, path: string): SheafError | null {
  try {
    cast(emptyColumn(from), to, Place.column(path), null, false)
    return null
  } catch (error) {
    if (error instanceof SheafError && error.code === ErrorCode.SchemaValidation) return error
    throw error
  }
}

/**
 * Cast `column` to the type of `field`. `place`: name of the column and numbers of its rows, for messages. Throws
 * `SchemaValidation` if there is no lossless cast, or if a value does not fit the new type. Throws it also if a row is
 * null and the field is not nullable.
 */
export function castColumn(column: Column, field: Field, place: Place): Column {
  return castField(column, field, place, null, false)
}

/**
 * Cast a column. `within`: the rows whose values are cast; the values of other rows are arbitrary. `rounds`: whether
 * numbers may be rounded to the nearest float.
 */
function castField(column: Column, field: Field, place: Place, within: Present, rounds: boolean): Column {
  const made = cast(column, field.type, place, within, rounds)
  if (field.nullable || made.nullCount === 0) return made
  for (let row = 0; row < made.length; row++) {
    if (isPresent(within, row) && !isValid(made, row)) {
      throw schemaMismatch(
        `${place.rowName(row)}: column ${quote(place.path)} is null, but the column is not nullable`,
      )
    }
  }
  // Only rows outside of `within` are null, so the column needs no validity bitmap. A dictionary column keeps the
  // bitmap, because the indices of its null rows may be outside of the dictionary.
  const mustStay = made.type.kind === 'null' || made.dictionary !== null
  return mustStay ? made : { ...made, validity: null, nullCount: 0 }
}

function cast(column: Column, to: DataType, place: Place, within: Present, rounds: boolean): Column {
  const { type: from, length } = column
  if (equalTypes(from, to)) return column
  if (from.kind === 'null') return nullColumn(to, length)
  if (from.kind === 'dictionary') return cast(decoded(column), to, place, within, rounds)
  const present = bothPresent(within, column.validity, length)
  const refuse = (row: number): never => {
    throw valueRefused(column, to, row, place)
  }
  switch (to.kind) {
    case 'null':
      for (let row = 0; row < length; row++) if (isPresent(present, row)) refuse(row)
      return nullColumn(to, length)
    case 'dictionary':
      return withDictionary(cast(column, to.value, place, within, rounds), to, place, within)
    case 'list':
    case 'fixed_size_list':
      if (from.kind !== 'list' && from.kind !== 'fixed_size_list') break
      return to.kind === 'list'
        ? toList(column, to, place, present)
        : toEqualLists(column, to, place, present, refuse)
    case 'struct':
      if (from.kind !== 'struct') break
      return toStruct(column, to, place, present)
    case 'map':
      if (from.kind !== 'map' || (to.keysSorted && !from.keysSorted)) break
      return toMap(column, to, place, present)
    default: {
      const make = exactCast(from, to)
      if (make !== null) return make({ column, to, present, rounds, refuse })
    }
  }
  throw typeRefused(from, to, place)
}

// ---- types with children

function toList(column: Column, to: TypeOf<'list'>, place: Place, present: Present): Column {
  const { length } = column
  const child = column.children[0]!
  if (column.type.kind !== 'fixed_size_list') return castOffsets(column, to, to.child, place, present)
  const { size } = column.type
  const offsets = Int32Array.from({ length: length + 1 }, (_, row) => row * size)
  const wanted = present && presentElements(present, offsets, length)
  return {
    ...column,
    type: to,
    offsets,
    children: [castField(child, to.child, place.elements(size), wanted, false)],
  }
}

/** Cast the child of a list or map, and keep the offsets. */
function castOffsets(column: Column, to: DataType, field: Field, place: Place, present: Present): Column {
  const offsets = column.offsets!
  const wanted = present && presentElements(present, offsets, column.length)
  const child = castField(column.children[0]!, field, place.elements(offsets), wanted, false)
  return { ...column, type: to, children: [child] }
}

/** Return whether a type is a vector of floats with 16 or 32 bits. A cast may round the elements of these vectors. */
function isVector({ child: { type } }: TypeOf<'fixed_size_list'>): boolean {
  return type.kind === 'float' && type.bits < 64
}

function toEqualLists(
  column: Column,
  to: TypeOf<'fixed_size_list'>,
  place: Place,
  present: Present,
  refuse: (row: number) => never,
): Column {
  const { type: from, length, offsets } = column
  const { size } = to
  let child = column.children[0]!
  if (from.kind === 'fixed_size_list' && from.size !== size) throw typeRefused(from, to, place)
  if (offsets !== null) {
    let isEven = true
    for (let row = 0; row < length; row++) {
      if (offsets[row + 1]! - offsets[row]! === size) continue
      if (isPresent(present, row)) refuse(row)
      isEven = false
    }
    if (!isEven) child = takeColumn(child, evenRows(offsets, length, size, present))
  }
  const wanted = present && presentElements(present, size, length)
  const made = castField(child, to.child, place.elements(size), wanted, isVector(to))
  return { ...column, type: to, offsets: null, children: [made] }
}

/**
 * Return the rows of the child that are the elements of fixed-size lists of length `size`. A list outside of `present`
 * may have another length, so its elements get the row -1 (null).
 */
function evenRows(offsets: Int32Array, length: number, size: number, present: Present): Int32Array {
  const rows = new Int32Array(length * size).fill(-1)
  for (let row = 0; row < length; row++) {
    if (!isPresent(present, row)) continue
    for (let k = 0; k < size; k++) rows[row * size + k] = offsets[row]! + k
  }
  return rows
}

/**
 * Return the elements of the lists in `present` as a bitmap. `ends`: offsets of the lists, or the common length of all
 * lists.
 */
function presentElements(present: Uint8Array, ends: Int32Array | number, length: number): Uint8Array {
  const offsetOf = (row: number) => (typeof ends === 'number' ? row * ends : ends[row]!)
  const bits = new Uint8Array(bitmapBytes(offsetOf(length)))
  for (let row = 0; row < length; row++) {
    if (isPresent(present, row)) setBits(bits, offsetOf(row), offsetOf(row + 1) - offsetOf(row))
  }
  return bits
}

/** Cast a struct. Fields are matched by name. A missing nullable field becomes null. */
function toStruct(column: Column, to: TypeOf<'struct'>, place: Place, present: Present): Column {
  const given = (column.type as TypeOf<'struct'>).children
  const known = new Set(to.children.map(({ name }) => name))
  const seen = new Set<string>()
  for (const { name } of given) {
    const what = seen.has(name) ? 'of the rows has two fields' : known.has(name) ? null : 'has no field'
    if (what !== null) throw schemaMismatch(`column ${quote(place.path)} ${what} named ${quote(name)}`)
    seen.add(name)
  }
  const children = to.children.map(field => {
    const own = place.field(field.name)
    const child = column.children[given.findIndex(({ name }) => name === field.name)]
    if (child !== undefined) return castField(child, field, own, present, false)
    if (!field.nullable) throw schemaMismatch(`column ${quote(own.path)} is missing, but it is not nullable`)
    return nullColumn(field.type, column.length)
  })
  return { ...column, type: to, children }
}

/** Cast a map. The fields of keys and values are matched by position, because their names differ between writers. */
function toMap(column: Column, to: TypeOf<'map'>, place: Place, present: Present): Column {
  const given = column.children[0]!
  const entries = to.child.type as TypeOf<'struct'>
  const names = entries.children.map(({ name }) => ({ name }))
  const children = (given.type as TypeOf<'struct'>).children.map((field, i) => ({ ...field, ...names[i] }))
  const named: Column = { ...given, type: { kind: 'struct', children } }
  return castOffsets({ ...column, children: [named] }, to, to.child, place, present)
}

/** Encode a column as a dictionary column. */
function withDictionary(values: Column, to: TypeOf<'dictionary'>, place: Place, within: Present): Column {
  if (!isOrdered(to.value)) throw typeRefused(values.type, to, place)
  const present: number[] = []
  for (let row = 0; row < values.length; row++) {
    if (isPresent(within, row) && isValid(values, row)) present.push(row)
  }
  const grouper = new Grouper([to.value], 0)
  const groups = grouper.add([takeColumn(values, Uint32Array.from(present))])
  const { bits, signed } = to.index
  const most = 2 ** Math.min(bits - (signed ? 1 : 0), 31)
  const indices = viewCells(to, new Uint8Array(values.length * (bits / 8)), values.length)
  for (const [i, row] of present.entries()) {
    const group = groups[i]!
    if (group >= most) {
      throw schemaMismatch(
        `${place.rowName(row)}: column ${quote(place.path)} has more than ${most} distinct values, ` +
          `the maximum for its ${typeName(to.index)} indices`,
      )
    }
    indices[row] = (bits === 64 ? BigInt(group) : group) as never
  }
  const [dictionary] = grouper.keys()
  return { ...values, type: to, values: indices, offsets: null, children: [], dictionary: dictionary! }
}

// ---- refusals

function typeRefused(from: DataType, to: DataType, place: Place): SheafError {
  const given = typeName(from)
  return schemaMismatch(`column ${quote(place.path)} is ${typeName(to)}, but the rows have ${given}`, {
    hint: `convert the values to ${cut(typeName(to))} before you write them`,
  })
}

function valueRefused(column: Column, to: DataType, row: number, place: Place): SheafError {
  const holder = `${place.rowName(row)}: column ${quote(place.path)} is ${typeName(to)}`
  return schemaMismatch(`${holder}, which cannot represent ${valueText(column, row)}`, {
    hint: hintFor(column.type, to),
  })
}

/** Return a hint for a value that does not fit. Returns undefined if the types in the message explain the problem. */
function hintFor(from: DataType, to: DataType): string | undefined {
  const areFloats = from.kind === 'float' && to.kind === 'float'
  if (areFloats)
    return `round the values to ${typeName(to)} before you write them, or alter the column to a wider type`
  return to.kind === 'int' || to.kind === 'decimal'
    ? 'correct the value, or alter the column to a wider type'
    : undefined
}

function valueText(column: Column, row: number): string {
  const { type, offsets } = column
  if (offsets !== null && type.kind === 'list')
    return `a list of ${offsets[row + 1]! - offsets[row]!} elements`
  if (
    type.kind === 'list' ||
    type.kind === 'fixed_size_list' ||
    type.kind === 'struct' ||
    type.kind === 'map'
  ) {
    return `a value of ${typeName(type)}`
  }
  const value = scalarAt(column, row)
  if (typeof value === 'string') return quote(value)
  if (Object.is(value, -0)) return '-0'
  return cut(writeText(value, type) ?? String(value))
}

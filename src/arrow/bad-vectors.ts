/**
 * Handles bad vectors. A vector is bad if it has NaN, infinity or a null element. In plain objects, a vector of the
 * wrong length is also bad. Bad vectors are replaced by null, or their rows are dropped, before other code sees the
 * rows.
 */
import { types } from 'node:util'
import { invalidInput, quote, type SheafError, schemaMismatch } from '../errors.js'
import { bitmapBytes, countBits } from './bits.js'
import { type Batch, type Column, isValid } from './column.js'
import { allFinite } from './finite.js'
import { columnNames, nullsAmongNumbers, readColumn } from './infer-type.js'
import type { Steps } from './steps.js'
import { takeBatch } from './take.js'
import type { DataType, Field, Schema } from './types.js'

/**
 * Treatment of a bad vector: reject the call (`error`), replace the vector by null (`null`), or drop its row (`skip`).
 */
export type BadVectors = 'error' | 'null' | 'skip'

/** A column of vectors: a fixed_size_list of floats. */
interface VectorColumn {
  readonly name: string
  readonly size: number
  readonly bits: 16 | 32 | 64
  readonly nullable: boolean
}

type Row = Readonly<Record<string, unknown>>

/** Return the vector columns of a schema. */
export function vectorsIn(schema: Schema): readonly VectorColumn[] {
  return schema.fields.flatMap(({ name, type, nullable }) => {
    if (!isVector(type)) return []
    const { size, child } = type
    return [{ name, size, bits: child.type.bits, nullable }]
  })
}

type VectorType = DataType & {
  readonly kind: 'fixed_size_list'
  readonly child: Field & { readonly type: { readonly kind: 'float' } }
}

function isVector(type: DataType): type is VectorType {
  return type.kind === 'fixed_size_list' && type.child.type.kind === 'float'
}

// ---- plain objects

/**
 * Rows with their numbers, which error messages name. `numbers` is the number of the first row, or one number per row.
 */
export interface NumberedRows {
  readonly rows: readonly Row[]
  readonly numbers: number | Uint32Array
}

/**
 * Return the plain objects without bad vectors. `first` is the number of row 0 in messages. Values that are not arrays
 * of numbers are not changed, because later checks reject them.
 * @throws SchemaValidation if a vector should become null and its column is not nullable.
 */
export function soundRows(
  rows: readonly Row[],
  first: number,
  vectors: readonly VectorColumn[],
  mode: BadVectors,
): NumberedRows {
  if (mode === 'error') return { rows, numbers: first }
  const kept: Row[] = []
  const numbers = new Uint32Array(rows.length)
  for (let i = 0; i < rows.length; i++) {
    const row = soundRow(rows[i]!, first + i, vectors, mode)
    if (row === null) continue
    numbers[kept.length] = first + i
    kept.push(row)
  }
  return { rows: kept, numbers: numbers.subarray(0, kept.length) }
}

/** Return the row itself, a copy with nulls in place of bad vectors, or null if the row is dropped. */
function soundRow(row: Row, number: number, vectors: readonly VectorColumn[], mode: BadVectors): Row | null {
  let sound = row
  for (let i = 0; i < vectors.length; i++) {
    const { name, size, bits, nullable } = vectors[i]!
    const list = Object.hasOwn(row, name) ? row[name] : undefined
    if (!isList(list) || !isBad(list, size, bits)) continue
    if (mode === 'skip') return null
    if (!nullable) throw notNullable(name, number)
    sound = { ...sound, [name]: null }
  }
  return sound
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || types.isTypedArray(value)
}

/** By width of a float in bits: the smallest magnitude that the conversion to this float rounds to infinity. */
const infinite = { 16: 65_520, 32: (2 - 2 ** -24) * 2 ** 127, 64: Infinity } as const

function isBad(list: ArrayLike<unknown>, size: number, bits: 16 | 32 | 64): boolean {
  if (list.length !== size) return true
  const limit = infinite[bits]
  for (let k = 0; k < size; k++) {
    const element = list[k]
    if (typeof element === 'number') {
      if (!(Math.abs(element) < limit)) return true
    } else if (element === null || element === undefined) {
      return true
    }
  }
  return false
}

function notNullable(name: string, row: number): SheafError {
  return schemaMismatch(
    `row ${row}: column ${quote(name)} has a bad vector, and the column is not nullable`,
    {
      hint: "set badVectors: 'skip' to drop such rows",
    },
  )
}

const rowsAtOnce = 1024

/** The length of the vectors of a column, and the width of their float elements in bits. */
interface CommonVectors {
  readonly size: number
  readonly bits: 32 | 64
}

/**
 * Return the most frequent vector length of each column that contains only vectors and nulls, by column name. A vector
 * is a Float32Array or a Float64Array. If `holdsVectors` returns true for a column, any array of numbers is a vector
 * there.
 * @throws InvalidInput if two lengths are equally frequent, because then it is not clear which vectors are bad.
 */
export function* commonVectors(
  rows: readonly Row[],
  holdsVectors: (column: string) => boolean,
): Steps<Map<string, CommonVectors>> {
  const counts = new Map<string, LengthCounts | null>()
  for (let start = 0; start < rows.length; start += rowsAtOnce) {
    const part = rows.slice(start, start + rowsAtOnce)
    for (const name of columnNames(part)) {
      const known = counts.get(name) ?? { lengths: new Map(), isDouble: true }
      if (counts.get(name) !== null) {
        counts.set(name, countLengths(readColumn(part, name), known, holdsVectors(name)) ? known : null)
      }
    }
    yield
  }
  const found = new Map<string, CommonVectors>()
  for (const [name, known] of counts) {
    if (known === null || known.lengths.size === 0) continue
    const most = Math.max(...known.lengths.values())
    const frequent = [...known.lengths].filter(([, count]) => count === most).map(([length]) => length)
    if (frequent.length > 1) throw ambiguousLength(name, frequent, most)
    found.set(name, { size: frequent[0]!, bits: known.isDouble ? 64 : 32 })
  }
  return found
}

function ambiguousLength(column: string, lengths: readonly number[], count: number): SheafError {
  const [a, b] = lengths.toSorted((x, y) => x - y)
  return invalidInput(
    `column ${quote(column)} has ${count} vectors of length ${a} and ${count} of length ${b}: it is not clear which are bad`,
    { hint: 'pass a schema with the length of the vectors' },
  )
}

interface LengthCounts {
  /** Number of vectors, by their length. */
  readonly lengths: Map<number, number>
  /** Whether all vectors are Float64Arrays. */
  isDouble: boolean
}

/** Count the lengths of the vectors. Returns false if a value is not a vector. */
function countLengths(values: readonly unknown[], counts: LengthCounts, areVectors: boolean): boolean {
  const { lengths } = counts
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    const isDouble = types.isFloat64Array(value)
    if (!isDouble && !types.isFloat32Array(value)) {
      if (!areVectors || !isList(value) || types.isUint8Array(value) || nullsAmongNumbers(value) === null)
        return false
    }
    if (value.length === 0) continue
    counts.isDouble &&= isDouble
    lengths.set(value.length, (lengths.get(value.length) ?? 0) + 1)
  }
  return true
}

// ---- batches

/**
 * Return the schema that `soundBatch` gives to batches. `target` is the schema of the table. In mode `null`, a vector
 * column becomes nullable if and only if the column of `target` with the same name is nullable.
 */
export function soundSchema(schema: Schema, target: Schema, mode: BadVectors): Schema {
  if (mode !== 'null') return schema
  const fields = schema.fields.map(field => {
    const nullable = target.fields.find(({ name }) => name === field.name)?.nullable ?? field.nullable
    return isVector(field.type) ? { ...field, nullable } : field
  })
  return { ...schema, fields }
}

/**
 * Return a batch without bad vectors, with the fields of `schema`. `firstRow` is the number of row 0 in messages.
 * @throws SchemaValidation if a vector should become null and its column is not nullable.
 */
export function soundBatch(batch: Batch, schema: Schema, mode: BadVectors, firstRow: number): Batch {
  const named = batch.schema === schema ? batch : { ...batch, schema }
  if (mode === 'error') return named
  const anyBad = new Uint8Array(batch.length)
  let found = false
  const columns = batch.columns.map((column, i) => {
    if (!isVector(column.type)) return column
    const bad = badRows(column, column.type)
    const without = withoutNullElements(column)
    if (bad === null) return without
    found = true
    for (let row = 0; row < bad.length; row++) anyBad[row]! |= bad[row]!
    if (mode === 'skip') return without
    const { name, nullable } = schema.fields[i]!
    if (!nullable) throw notNullable(name, firstRow + bad.indexOf(1))
    return withNulls(without, bad)
  })
  const sound = { ...named, columns }
  if (!found || mode === 'null') return sound
  const kept = new Uint32Array(batch.length)
  let count = 0
  for (let row = 0; row < anyBad.length; row++) if (anyBad[row] === 0) kept[count++] = row
  return takeBatch(sound, kept.subarray(0, count))
}

/**
 * Return an array with 1 for each row with a bad vector and 0 for every other row. Returns null if no vector is bad.
 */
function badRows(vectors: Column, { size, child: { type } }: VectorType): Uint8Array | null {
  const elements = vectors.children[0]!
  const bad = new Uint8Array(vectors.length)
  if (type.bits === 16) markBad16(elements.values as Uint16Array, size, bad)
  else markBad(elements.values as Float32Array | Float64Array, size, bad)
  if (elements.nullCount > 0) {
    for (let i = 0; i < vectors.length * size; i++) if (!isValid(elements, i)) bad[Math.floor(i / size)] = 1
  }
  if (vectors.validity !== null) {
    for (let row = 0; row < bad.length; row++) if (!isValid(vectors, row)) bad[row] = 0
  }
  return bad.includes(1) ? bad : null
}

function markBad(values: Float32Array | Float64Array, size: number, bad: Uint8Array): void {
  for (let row = 0; row < bad.length; row++) {
    if (!allFinite(values, row * size, (row + 1) * size)) bad[row] = 1
  }
}

function markBad16(values: Uint16Array, size: number, bad: Uint8Array): void {
  for (let row = 0, i = 0; row < bad.length; row++) {
    for (const end = i + size; i < end; i++) if ((values[i]! & 0x7c00) === 0x7c00) bad[row] = 1
  }
}

/**
 * Drop the validity of the elements. Only vectors that are bad or null have null elements, and no code reads those
 * vectors.
 */
function withoutNullElements(vectors: Column): Column {
  const elements = vectors.children[0]!
  if (elements.nullCount === 0) return vectors
  return { ...vectors, children: [{ ...elements, validity: null, nullCount: 0 }] }
}

function withNulls(column: Column, bad: Uint8Array): Column {
  const validity = new Uint8Array(bitmapBytes(column.length))
  for (let row = 0; row < column.length; row++) {
    if (bad[row] === 0 && isValid(column, row)) validity[row >>> 3]! |= 1 << (row & 7)
  }
  return { ...column, validity, nullCount: column.length - countBits(validity, column.length) }
}

/**
 * Vectors that nothing can be measured to: with NaN, infinity or a null element, or, in plain objects, of another length
 * than their column's. They become null, or their rows are left out, before anything else looks at the rows.
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

/** What becomes of a bad vector: the call is refused (`error`), the vector is null, or its row is left out. */
export type BadVectors = 'error' | 'null' | 'skip'

/** A column of vectors: a fixed_size_list of floats. */
export interface VectorColumn {
  readonly name: string
  readonly size: number
  readonly bits: 16 | 32 | 64
  readonly nullable: boolean
}

type Row = Readonly<Record<string, unknown>>

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

/** Rows, and what each is called in messages: the number of the first, or one for each. */
export interface NumberedRows {
  readonly rows: readonly Row[]
  readonly numbers: number | Uint32Array
}

/**
 * Plain objects without their bad vectors. What is no array of numbers at all stays, for others to refuse.
 * @throws schemaMismatch (code 20) where a vector should be null and its column allows none.
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

/** The row itself, a copy of it with nulls, or null where it is left out. */
function soundRow(row: Row, number: number, vectors: readonly VectorColumn[], mode: BadVectors): Row | null {
  let sound = row
  for (let i = 0; i < vectors.length; i++) {
    const { name, size, bits, nullable } = vectors[i]!
    const list = Object.hasOwn(row, name) ? row[name] : undefined
    if (!isList(list) || !isBad(list, size, bits)) continue
    if (mode === 'skip') return null
    if (!nullable) throw allowsNoNull(name, number)
    sound = { ...sound, [name]: null }
  }
  return sound
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || types.isTypedArray(value)
}

/** The least magnitudes that are infinite when rounded to that many bits. */
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

function allowsNoNull(name: string, row: number): SheafError {
  return schemaMismatch(`column ${quote(name)} has a bad vector in row ${row}, and may not be null`, {
    hint: "leave such rows out with badVectors: 'skip'",
  })
}

const rowsAtOnce = 1024

/** How long the vectors of a column are to be, and as what they are stored. */
export interface CommonVectors {
  readonly size: number
  readonly bits: 32 | 64
}

/**
 * Columns of plain objects that hold nothing but vectors (and nulls), by name: their most frequent length. Vectors are Float32Arrays and
 * Float64Arrays, and in columns that are known to hold vectors all arrays of numbers.
 * @throws invalidInput (code 13) where two lengths are equally frequent: which vectors are the bad ones is not known.
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
    if (frequent.length > 1) throw undecided(name, frequent, most)
    found.set(name, { size: frequent[0]!, bits: known.isDouble ? 64 : 32 })
  }
  return found
}

function undecided(column: string, lengths: readonly number[], count: number): SheafError {
  const [a, b] = lengths.toSorted((x, y) => x - y)
  return invalidInput(
    `column ${quote(column)} holds ${count} vectors of ${a} numbers and as many of ${b}: which of them are bad is not known`,
    { hint: 'pass a schema, which says how long the vectors are' },
  )
}

interface LengthCounts {
  /** How many vectors have each length. */
  readonly lengths: Map<number, number>
  /** Whether all of them are Float64Arrays. */
  isDouble: boolean
}

/** False where a value is no vector. */
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
 * The schema of batches that `soundBatch` has been over: vectors may be null wherever they may be in `target`, the schema
 * they are for.
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
 * A batch without its bad vectors, with the fields of `schema`. `firstRow` is what its row 0 is called in messages.
 * @throws schemaMismatch (code 20) where a vector should be null and its column allows none.
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
    if (!nullable) throw allowsNoNull(name, firstRow + bad.indexOf(1))
    return withNulls(without, bad)
  })
  const sound = { ...named, columns }
  if (!found || mode === 'null') return sound
  const kept = new Uint32Array(batch.length)
  let count = 0
  for (let row = 0; row < anyBad.length; row++) if (anyBad[row] === 0) kept[count++] = row
  return takeBatch(sound, kept.subarray(0, count))
}

/** A 1 for every row whose vector is there and bad; null when there is none. */
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

/** Null elements lie in vectors that are bad, or null themselves: nothing will ask for them. */
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

/**
 * Converts incoming batches to the schema of a table. Puts the columns into the table's order, and casts values to the
 * table's types without loss. Rejects null in a non-nullable column, and null, NaN or infinity as an element of a vector.
 */
import { type Batch, type Column, isValid } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { allFinite } from '../arrow/finite.js'
import { fromFloat16 } from '../arrow/float16.js'
import { Place, type RowNumbering } from '../arrow/place.js'
import { sliceBatch } from '../arrow/slice.js'
import { childFields, type Field, type Schema } from '../arrow/types.js'
import { columnNotFound, quote, schemaMismatch } from '../errors.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { definingPart } from './definitions.js'
import { castColumn, castRefusal } from './lossless-cast.js'

/**
 * Check that rows with the schema `incoming` fit a table with the schema `schema`. Throws `ColumnNotFound` for an
 * unknown column. Throws `SchemaValidation` for a repeated column, a type without a lossless cast, and a missing column
 * that is not nullable.
 */
export function checkFits(incoming: Schema, schema: Schema): void {
  checkColumns(incoming, schema)
  for (const { name, nullable } of schema.fields) {
    if (nullable || incoming.fields.some(field => field.name === name)) continue
    throw schemaMismatch(`column ${quote(name)} is missing, but it is not nullable`)
  }
}

/** Check the given columns like `checkFits`. Any column may be missing. */
export function checkColumns(incoming: Schema, schema: Schema): void {
  checkNames(incoming)
  for (const { name, type } of incoming.fields) {
    const field = schema.fields.find(known => known.name === name)
    if (field === undefined) {
      throw columnNotFound(
        name,
        schema.fields.map(known => known.name),
      )
    }
    const refusal = castRefusal(type, field.type, name)
    if (refusal !== null) throw refusal
  }
}

/**
 * Return `incoming`. A column gets the type of the table's column with the same name, if a lossless cast to this type
 * exists.
 */
export function fittingSchema(incoming: Schema, schema: Schema): Schema {
  const fields = incoming.fields.map(field => {
    const known = schema.fields.find(({ name }) => name === field.name)
    const fits = known !== undefined && castRefusal(field.type, known.type, field.name) === null
    return fits ? { ...field, type: known.type } : field
  })
  return { fields }
}

/**
 * Return `batch` with exactly the fields of `schema`. A missing nullable field becomes null. `rows`: numbers of the
 * rows in messages. Throws `SchemaValidation` if a value does not fit.
 */
export function conformBatch(batch: Batch, schema: Schema, rows: RowNumbering): Batch {
  const columns = schema.fields.map(field => conformColumn(batch, field, rows))
  return { schema, length: batch.length, columns }
}

/** Maximum number of rows that are processed without a pause. */
const rowsAtOnce = 8 * 1024

/** Call `conformBatch` for a stream of batches. Messages number the rows of all batches consecutively. */
export async function* conformBatches(
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  schema: Schema,
): AsyncGenerator<Batch> {
  let firstRow = 0
  for await (const batch of batches) {
    for (let from = 0; from < batch.length; from += rowsAtOnce) {
      const piece = sliceBatch(batch, from, Math.min(rowsAtOnce, batch.length - from))
      yield conformBatch(piece, schema, firstRow)
      firstRow += piece.length
    }
  }
}

/**
 * Return the schema of a table that is created from rows with the schema `incoming`. Columns of type null become
 * nullable. If the rows are copied from a table with computed columns, these columns become plain columns, because the
 * rows have their values. Throws `SchemaValidation` for a name that a table cannot have.
 */
export function schemaOfTable(incoming: Schema): Schema {
  checkNames(incoming)
  const fields = incoming.fields.map(field => {
    const nullable = field.nullable || field.type.kind === 'null'
    return { ...field, nullable, ...(field.metadata && { metadata: definingPart(field.metadata, false) }) }
  })
  return { ...incoming, fields }
}

/** Check the names of columns. Throws `SchemaValidation` for an empty, repeated or reserved name. */
export function checkNames(schema: Schema): void {
  const seen = new Set<string>()
  for (const { name } of schema.fields) {
    if (name === '') throw schemaMismatch('a column has an empty name')
    if (seen.has(name)) throw schemaMismatch(`two columns have the name ${quote(name)}`)
    if (reservedNames.has(name)) {
      throw schemaMismatch(`the column name ${quote(name)} is reserved for columns that queries compute`, {
        hint: 'rename the column',
      })
    }
    seen.add(name)
  }
  checkCharacters(schema.fields)
}

function checkCharacters(fields: readonly Field[]): void {
  for (const { name, type } of fields) {
    if (!name.isWellFormed()) {
      throw schemaMismatch(`column ${quote(name)} has half of a surrogate pair in its name`, {
        hint: 'rename the column',
      })
    }
    checkCharacters(childFields(type))
  }
}

/** Reserved names: the names of the columns that queries compute. */
const reservedNames = new Set(['_rowid', '_rowoffset', '_distance', '_score', '_relevance_score'])

function conformColumn(batch: Batch, field: Field, rows: RowNumbering): Column {
  const index = batch.schema.fields.findIndex(known => known.name === field.name)
  const column = batch.columns[index] ?? nullColumn(field.type, batch.length)
  const place = Place.column(field.name, rows)
  const conformed = castColumn(column, field, place)
  checkFiniteVectors(conformed, place)
  return conformed
}

/** Throw `SchemaValidation` for null, NaN or infinity as an element of a vector of a column. */
export function checkFiniteVectors(column: Column, place: Place): void {
  checkVectors(column, place, () => true)
}

function float16Values(child: Column, count: number): Float32Array {
  const bits = child.values as Uint16Array
  const values = new Float32Array(count)
  for (let i = 0; i < count; i++) values[i] = fromFloat16(bits[i]!)
  return values
}

/**
 * Throw `SchemaValidation` for null, NaN or infinity in a vector, because such a vector has no distances. Checks columns,
 * struct fields and lists of vectors. `counts` returns whether the value that contains a row of `column` is not null;
 * other rows are ignored.
 */
function checkVectors(column: Column, place: Place, counts: (index: number) => boolean): void {
  const { type, children, offsets } = column
  const isThere = (index: number) => counts(index) && isValid(column, index)
  if (type.kind === 'fixed_size_list') checkFinite(column, type.size, place, isThere)
  else if (type.kind === 'struct') {
    for (const [i, { name }] of type.children.entries())
      checkVectors(children[i]!, place.field(name), isThere)
  } else if (type.kind === 'list' && type.child.type.kind === 'fixed_size_list') {
    const ends = offsets!.subarray(1, column.length + 1)
    const isHeld = (index: number) => {
      const list = partitionPoint(ends.length, i => ends[i]! <= index)
      return index >= offsets![0]! && list < ends.length && isThere(list)
    }
    checkVectors(children[0]!, place.elements(offsets!), isHeld)
  }
}

function checkFinite(vectors: Column, size: number, place: Place, isThere: (index: number) => boolean): void {
  const child = vectors.children[0]!
  const used = vectors.length * size
  if (child.type.kind !== 'float') return
  const values = child.type.bits === 16 ? float16Values(child, used) : (child.values as Float32Array)
  if (child.nullCount === 0 && allFinite(values, 0, used)) return
  for (let i = 0; i < used; i++) {
    const value = isValid(child, i) ? values[i]! : null
    const vector = Math.floor(i / size)
    if (Number.isFinite(value) || !isThere(vector)) continue
    throw schemaMismatch(
      `${place.rowName(vector)}: column ${quote(place.path)} holds ${value} as element ${i % size} of a vector`,
      { hint: 'elements of vectors must be finite numbers: correct these rows, or omit them' },
    )
  }
}

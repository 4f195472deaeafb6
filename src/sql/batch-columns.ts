/** Finds the columns of a batch by the paths of an expression. */
import type { Batch, Column } from '../arrow/column.js'
import { typeName } from '../arrow/type-name.js'
import { assert } from '../errors.js'
import { Bitset } from '../primitives/bitset.js'
import { strictValidity } from './kernels/truth.js'
import { bytesOfWords, operandOf } from './values/vector.js'

/** Return the column of a batch with the given path. A path with several names leads to a field inside structs. */
export function columnAt(batch: Batch, path: readonly string[]): Column {
  const index = batch.schema.fields.findIndex(field => field.name === path[0])
  assert(index !== -1, `the batch has the column ${path[0]}`)
  return fieldAt(batch.columns[index]!, path.slice(1))
}

/**
 * Return a field inside a struct column. `names`: the path from the column to the field. An empty path returns the
 * column itself.
 */
export function fieldAt(column: Column, names: readonly string[]): Column {
  let field = column
  for (const name of names) {
    const { type } = field
    assert(type.kind === 'struct', `${type.kind} is a struct`)
    field = fieldOf(
      field,
      type.children.findIndex(child => child.name === name),
    )
  }
  return field
}

/** Return field number `index` of a struct column. The field is NULL where the struct is NULL. */
export function fieldOf(struct: Column, index: number): Column {
  const field = struct.children[index]
  assert(field !== undefined, `${typeName(struct.type)} has a field ${index}`)
  if (struct.validity === null) return field
  const both = [struct, field].map(column => operandOf(column, false))
  const valid = strictValidity(both, struct.length)
  assert(valid !== null, 'a struct with a bitmap has one')
  const nullCount = struct.length - new Bitset(struct.length, valid).count()
  return { ...field, validity: bytesOfWords(valid), nullCount }
}

/** Plans new columns of a table: their fields, and the values for existing rows. */
import type { Batch } from '../arrow/column.js'
import { typeFromJson } from '../arrow/schema-from-json.js'
import type { DataType, Field, Schema } from '../arrow/types.js'
import { cut, invalidInput, quote, schemaMismatch } from '../errors.js'
import { findField } from '../manifest/field-node.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { NewColumn, NewVirtualColumn } from '../protocol/schema-shapes.js'
import { inColumn } from '../query/in-column.js'
import { sourceSchema } from '../query/source.js'
import { bindAssignment } from '../sql/binding/assign.js'
import { type BindOptions, bindExpression } from '../sql/binding/bind.js'
import type { BoundExpression } from '../sql/bound.js'
import { evaluate } from '../sql/evaluate.js'
import { parseExpression } from '../sql/syntax/parse.js'
import { checkNames } from './conform.js'
import { checkFree, computedMetadata, virtualMetadata } from './definitions.js'
import type { ColumnsWork } from './stage-columns.js'

/** A new column. */
interface AddedColumn {
  readonly field: Field
  /** Its value in existing rows. Null: all existing rows are null, so nothing is written. */
  readonly value: BoundExpression | null
}

/**
 * Plan new columns. Throws `SchemaValidation` for names that exist or are not allowed and for values of another type,
 * `ColumnNotFound` and `InvalidInput` for expressions that cannot be bound.
 */
export function planNewColumns(
  columns: readonly NewColumn[],
  schema: TableSchema,
  options: BindOptions,
): readonly AddedColumn[] {
  const added = columns.flatMap(column => planColumn(column, schema, options))
  for (const { field } of added) {
    if (!schema.fields.some(({ name }) => name === field.name)) continue
    throw schemaMismatch(`column ${quote(field.name)} already exists`, {
      hint: 'choose another name, or drop the column first',
    })
  }
  checkNames({ fields: added.map(({ field }) => field) })
  return added
}

function planColumn(column: NewColumn, schema: TableSchema, options: BindOptions): readonly AddedColumn[] {
  const { name, expression, computed, virtual_column, data_type } = column
  const type = data_type === undefined ? undefined : typeFromJson(data_type)
  if (virtual_column !== undefined) return virtualColumns(name, virtual_column, type, schema)
  if (expression !== undefined) {
    // An expression that is evaluated only once may read the row's offset and id.
    return [withValue(bindValue(expression, name, type, sourceSchema(schema), options), name, type)]
  }
  if (computed !== undefined) {
    const value = bindValue(computed, name, type, schema, options)
    checkNotVolatile(value, name, computed)
    const made = withValue(value, name, type)
    return [{ ...made, field: { ...made.field, metadata: computedMetadata(computed) } }]
  }
  if (type !== undefined) return [{ field: { name, type, nullable: true }, value: null }]
  throw schemaMismatch(`column ${quote(name)} is all null, and has no type`, { hint: 'give data_type' })
}

/** Refuse a computed column whose value changes with every evaluation: it is computed again at every write (`InvalidInput`). */
function checkNotVolatile({ expr }: BoundExpression, name: string, written: string): void {
  if (!expr.cost.isVolatile) return
  throw invalidInput(
    `column ${quote(name)} would change with every write: ${cut(written)} has another value each time`,
    { hint: 'add the column by an expression: it is evaluated once' },
  )
}

function withValue(value: BoundExpression, name: string, type: DataType | undefined): AddedColumn {
  const { expr } = value
  const isNull = expr.kind === 'literal' && expr.value === null
  return { field: { name, type: type ?? value.type, nullable: true }, value: isNull ? null : value }
}

function bindValue(
  text: string,
  name: string,
  type: DataType | undefined,
  source: Schema,
  options: BindOptions,
): BoundExpression {
  const value = inColumn(name, () =>
    type === undefined
      ? bindExpression(parseExpression(text), source, options)
      : bindAssignment(text, name, type, source, options),
  )
  if (type !== undefined || value.type.kind !== 'null') return value
  throw schemaMismatch(`column ${quote(name)} would be NULL without a type`, {
    hint: 'give data_type, or CAST it',
  })
}

/** The column `name`, or those of `outputs`. All are null until the function fills them. */
function virtualColumns(
  name: string,
  definition: NewVirtualColumn,
  type: DataType | undefined,
  schema: TableSchema,
): readonly AddedColumn[] {
  const { input_columns, data_type, outputs } = definition
  for (const path of input_columns) findField(schema, path)
  const given = [type, data_type, outputs].filter(each => each !== undefined)
  if (given.length !== 1) {
    throw schemaMismatch(`virtual column ${quote(name)} needs exactly one type`, {
      hint: 'give data_type, or outputs where the function fills several columns',
    })
  }
  if (outputs === undefined) {
    const field = { name, type: type ?? typeFromJson(data_type), nullable: true }
    return [{ field: { ...field, metadata: virtualMetadata(definition, null) }, value: null }]
  }
  return outputs.map(({ column, struct_field, data_type, nullable, metadata = {} }): AddedColumn => {
    if (!nullable) {
      throw schemaMismatch(`column ${quote(column)} is null until it is filled`, { hint: 'make it nullable' })
    }
    checkFree(Object.keys(metadata))
    const all = { ...metadata, ...virtualMetadata(definition, struct_field) }
    return { field: { name: column, type: typeFromJson(data_type), nullable, metadata: all }, value: null }
  })
}

/** Return how to compute the new columns for existing rows; null if none has values. */
export function addedValues(added: readonly AddedColumn[]): ColumnsWork | null {
  const columns = added.flatMap(({ field, value }) => (value === null ? [] : [{ field, value }]))
  if (columns.length === 0) return null
  const expressions = columns.map(({ value }) => value)
  return {
    schema: { fields: columns.map(({ field }) => field) },
    names: [...new Set(expressions.flatMap(value => value.columns))],
    expressions,
    values: rows => evaluated(columns, rows),
    concerns: () => true,
  }
}

function evaluated(
  columns: readonly { readonly field: Field; readonly value: BoundExpression }[],
  rows: Batch,
): Batch {
  const values = columns.map(({ value }) => evaluate(value, rows))
  const fields = columns.map(({ field }, i) => ({ ...field, type: values[i]!.type }))
  return { schema: { fields }, length: rows.length, columns: values }
}

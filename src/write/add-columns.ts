/** Plans new columns of a table: their fields, and their values in existing rows. */
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
import type { BoundExpression } from '../sql/bound-expression.js'
import { evaluate } from '../sql/evaluate.js'
import { parseExpression } from '../sql/syntax/parse.js'
import { checkNames } from './conform.js'
import { checkFree, computedMetadata, virtualMetadata } from './definitions.js'
import type { ColumnsWork } from './stage-columns.js'

/** A new column. */
interface AddedColumn {
  readonly field: Field
  /**
   * Expression for the values in existing rows. Null: the column is null in all existing rows, so no values are
   * written.
   */
  readonly value: BoundExpression | null
}

/**
 * Plan new columns. Throws `SchemaValidation` for a name that exists or is not allowed, and for an expression whose
 * type does not fit. Throws `ColumnNotFound` or `InvalidInput` for an expression that cannot be bound.
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
    // This expression is evaluated only once, so it may also read the offset and the id of the row (`sourceSchema`).
    return [withValue(bindValue(expression, name, type, sourceSchema(schema), options), name, type)]
  }
  if (computed !== undefined) {
    const value = bindValue(computed, name, type, schema, options)
    checkNotVolatile(value, name, computed)
    const made = withValue(value, name, type)
    return [{ ...made, field: { ...made.field, metadata: computedMetadata(computed) } }]
  }
  if (type !== undefined) return [{ field: { name, type, nullable: true }, value: null }]
  throw schemaMismatch(`column ${quote(name)} has no type, because it has no expression`, {
    hint: 'give the type of the column',
  })
}

/**
 * Throw `InvalidInput` if an expression, such as a random number, gives another value at each evaluation. A computed
 * column is evaluated again when its row is written, so its values would change.
 */
function checkNotVolatile({ expr }: BoundExpression, name: string, written: string): void {
  if (!expr.cost.isVolatile) return
  throw invalidInput(
    `column ${quote(name)} would change with every write, because ${cut(written)} gives another value each time`,
    { hint: 'use an expression without computed: it is evaluated only once, when the column is added' },
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
  throw schemaMismatch(`column ${quote(name)} has no type, because its expression is NULL`, {
    hint: 'give the type of the column, or use CAST in the expression',
  })
}

/**
 * Return the columns of a virtual column: the column `name`, or all columns of `outputs`. They are null until the
 * function fills them.
 */
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
      hint: 'give the type of the column, or outputs if the function fills several columns',
    })
  }
  if (outputs === undefined) {
    const field = { name, type: type ?? typeFromJson(data_type), nullable: true }
    return [{ field: { ...field, metadata: virtualMetadata(definition, null) }, value: null }]
  }
  return outputs.map(({ column, struct_field, data_type, nullable, metadata = {} }): AddedColumn => {
    if (!nullable) {
      throw schemaMismatch(
        `column ${quote(column)} must be nullable, because it is null until the function fills it`,
        { hint: 'make the column nullable' },
      )
    }
    checkFree(Object.keys(metadata))
    const all = { ...metadata, ...virtualMetadata(definition, struct_field) }
    return { field: { name: column, type: typeFromJson(data_type), nullable, metadata: all }, value: null }
  })
}

/** Return the work of computing the new columns in existing rows. Returns null if all new columns are null there. */
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

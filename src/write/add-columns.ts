/** New columns of a table: what they will be called, and where the values of the rows there are come from. */
import type { Batch } from '../arrow/column.js'
import { typeFromJson } from '../arrow/schema-json.js'
import type { Field } from '../arrow/types.js'
import { quote, schemaMismatch } from '../errors.js'
import type { Fragment } from '../manifest/layout.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { NewColumn } from '../protocol/schema-shapes.js'
import { sourceSchema } from '../query/source.js'
import { bindAssignment } from '../sql/binding/assign.js'
import { type BindOptions, bindExpression } from '../sql/binding/bind.js'
import type { BoundExpression } from '../sql/bound.js'
import { evaluate } from '../sql/evaluate.js'
import { parseExpression } from '../sql/syntax/parse.js'
import { checkNames } from './conform.js'
import type { ColumnsWork } from './stage-columns.js'

/** A column to be. */
export interface AddedColumn {
  readonly field: Field
  /** What it is for the rows there are; null: nothing needs to be written, all of them are null. */
  readonly value: BoundExpression | null
}

/**
 * Throws code 20 for names that are taken or no column may have, and for values of another type; 12 and 13 for expressions
 * that cannot be.
 */
export function settleNewColumns(
  columns: readonly NewColumn[],
  schema: TableSchema,
  options: BindOptions,
): readonly AddedColumn[] {
  const added = columns.map(column => settle(column, schema, options))
  checkNewNames(
    schema,
    added.map(({ field }) => field),
  )
  return added
}

/** Throws code 20 where a table cannot get these columns. */
export function checkNewNames(schema: TableSchema, fields: readonly Field[]): void {
  for (const { name } of fields) {
    if (schema.fields.some(known => known.name === name)) {
      throw schemaMismatch(`column ${quote(name)} already exists`, {
        hint: 'choose another name, or drop the column first',
      })
    }
  }
  checkNames({ fields })
}

function settle(
  { name, expression, data_type }: NewColumn,
  schema: TableSchema,
  options: BindOptions,
): AddedColumn {
  const declared = data_type === undefined ? undefined : typeFromJson(data_type)
  if (expression === undefined) {
    if (declared !== undefined) return { field: { name, type: declared, nullable: true }, value: null }
    throw schemaMismatch(`column ${quote(name)} is all null, and has no type`, { hint: 'give data_type' })
  }
  const value = bindValue(expression, name, declared, schema, options)
  const { expr } = value
  const isNull = expr.kind === 'literal' && expr.value === null
  return { field: { name, type: declared ?? value.type, nullable: true }, value: isNull ? null : value }
}

function bindValue(
  text: string,
  name: string,
  type: Field['type'] | undefined,
  schema: TableSchema,
  options: BindOptions,
): BoundExpression {
  const source = sourceSchema(schema, false)
  if (type !== undefined) return bindAssignment(text, name, type, source, options)
  const value = bindExpression(parseExpression(text), source, options)
  if (value.type.kind !== 'null') return value
  throw schemaMismatch(`column ${quote(name)} would be NULL, of no type`, {
    hint: 'give data_type, or CAST it',
  })
}

/** How the columns that have values get them; null when none has. */
export function addedValues(added: readonly AddedColumn[]): ColumnsWork | null {
  const columns = added.flatMap(({ field, value }) => (value === null ? [] : [{ field, value }]))
  if (columns.length === 0) return null
  const expressions = columns.map(({ value }) => value)
  return {
    schema: { fields: columns.map(({ field }) => field) },
    names: [...new Set(expressions.flatMap(value => value.columns))],
    expressions,
    values: rows => evaluated(columns, rows),
    concerns: (_: Fragment) => true,
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

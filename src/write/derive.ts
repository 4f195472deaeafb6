/** Columns that are computed from others: how to compute them, and which columns they read. */
import type { Batch, Column } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { equalTypes } from '../arrow/same-type.js'
import { quote, SheafError, schemaMismatch } from '../errors.js'
import { findField } from '../manifest/field-node.js'
import type { TableField, TableSchema } from '../manifest/table-schema.js'
import type { Clock } from '../primitives/clock.js'
import { bindAssignment } from '../sql/binding/assign.js'
import type { BoundExpression } from '../sql/bound.js'
import { evaluate } from '../sql/evaluate.js'
import { callFunction } from './call-function.js'
import { type Definition, definitionOf, definitionText } from './definitions.js'
import { type ColumnFunction, type FunctionCaller, findFunction } from './functions.js'

/** The functions and the clock that definitions need. */
export interface Deriver {
  readonly functions: readonly ColumnFunction[]
  readonly clock: Clock
}

/** Context of one batch of rows. */
export interface DeriveOptions {
  /** Number of the first row in error messages. */
  readonly firstRow: number
  readonly signal: AbortSignal | undefined
  /** Passed on to functions; absent for jobs. */
  readonly caller?: FunctionCaller
}

/** A way to compute one or more columns. */
export interface Derivation {
  /** The columns that it computes. */
  readonly fields: readonly TableField[]
  /** The columns of the table that it reads. */
  readonly inputs: readonly string[]
  /** Null for a function. */
  readonly expression: BoundExpression | null
  /** Compute `fields` for rows that have the columns `inputs`. The types fit after a lossless cast. */
  readonly values: (rows: Batch, options: DeriveOptions) => Batch | Promise<Batch>
}

/** Return a batch of one column, with the type of its values. */
export function soleBatch(field: TableField, column: Column): Batch {
  return { schema: { fields: [{ ...field, type: column.type }] }, length: column.length, columns: [column] }
}

/** Default number of parallel calls of a function. */
const callsAtOnce = 4

/**
 * Return how to compute columns that share one definition. An unknown function gives nulls. Throws `ColumnNotFound` for
 * a missing input column.
 */
export function deriving(
  definition: Definition,
  fields: readonly TableField[],
  schema: TableSchema,
  { functions, clock }: Deriver,
  concurrency = callsAtOnce,
): Derivation {
  if (definition.kind === 'computed') {
    const { name, type } = fields[0]!
    const expression = bindAssignment(definition.expression, name, type, schema, { clock })
    const values = (rows: Batch) => soleBatch(fields[0]!, evaluate(expression, rows))
    return { fields, inputs: expression.columns, expression, values }
  }
  const { input_columns, udf_name, udf_version } = definition.column
  const paths = input_columns.map(path => ({ path, names: findField(schema, path).map(({ name }) => name) }))
  const outputs = fields.map(field => ({ field, structField: structFieldOf(field) }))
  const called = findFunction(functions, udf_name, udf_version)
  return {
    fields,
    inputs: [...new Set(paths.map(({ names }) => names[0]!))],
    expression: null,
    async values(rows, { firstRow, signal, caller }) {
      const call = { signal, context: caller?.context, identity: caller?.identity }
      const columns =
        called === undefined
          ? fields.map(({ type }) => nullColumn(type, rows.length))
          : await callFunction(called, paths, outputs, rows, { firstRow, concurrency, call })
      return { schema: { fields }, length: rows.length, columns }
    },
  }
}

function structFieldOf(field: TableField): string | null {
  const definition = definitionOf(field)
  return definition?.kind === 'virtual' ? definition.structField : null
}

/** Return the columns that are computed together with `field`: those of one function with several results. */
export function filledWith(field: TableField, schema: TableSchema): readonly TableField[] {
  if (structFieldOf(field) === null) return [field]
  const text = definitionText(field)
  return schema.fields.filter(other => structFieldOf(other) !== null && definitionText(other) === text)
}

/**
 * Refuse a schema change that gives a computed column other inputs: a column of another type, another column with the
 * name of an input, or none. Throws `SchemaValidation` and names the computed column.
 */
export function checkDependents(before: TableSchema, after: TableSchema, deriver: Deriver): void {
  for (const field of after.fields) {
    const definition = definitionOf(field)
    if (definition === null) continue
    const known = before.fields.find(({ id }) => id === field.id)
    const read = inputsOf(definition, known ?? field, before, deriver)
    if (read === null) continue
    const now = inputsOf(definition, field, after, deriver)
    const isSame =
      now !== null && read.every(({ id, type }, i) => now[i]?.id === id && equalTypes(now[i].type, type))
    if (isSame) continue
    const names = read.map(({ name }) => quote(name)).join(', ')
    throw schemaMismatch(
      `column ${quote(field.name)} is computed from ${names}, which this change would remove or replace`,
      {
        hint: `drop ${quote(field.name)} first, and add it again afterwards`,
      },
    )
  }
}

/** The columns that a definition reads; null if it can no longer be bound. */
function inputsOf(
  definition: Definition,
  field: TableField,
  schema: TableSchema,
  deriver: Deriver,
): readonly TableField[] | null {
  try {
    const { inputs } = deriving(definition, [field], schema, deriver)
    return inputs.map(name => schema.fields.find(column => column.name === name)!)
  } catch (error) {
    if (error instanceof SheafError) return null
    throw error
  }
}

/**
 * Derivations: functions that compute columns of a table from other columns, according to the definitions of the
 * columns.
 */
import type { Batch, Column } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { equalTypes } from '../arrow/same-type.js'
import { quote, SheafError, schemaMismatch } from '../errors.js'
import { findField } from '../manifest/field-node.js'
import type { TableField, TableSchema } from '../manifest/table-schema.js'
import type { Clock } from '../primitives/clock.js'
import { bindAssignment } from '../sql/binding/assign.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { evaluate } from '../sql/evaluate.js'
import { callFunction } from './call-function.js'
import { type Definition, definitionOf, definitionText } from './definitions.js'
import { type ColumnFunction, type FunctionCaller, findFunction } from './functions.js'

/** The application's functions and the clock, which the evaluation of definitions needs. */
export interface Deriver {
  readonly functions: readonly ColumnFunction[]
  readonly clock: Clock
}

/** Options for the computation of one batch of rows. */
export interface DeriveOptions {
  /** Number of the first row in error messages. */
  readonly firstRow: number
  readonly signal: AbortSignal | undefined
  /** The caller that writes the rows. It is passed to functions. Undefined for a job. */
  readonly caller?: FunctionCaller
}

/** The computation of one or more columns. */
export interface Derivation {
  /** The computed columns. */
  readonly fields: readonly TableField[]
  /** Names of the columns that the computation reads. */
  readonly inputs: readonly string[]
  /** The expression that gives the values. Null if a function gives the values. */
  readonly expression: BoundExpression | null
  /** Compute `fields`. `rows` must have the columns `inputs`. The caller casts the result to the types of `fields`. */
  readonly values: (rows: Batch, options: DeriveOptions) => Batch | Promise<Batch>
}

/** Return a batch with one column. Its field has the type of `column`, which may differ from the type of `field`. */
export function soleBatch(field: TableField, column: Column): Batch {
  return { schema: { fields: [{ ...field, type: column.type }] }, length: column.length, columns: [column] }
}

/** Default of the maximum number of parallel calls of a function. */
const callsAtOnce = 4

/**
 * Return the computation of the columns `fields`, which have the definition `definition`. If the process does not have
 * the function of the definition, the values are null. `concurrency`: maximum number of parallel calls of a function.
 * Throws `ColumnNotFound` if an input column is missing.
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

/** Return the columns that one call of a function fills together with `field`, including `field`. */
export function filledWith(field: TableField, schema: TableSchema): readonly TableField[] {
  if (structFieldOf(field) === null) return [field]
  const text = definitionText(field)
  return schema.fields.filter(other => structFieldOf(other) !== null && definitionText(other) === text)
}

/**
 * Throw `SchemaValidation` if a schema change affects the inputs of a column with a definition. This is the case if an
 * input is dropped, gets another type, or is replaced by another column with its name. The message names the column.
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
      `column ${quote(field.name)} is computed from ${names}, which this call would drop or change`,
      {
        hint: `drop ${quote(field.name)} before, and add it again afterwards`,
      },
    )
  }
}

/** Return the columns that a definition reads. Returns null if the definition cannot be bound to the schema. */
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

/** Columns that follow from others: what fills them, and what they read. */
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

/** What definitions are carried out with. */
export interface Deriver {
  readonly functions: readonly ColumnFunction[]
  readonly clock: Clock
}

export interface DeriveOptions {
  /** What the first row is called in messages. */
  readonly firstRow: number
  readonly signal: AbortSignal | undefined
  /** Default: nobody who could be told. */
  readonly caller?: FunctionCaller
}

export interface Derivation {
  /** The columns it fills. */
  readonly fields: readonly TableField[]
  /** Columns of the table it reads. */
  readonly inputs: readonly string[]
  /** Null for a function. */
  readonly expression: BoundExpression | null
  /** The values of `fields` for rows that have the columns `inputs`; of types that fit. */
  readonly values: (rows: Batch, options: DeriveOptions) => Batch | Promise<Batch>
}

/** Rows of one column, of the type that its values came to be. */
export function soleBatch(field: TableField, column: Column): Batch {
  return { schema: { fields: [{ ...field, type: column.type }] }, length: column.length, columns: [column] }
}

/** Calls of a function that are under way at the same time. */
const callsAtOnce = 4

/**
 * How columns with one definition are filled; a function that is not known here gives nulls. Throws code 12 where a
 * column that is read is not there.
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

/** The columns that are filled together with `field`: those of one function with several results. */
export function filledWith(field: TableField, schema: TableSchema): readonly TableField[] {
  if (structFieldOf(field) === null) return [field]
  const text = definitionText(field)
  return schema.fields.filter(other => structFieldOf(other) !== null && definitionText(other) === text)
}

/**
 * Refuses a schema in which a column that follows from others would read anything else than before: a column of another
 * type, one that bears the name of an input that went, or none at all (code 20, naming the column).
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
      `column ${quote(field.name)} is made of ${names}, which would not be there as before`,
      {
        hint: `drop ${quote(field.name)} first, and add it anew afterwards`,
      },
    )
  }
}

/** The columns a definition reads; null where it cannot be bound any more. */
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

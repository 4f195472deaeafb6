/** Plans updates of rows, and computes the new values. */
import type { Batch } from '../arrow/column.js'
import { columnNotFound } from '../errors.js'
import type { TableField, TableSchema } from '../manifest/table-schema.js'
import type { Clock } from '../primitives/clock.js'
import type { Request } from '../protocol/calls.js'
import { evaluateInSteps } from '../query/evaluate-in-steps.js'
import { inColumn } from '../query/in-column.js'
import { parametersOf } from '../query/plan-query.js'
import { computedFields, rowOffsetField, sourceSchema } from '../query/source.js'
import { bindAssignment } from '../sql/binding/assign.js'
import { type BindOptions, bindFilter } from '../sql/binding/bind.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { checkSettable } from './maintained.js'
import type { NewValues } from './rewrite-rows.js'

/** An updated column, and the expression over the old row that gives its new value. */
interface Assignment {
  readonly field: TableField
  readonly value: BoundExpression
}

/** A bound update. */
interface PlannedUpdate {
  /** The condition for the rows to update. Null: all rows. */
  readonly filter: BoundExpression | null
  readonly assignments: readonly Assignment[]
  /** Whether the new values of a row depend only on the row itself, not on other rows. */
  readonly isOfRow: boolean
}

/**
 * Plan an update. Throws `ColumnNotFound`, `InvalidInput` or `SchemaValidation` if an expression cannot be bound or
 * does not fit.
 */
export function planUpdate(
  { predicate, parameters, updates, update_parameters }: Request<'updateTable'>,
  schema: TableSchema,
  clock: Clock,
): PlannedUpdate {
  const shared = parametersOf(parameters)
  const own = update_parameters === undefined ? shared : parametersOf(update_parameters)
  const assignments = bindUpdates(updates, schema, { parameters: own, clock })
  const source = sourceSchema(schema)
  const filter = predicate === undefined ? null : bindFilter(predicate, source, { parameters: shared, clock })
  shared.checkUsed()
  own.checkUsed()
  const isOfRow = assignments.every(({ value }) => !value.columns.includes(rowOffsetField.name))
  return { filter, assignments, isOfRow }
}

function bindUpdates(
  updates: readonly (readonly [string, string])[],
  schema: TableSchema,
  options: BindOptions,
): readonly Assignment[] {
  const source = sourceSchema(schema)
  return updates.map(([column, text]) => {
    const field = schema.fields.find(({ name }) => name === column)
    const names = schema.fields.map(({ name }) => name)
    if (field === undefined) throw columnNotFound(column, names)
    checkSettable(field)
    const value = inColumn(column, () => bindAssignment(text, column, field.type, source, options))
    return { field, value }
  })
}

/**
 * Return a function that computes the new values of rows. All expressions read the old row, so `a = b, b = a` swaps two
 * columns. `schema`: the schema for which the assignments were planned. Fields are compared by id, so it may be another
 * object.
 */
export function updatedValues(schema: TableSchema, assignments: readonly Assignment[]): NewValues {
  const read = new Set(assignments.flatMap(({ value }) => value.columns))
  const positions = new Map(assignments.map(({ field }, i) => [field.id, i]))
  const kept = schema.fields.filter(field => !positions.has(field.id) || read.has(field.name))
  const made = computedFields.filter(({ name }) => read.has(name))
  const names = [...kept, ...made].map(({ name }) => name)
  const expressions = assignments.map(({ value }) => value)
  return async (source, hits, pacer) => {
    const old = await source.batch(hits, names, false)
    const set = await evaluateInSteps(expressions, old, pacer)
    const columns = schema.fields.map(
      field => set[positions.get(field.id) ?? -1] ?? old.columns[names.indexOf(field.name)]!,
    )
    const fields = schema.fields.map((field, i) => ({ ...field, type: columns[i]!.type }))
    return { schema: { fields }, length: old.length, columns } satisfies Batch
  }
}

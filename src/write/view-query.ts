/** Binds the query of a materialized view to a version of its source. */
import { equalTypes } from '../arrow/same-type.js'
import { typeName } from '../arrow/type-name.js'
import type { Schema } from '../arrow/types.js'
import { invalidInput, quote } from '../errors.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { Clock } from '../primitives/clock.js'
import type { ViewQuery } from '../protocol/view-shapes.js'
import { evaluateInSteps } from '../query/evaluate-in-steps.js'
import * as expressions from '../query/expressions.js'
import { planQuery } from '../query/plan-query.js'
import { namesOf } from '../query/run.js'
import { rowOffsetField } from '../query/source.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { schemaOfTable } from './conform.js'
import type { NewValues } from './rewrite-rows.js'

/** The query of a view, bound to a version of its source: a filter for the rows, and expressions for their values. */
export interface BoundView {
  /** Schema of the view's rows. */
  readonly schema: Schema
  readonly filter: BoundExpression | null
  readonly values: NewValues
  /** Names of the columns that the query reads, including columns that queries compute, such as `_rowid`. */
  readonly reads: readonly string[]
  /** Whether a row of the view depends only on its source row, and not on other rows or the time. */
  readonly isOfRow: boolean
}

/**
 * Bind the query of a view. Throws `ColumnNotFound`, `InvalidInput` or `SchemaValidation` if an expression cannot be
 * bound, and `InvalidInput` if a column is an aggregate.
 */
export function bindView(
  { columns, filter }: Pick<ViewQuery, 'columns' | 'filter'>,
  source: TableSchema,
  clock: Clock,
): BoundView {
  const { watched, wasRead } = watchedClock(clock)
  const request = {
    id: [],
    vector: null,
    k: Number.MAX_SAFE_INTEGER,
    ...(columns !== undefined && { columns }),
    ...(filter !== undefined && { filter }),
  }
  const plan = planQuery(request, source, expressions, watched)
  if (plan.grouping !== null) {
    throw invalidInput(
      'the columns of a view cannot be aggregates, because each row of the view belongs to one row of the source',
      {
        hint: 'use the aggregates in queries of the view',
      },
    )
  }
  const values = plan.output.map(({ value }) => value)
  const all = plan.filter === null ? values : [plan.filter, ...values]
  const names = namesOf(values)
  const fields = plan.output.map(({ field }) => field)
  const reads = namesOf(all)
  return {
    schema: schemaOfTable({ fields }),
    filter: plan.filter,
    async values(rows, hits, pacer) {
      const old = await rows.batch(hits, names, false)
      const columns = await evaluateInSteps(values, old, pacer)
      const made = fields.map((field, i) => ({ ...field, type: columns[i]!.type }))
      return { schema: { fields: made }, length: old.length, columns }
    },
    reads,
    isOfRow:
      !reads.includes(rowOffsetField.name) && !all.some(({ expr }) => expr.cost.isVolatile) && !wasRead(),
  }
}

/**
 * Return a clock that records whether its time was read. A query with `now()` reads the time when it is bound, because
 * `now()` becomes a constant then.
 */
function watchedClock(clock: Clock): { readonly watched: Clock; readonly wasRead: () => boolean } {
  let wasTimeRead = false
  const watched: Clock = {
    now: () => {
      wasTimeRead = true
      return clock.now()
    },
    elapsed: () => clock.elapsed(),
    uuid: () => clock.uuid(),
    random: () => clock.random(),
    sleep: (ms, signal, awaited) => clock.sleep(ms, signal, awaited),
    yield: () => clock.yield(),
  }
  return { watched, wasRead: () => wasTimeRead }
}

/**
 * Check that a query returns the expected schema. Throws `InvalidInput`; the message names the first column that
 * differs.
 */
export function checkMakes(made: Schema, expected: Schema): void {
  for (const [i, field] of expected.fields.entries()) {
    const own = made.fields[i]
    if (own === undefined) throw differs(field.name, 'the query does not return it')
    if (own.name !== field.name) {
      throw differs(field.name, `the query returns ${quote(own.name)} as column ${i}`)
    }
    if (!equalTypes(own.type, field.type)) {
      throw differs(
        field.name,
        `it must be ${typeName(field.type)}, but the query returns ${typeName(own.type)}`,
      )
    }
    if (own.nullable && !field.nullable)
      throw differs(field.name, 'the query may return null, but the column is not nullable')
  }
  const more = made.fields[expected.fields.length]
  if (more !== undefined) throw differs(more.name, 'the query returns it, but the schema does not have it')
}

function differs(name: string, what: string) {
  return invalidInput(`the schema of the view differs from its query in column ${quote(name)}: ${what}`)
}

/** Return whether the columns that a query reads are identical in two schemas of its source. */
export function readsTheSame(reads: readonly string[], a: TableSchema, b: TableSchema): boolean {
  return reads.every(name => {
    const [own, other] = [a, b].map(({ fields }) => fields.find(field => field.name === name))
    if (own === undefined || other === undefined) return own === other
    const isSame = own.id === other.id && equalTypes(own.type, other.type)
    return isSame && own.nested?.join() === other.nested?.join()
  })
}

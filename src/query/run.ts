/** A plan under way: what all of its steps share, and the rows it begins with. */
import type { Batch, Column } from '../arrow/column.js'
import type { Pacer } from '../primitives/pacer.js'
import type { BoundExpression } from '../sql/bound.js'
import { evaluate, selectRows } from '../sql/evaluate.js'
import type { Part } from '../table/table-reader.js'
import { candidates, matchingRows } from './filter.js'
import { pickHits, type RowHits, sliceHits } from './hits.js'
import type { Plan } from './plan.js'
import { searchExact } from './search-exact.js'
import type { RowSource } from './source.js'
import { Steps } from './steps.js'

export interface Run {
  readonly plan: Plan
  readonly source: RowSource
  readonly pacer: Pacer
  /** For tables of keys. */
  readonly seed: number
}

/** Rows of a group at most, so that one step on one group is short. */
export const groupRowsMax = 16 * 1024

/** How many rows to evaluate these expressions for in one go. */
export function stepsOf(expressions: readonly BoundExpression[]): Steps {
  return new Steps(expressions, groupRowsMax)
}

/** The values of some expressions for every row of a batch. */
export async function evaluated(
  values: readonly BoundExpression[],
  batch: Batch,
  steps: Steps,
  pacer: Pacer,
): Promise<Column[]> {
  const columns: Column[] = []
  let took = 0
  for (const value of values) {
    const begun = pacer.elapsed()
    columns.push(evaluate(value, batch))
    took += pacer.elapsed() - begun
    await pacer.turn()
  }
  steps.took(batch.length, took)
  return columns
}

/** All rows that match, by distance or in row order, in groups of as many as a step has. */
export async function* foundRows(run: Run, names: readonly string[], steps: Steps): AsyncGenerator<RowHits> {
  const { plan, source, pacer } = run
  if (plan.search !== null) {
    const hits = await nearestRows(run)
    for (let from = 0, to: number; from < hits.offsets.length; from = to) {
      to = from + steps.rows
      yield sliceHits(hits, from, to)
    }
    return
  }
  for await (const candidate of candidates(source, plan.filter, names, pacer)) {
    const parts: readonly Part[] = [candidate.part]
    for await (const offsets of matchingRows(source, candidate, pacer)) {
      for (let from = 0, to: number; from < offsets.length; from = to) {
        to = from + steps.rows
        yield { parts, partOf: null, offsets: offsets.subarray(from, to), distances: null }
        await pacer.turn()
      }
    }
  }
}

async function nearestRows({ plan, source, pacer }: Run): Promise<RowHits> {
  const { search, filter, filterFirst, offset, limit } = plan
  const before = filterFirst ? filter : null
  const found = await searchExact(search!, before, offset + limit, source, pacer)
  if (filter === null || filterFirst) return found
  const batch = await source.batch(found, filter.columns, false)
  return pickHits(found, selectRows(filter, batch).toIndices())
}

/** Columns that some expressions read. */
export function namesOf(expressions: readonly BoundExpression[]): readonly string[] {
  return [...new Set(expressions.flatMap(({ columns }) => columns))]
}

/** Groups rows and computes aggregates. */
import type { Batch, Column } from '../arrow/column.js'
import { concatBatches, concatColumns } from '../arrow/concat.js'
import { sliceBatch } from '../arrow/slice.js'
import { takeBatch } from '../arrow/take.js'
import type { Pacer } from '../primitives/pacer.js'
import { streamTask } from '../primitives/task.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { selectRows } from '../sql/evaluate.js'
import { accumulator } from './accumulate.js'
import type { Accumulator } from './accumulator.js'
import { Grouper } from './group.js'
import type { Grouping } from './plan.js'
import { chunkRows, evaluated, foundRows, namesOf, type Run, stepsOf } from './run.js'
import { inSteps } from './steps.js'

/** Return one row for every group that passes `having`. The columns are the keys, then the aggregates. */
export async function groupRows(run: Run, { keys, aggregates, having }: Grouping): Promise<Batch> {
  const { source, pacer, seed } = run
  const keyValues = keys.map(({ value }) => value)
  const plainArgs = aggregates.map(({ arg, filter }) => (filter === null ? arg : null))
  const read = [...keyValues, ...plainArgs.filter(arg => arg !== null)]
  const filtered = aggregates.flatMap(({ arg, filter }) => (filter === null ? [] : [filter, arg]))
  const all = [...read, ...filtered.filter(each => each !== null)]
  const names = namesOf(all)
  const grouper = new Grouper(
    keyValues.map(({ type }) => type),
    seed,
  )
  const accumulators = aggregates.map(aggregate => accumulator(aggregate, seed))
  const count = () => (keys.length === 0 ? 1 : grouper.count)
  const steps = stepsOf(all)
  for await (const hits of streamTask(foundRows(run, names, steps))) {
    const batch = await source.batch(hits, names, false)
    const columns = await evaluated(read, batch, pacer)
    const groups =
      keys.length === 0 ? new Uint32Array(batch.length) : grouper.add(columns.slice(0, keys.length))
    const selected = new Map<BoundExpression, SelectedRows>()
    let next = keys.length
    for (const [i, { arg, filter }] of aggregates.entries()) {
      if (filter === null) {
        accumulators[i]!.add(groups, arg === null ? null : columns[next++]!, count())
      } else {
        const rows = selected.get(filter) ?? rowsFor(filter, aggregates, batch, groups)
        selected.set(filter, rows)
        // Evaluate the argument only for rows that pass the filter, because it may fail for other rows.
        const values = arg === null ? null : (await evaluated([arg], rows.batch, pacer))[0]!
        if (rows.groups.length > 0) accumulators[i]!.add(rows.groups, values, count())
      }
      await pacer.turn()
    }
  }
  const fields = [...keys, ...aggregates].map(({ field }) => field)
  const columns = [...grouper.keys()]
  for (const each of accumulators) columns.push(await finished(each, count(), pacer))
  const groups = { schema: { fields }, length: count(), columns }
  return having === null ? groups : groupsThatPass(having, groups, pacer)
}

async function groupsThatPass(having: BoundExpression, groups: Batch, pacer: Pacer): Promise<Batch> {
  const pieces: Batch[] = []
  for (const [from, to] of inSteps(groups.length, stepsOf([having]), pacer)) {
    const piece = sliceBatch(groups, from, to - from)
    pieces.push(takeBatch(piece, selectRows(having, piece).toIndices()))
    await pacer.turn()
  }
  return pieces.length === 0 ? groups : concatBatches(pieces)
}

/** The rows of a batch that pass the filter of an aggregate. */
interface SelectedRows {
  /** The group of each row. */
  readonly groups: Uint32Array
  /** The columns that the aggregates with this filter read. */
  readonly batch: Batch
}

function rowsFor(
  filter: BoundExpression,
  aggregates: Grouping['aggregates'],
  batch: Batch,
  groups: Uint32Array,
): SelectedRows {
  const rows = Uint32Array.from(selectRows(filter, batch).toIndices())
  const args = aggregates.flatMap(each => (each.filter === filter && each.arg !== null ? [each.arg] : []))
  const names = new Set(namesOf(args))
  const wanted = batch.schema.fields.map((_, i) => i).filter(i => names.has(batch.schema.fields[i]!.name))
  const part: Batch = {
    schema: { fields: wanted.map(i => batch.schema.fields[i]!) },
    length: batch.length,
    columns: wanted.map(i => batch.columns[i]!),
  }
  if (rows.length === batch.length) return { groups, batch: part }
  return { groups: rows.map(row => groups[row]!), batch: takeBatch(part, rows) }
}

async function finished(of: Accumulator, count: number, pacer: Pacer): Promise<Column> {
  await of.prepare?.(count, pacer)
  const pieces: Column[] = []
  for (let from = 0; from === 0 || from < count; from += chunkRows) {
    pieces.push(of.finish(from, Math.min(count, from + chunkRows)))
    await pacer.turn()
  }
  return concatColumns(pieces)
}

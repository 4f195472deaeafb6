/** Groups rows and computes aggregates. */
import type { Batch, Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import type { Pacer } from '../primitives/pacer.js'
import { streamTask } from '../primitives/task.js'
import { type Accumulator, accumulator } from './accumulate.js'
import { Grouper } from './group.js'
import type { Grouping } from './plan.js'
import { chunkRows, evaluated, foundRows, namesOf, type Run, stepsOf } from './run.js'

/** Return one row for every group: its keys, then its aggregates. */
export async function groupRows(run: Run, { keys, aggregates }: Grouping): Promise<Batch> {
  const { source, pacer, seed } = run
  const keyValues = keys.map(({ value }) => value)
  const args = aggregates.map(({ arg }) => arg)
  const read = [...keyValues, ...args.filter(arg => arg !== null)]
  const names = namesOf(read)
  const grouper = new Grouper(
    keyValues.map(({ type }) => type),
    seed,
  )
  const accumulators = aggregates.map(aggregate => accumulator(aggregate, seed))
  const count = () => (keys.length === 0 ? 1 : grouper.count)
  const steps = stepsOf(read)
  for await (const hits of streamTask(foundRows(run, names, steps))) {
    const batch = await source.batch(hits, names, false)
    const columns = await evaluated(read, batch, pacer)
    const groups =
      keys.length === 0 ? new Uint32Array(batch.length) : grouper.add(columns.slice(0, keys.length))
    let next = keys.length
    for (const [i, arg] of args.entries()) {
      accumulators[i]!.add(groups, arg === null ? null : columns[next++]!, count())
      await pacer.turn()
    }
  }
  const fields = [...keys, ...aggregates].map(({ field }) => field)
  const columns = [...grouper.keys()]
  for (const each of accumulators) columns.push(await finished(each, count(), pacer))
  return { schema: { fields }, length: count(), columns }
}

async function finished(of: Accumulator, count: number, pacer: Pacer): Promise<Column> {
  const pieces: Column[] = []
  for (let from = 0; from === 0 || from < count; from += chunkRows) {
    pieces.push(of.finish(from, Math.min(count, from + chunkRows)))
    await pacer.turn()
  }
  return concatColumns(pieces)
}

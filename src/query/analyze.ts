/**
 * Executes a plan and prints it with measurements. The steps are the same as in `explain.ts`. For each step the text
 * has the number of rows that it returned, and its milliseconds without the time of its input steps.
 *
 * The bytes of a step include bytes from disk and from memory. A column counts at its first use in the query. A vector
 * counts each time its distance is measured or estimated. Pages of scalar indexes do not count.
 */

import type { Clock } from '../primitives/clock.js'
import type { Pacer } from '../primitives/pacer.js'
import type { RequestPrices, RequestTally } from '../storage/request-tally.js'
import type { TableReader } from '../table/table-reader.js'
import { executePlan } from './execute.js'
import { explained } from './explain.js'
import { type Figures, Meter } from './meter.js'
import type { Plan } from './plan.js'
import { RowSource } from './source.js'
import type { Spread } from './units.js'

/**
 * Execute a plan and return it as text with measurements. `table`: name of the table. `other`: reader of the version
 * `plan.differsFrom`, else null. `spread`: sends parts of searches to other nodes; null: this process searches alone.
 */
export async function analyzePlan(
  plan: Plan,
  reader: TableReader,
  other: TableReader | null,
  table: string,
  pacer: Pacer,
  { clock, spread }: { readonly clock: Clock; readonly spread: Spread | null },
): Promise<string> {
  const meter = new Meter(clock)
  const begun = clock.elapsed()
  const { batches } = await executePlan(plan, reader, other, pacer, clock, { meter, spread })
  const rows = batches.reduce((sum, { length }) => sum + length, 0)
  const total = `Analyze: ${figuresText({ rows, ms: clock.elapsed() - begun, bytes: 0 })}`
  const { steps, notes } = await explained(
    plan,
    new RowSource(reader, pacer, other, null, spread),
    table,
    false,
    pacer,
  )
  const lines = steps.map(({ text, step }, depth) => {
    const figures = step === undefined ? undefined : meter.of(step)
    const more = step === 'scan' ? scanText(meter) : nearText(step, meter)
    return `${'  '.repeat(depth + 1)}${text}${figures === undefined ? '' : `, ${figuresText(figures, more)}`}`
  })
  return [total, ...lines, ...notes, ...(spread?.report() ?? [])].join('\n')
}

/** Return a line with the requests of a query to object storage, and their price for a million such queries. */
export function requestsText(tally: RequestTally, prices: RequestPrices | undefined): string {
  const { requests, rounds, receivedBytes, sentBytes } = tally
  const figures = [`total=${tally.total}`, ...[...requests].map(([kind, count]) => `${kind}=${count}`)]
  figures.push(`rounds=${rounds}`, `received_bytes=${receivedBytes}`, `sent_bytes=${sentBytes}`)
  if (prices !== undefined) figures.push(`usd_per_million=${(1e6 * tally.cost(prices)).toFixed(2)}`)
  return `Requests: ${figures.join(', ')}`
}

function scanText({ fragments, parts, decided }: Meter): string {
  const byZones = decided === 0 ? '' : `, rows_decided_by_zones=${decided}`
  return `, fragments=${fragments}, parts=${parts}${byZones}`
}

function nearText(step: string | undefined, { near }: Meter): string {
  if (step !== 'nearest') return ''
  const { partitions, guessed, candidates, exact, endings } = near
  const asked = `, partitions=${partitions}, guessed=${guessed}, candidates=${candidates}`
  const ended = endings.has('limited')
    ? 'limited by the caller'
    : endings.has('saturated')
      ? 'saturated'
      : 'exact'
  return `${candidates === 0 ? '' : asked}, exact=${exact}, search=${ended}`
}

function figuresText({ rows, ms, bytes }: Figures, more = ''): string {
  const read = bytes === 0 ? '' : `, bytes=${bytes}`
  return `metrics=[output_rows=${rows}, elapsed=${ms.toFixed(3)} ms${read}${more}]`
}

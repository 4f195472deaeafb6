/** Chooses by estimated cost which scalar indexes answer conditions of a filter. */
import type { ScalarProbe } from '../indexes/scalar/probe.js'
import type { Pacer } from '../primitives/pacer.js'
import { type Task, wait } from '../primitives/task.js'
import type { Bound } from '../sql/bound.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import type { TableReader } from '../table/table-reader.js'
import { withConditions } from './named-rows.js'
import { gathering, probing, type Shares, scanning } from './probe-costs.js'
import { type Conjunct, type Probes, splitFilter } from './probes.js'

/** A part of a filter that indexes can answer. */
interface Offer {
  readonly conjunct: Conjunct
  /** Estimated number of matching rows. */
  readonly estimate: number
  /** Estimated nanoseconds of the index lookup. */
  readonly cost: number
}

/** The chosen way to evaluate a filter. */
export interface Choice {
  /** The chosen index lookups, ordered by the estimated number of rows, ascending. */
  readonly used: readonly Offer[]
  readonly unused: readonly Offer[]
  /** The condition to evaluate on the rows that the lookups return. Null if the lookups answer the whole filter. */
  readonly residual: BoundExpression | null
  /** Number of rows that a scan would read. */
  readonly rows: number
  /** Estimated nanoseconds of the chosen way. */
  readonly cost: number
  /** Estimated nanoseconds of a scan. */
  readonly scanCost: number
}

/** The size of a scan. */
interface Scanned {
  readonly rows: number
  /** Number of matches after which the scan ends. */
  readonly enough: number
}

/**
 * Return the parts of a filter that indexes can answer. Reads only the parts of the indexes that are needed for
 * estimates.
 */
export function* offersFor(
  filter: BoundExpression,
  { indexes, inlineIndexes, liveRows }: Pick<TableReader, 'indexes' | 'inlineIndexes' | 'liveRows'>,
  pacer: Pacer,
): Task<readonly Offer[]> {
  const { conjuncts } = splitFilter(filter.expr, indexes, inlineIndexes)
  const ofIndexes = conjuncts.filter(({ probes }) => !isOfInlineRows(probes))
  // A lookup of inline rows returns all other rows too. So it would make the result of an index useless.
  const wanted = ofIndexes.length > 0 ? ofIndexes : conjuncts.slice(0, 1)
  const offers: Offer[] = []
  for (const conjunct of wanted) {
    const { estimate, cost } = yield* guess(conjunct.probes, liveRows, pacer)
    offers.push({ conjunct, estimate, cost })
  }
  return offers.sort((a, b) => a.estimate - b.estimate)
}

function isOfInlineRows(probes: Probes): boolean {
  return probes.kind === 'probe' && probes.index.isOfInlineRows === true
}

function* guess(probes: Probes, total: number, pacer: Pacer): Task<Omit<Offer, 'conjunct'>> {
  if (probes.kind === 'probe') {
    const { probe, index } = probes
    const { some, times } = sampled(probe)
    const estimate = times * (yield* wait(index.estimate(some, pacer)))
    return { estimate, cost: probing(index.kind, valuesOf(probe), estimate, total) }
  }
  if (probes.kind === 'less') {
    const from = yield* guess(probes.from, total, pacer)
    const less = yield* guess(probes.less, total, pacer)
    return { estimate: Math.max(0, from.estimate - less.estimate), cost: from.cost + less.cost }
  }
  const guesses: Omit<Offer, 'conjunct'>[] = []
  for (const operand of probes.operands) guesses.push(yield* guess(operand, total, pacer))
  const estimates = guesses.map(({ estimate }) => estimate)
  return {
    estimate: probes.kind === 'and' ? Math.min(...estimates) : sum(estimates),
    cost: sum(guesses.map(({ cost }) => cost)),
  }
}

/** Maximum number of values of a list that are looked up for an estimate. */
const sampleSize = 16

/**
 * Return a probe with at most `sampleSize` of the values of a list probe. `times`: the number of all values divided by
 * the number of sampled values.
 */
function sampled(probe: ScalarProbe): { readonly some: ScalarProbe; readonly times: number } {
  if (probe.kind !== 'members' || probe.values.length <= sampleSize) return { some: probe, times: 1 }
  const times = probe.values.length / sampleSize
  const values = Array.from({ length: sampleSize }, (_, i) => probe.values[Math.floor(i * times)]!)
  return { some: { ...probe, values }, times }
}

function valuesOf(probe: ScalarProbe): number {
  return 'values' in probe ? probe.values.length : 1
}

/** Choose the cheapest way. The estimates assume that the conditions are statistically independent. */
export function choose(filter: BoundExpression, offers: readonly Offer[], { rows, enough }: Scanned): Choice {
  const { conditions } = filter
  const shares = new Map<Bound, number>()
  for (const { conjunct, estimate } of offers) {
    shares.set(conjunct.conditions[0]!, Math.min(1, estimate / Math.max(1, rows)))
  }
  const scanCost = scanUntil(conditions, rows, enough, shares)
  let best = { count: 0, cost: scanCost, residual: conditions }
  let [finding, found] = [0, rows]
  let residual: readonly Bound[] = conditions
  for (const [i, { conjunct, estimate, cost }] of offers.entries()) {
    finding += cost
    found = Math.min(found, estimate, (found * estimate) / Math.max(1, rows))
    residual = residual.filter(each => !conjunct.conditions.includes(each) || conjunct.left.includes(each))
    const evaluating = Math.min(
      gathering(residual, rows, found, shares),
      scanning(residual, rows, found, shares),
    )
    const total = finding + evaluating
    if (total < best.cost) best = { count: i + 1, cost: total, residual }
  }
  return {
    used: offers.slice(0, best.count),
    unused: offers.slice(best.count),
    residual: best.count === 0 ? filter : withConditions(filter, best.residual),
    rows,
    cost: best.cost,
    scanCost,
  }
}

/**
 * Factor on the rows that a scan with an early end is expected to read, because matches may be unevenly distributed.
 */
const uneven = 4
/** Rows of the first slice of a scan, which is always evaluated completely. */
const sliceRows = 4096

function scanUntil(conditions: readonly Bound[], rows: number, enough: number, shares: Shares): number {
  let passing = 1
  for (const share of shares.values()) passing *= share
  const until = sliceRows + (uneven * enough) / Math.max(passing, 1 / Math.max(1, rows))
  return scanning(conditions, Math.min(rows, until), undefined, shares)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

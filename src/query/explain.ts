/**
 * Prints a plan, one step per line. The first line is the last step. The inputs of a step are below it and indented.
 * Filters are printed as they are executed: with resolved names, folded constants, and conditions in execution order.
 */
import { typeName } from '../arrow/type-name.js'
import { lazyImport } from '../lazy-import.js'
import type { Layout } from '../manifest/layout.js'
import type { Pacer } from '../primitives/pacer.js'
import { runTask } from '../primitives/task.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { printExpression, printText } from '../sql/print.js'
import type { IndexReader } from '../table/table-index.js'
import type { TableReader } from '../table/table-reader.js'
import type { Choice } from './choose-probes.js'
import { describeVectorSearch } from './explain-near.js'
import { describeTextSearch } from './explain-text.js'
import { choiceFor, mayPassByRecord } from './filter.js'
import { type SplitFilter, splitByNames } from './named-rows.js'
import { type Aggregate, foundWindow, isRanked, type OrderKey, type OutputColumn, type Plan } from './plan.js'
import { indexesOf, printProbes } from './probes.js'
import { enoughFor } from './run.js'
import type { RowSource } from './source.js'
import type { Fusion } from './text-plan.js'
import type { Spread } from './units.js'

const spreading = lazyImport(() => import('./spread.js'))

/** A step of a plan. */
interface ExplainedStep {
  readonly text: string
  /** Name of the step in a `Meter`. Undefined if the meter does not measure the step. */
  readonly step?: string
}

interface Explained {
  /** The steps of a plan. The last step is the first item. */
  readonly steps: readonly ExplainedStep[]
  /** Unused indexes and warnings. */
  readonly notes: readonly string[]
}

/** Print a plan. `table`: name of the table. `verbose`: whether to print the types of the columns. */
export async function explainPlan(
  plan: Plan,
  source: RowSource,
  table: string,
  verbose: boolean,
  pacer: Pacer,
): Promise<string> {
  const { steps, notes } = await explained(plan, source, table, verbose, pacer)
  const lines = steps.map(({ text }, depth) => `${'  '.repeat(depth)}${text}`)
  return [...lines, ...notes].join('\n')
}

/**
 * Return the steps of a plan. Reads indexes for estimates, but no rows. `table` and `verbose`: as for `explainPlan`.
 */
export async function explained(
  plan: Plan,
  source: RowSource,
  table: string,
  verbose: boolean,
  pacer: Pacer,
): Promise<Explained> {
  const { filter, output, order, grouping, from, search, text } = plan
  const { reader } = source
  const before = filterBefore(plan)
  const split = splitByNames(before)
  const choice = await runTask(choiceFor(source, split, { from, enough: enoughFor(plan) }, pacer))
  const ranked = await rankingSteps(plan, reader, pacer)
  // If indexes return all rows of the query, there is no scan step.
  const isScanned =
    before !== null ||
    !isRanked(plan) ||
    (search !== null && search.index === null) ||
    text?.columns.some(({ index }) => index === null) === true
  const scan = isScanned ? [await scanStep(plan, split, source, table, pacer)] : []
  const steps = [...outputSteps(plan, verbose), ...ranked, ...rowSteps(split, choice), ...scan]
  const expressions = [
    filter,
    ...[...output, ...order, ...(grouping?.keys ?? [])].map(({ value }) => value),
    grouping?.having,
    ...(grouping?.aggregates ?? []).flatMap(({ arg, filter }) => [arg, filter]),
  ]
  const warnings = new Set(expressions.flatMap(each => each?.warnings ?? []))
  const unused = [
    ...[...(search?.unused ?? []), ...(text?.unused ?? [])].map(
      ({ index, reason }) => `not used: ${index}: ${reason}`,
    ),
    ...unusedIndexes(before, reader.indexes, choice),
  ]
  const nodes = source.spread === null ? [] : await nodeNotes(plan, source, source.spread, pacer)
  return { steps, notes: [...unused, ...[...warnings].map(warning => `warning: ${warning}`), ...nodes] }
}

/** Return a note for each search of a plan: whether several nodes execute it. */
async function nodeNotes(plan: Plan, source: RowSource, spread: Spread, pacer: Pacer): Promise<string[]> {
  const { divide, divisionText } = await spreading()
  const notes: string[] = []
  for (const which of ['vector', 'text'] as const) {
    if ((which === 'vector' ? plan.search : plan.text) === null) continue
    const division = await runTask(divide(which, plan, source, spread.minWorkMs, pacer))
    notes.push(`${which} search: ${divisionText(division)}`)
  }
  return notes
}

/** Return the filter that runs before the search, or the filter of a scan. Null: no such filter. */
function filterBefore(plan: Plan): BoundExpression | null {
  return !isRanked(plan) || plan.filterFirst ? plan.filter : null
}

/** Return the steps after the step that finds the rows. */
function outputSteps(plan: Plan, verbose: boolean): ExplainedStep[] {
  const { output, grouping, distinct, order, counted, offset, limit } = plan
  const columns = output.map(column => outputText(column, grouping !== null, verbose)).join(', ')
  const project = { text: `Project: ${columns}`, step: 'project' }
  const isBounded = limit < Number.MAX_SAFE_INTEGER || offset > 0
  const count = limit < Number.MAX_SAFE_INTEGER ? ` ${limit} rows` : ''
  const bounds =
    isBounded && counted === 'answer'
      ? [{ text: `Limit:${count}${offset > 0 ? ` after ${offset}` : ''}`, step: 'limit' }]
      : []
  const sort = order.length === 0 ? [] : [{ text: `Sort: ${order.map(orderText).join(', ')}`, step: 'sort' }]
  const once = { text: 'Distinct', step: 'distinct' }
  const steps = distinct ? [...bounds, ...sort, once, project] : [project, ...bounds, ...sort]
  if (grouping === null) return steps
  const keys = grouping.keys.map(({ field, value }) => `${field.name} = ${printExpression(value)}`).join(', ')
  const aggregates = grouping.aggregates.map(aggregateText).join(', ')
  const having = grouping.having === null ? '' : `, having ${printExpression(grouping.having)}`
  return [...steps, { text: `Aggregate: by [${keys}], [${aggregates}]${having}`, step: 'aggregate' }]
}

function outputText({ field, value }: OutputColumn, isOfGroups: boolean, verbose: boolean): string {
  const text = printExpression(value)
  const isItself = value.expr.kind === 'column' && value.expr.path.join('.') === field.name
  const name = isItself && !isOfGroups ? text : `${text} AS ${field.name}`
  return verbose ? `${name} (${typeName(field.type)})` : name
}

function aggregateText({ fn, distinct, arg, option, filter, field }: Aggregate): string {
  const value = arg === null ? '*' : `${distinct ? 'DISTINCT ' : ''}${printExpression(arg)}`
  const second = option === null ? '' : `, ${typeof option === 'string' ? printText(option) : option}`
  const condition = filter === null ? '' : ` FILTER (WHERE ${printExpression(filter)})`
  return `${field.name} = ${fn}(${value}${second})${condition}`
}

function orderText({ value, ascending, nullsFirst }: OrderKey): string {
  return `${printExpression(value)} ${ascending ? 'ASC' : 'DESC'} NULLS ${nullsFirst ? 'FIRST' : 'LAST'}`
}

/** Return the steps of a search. A scan has none. */
async function rankingSteps(plan: Plan, reader: TableReader, pacer: Pacer): Promise<ExplainedStep[]> {
  const { filter, filterFirst, search, text, fusion } = plan
  if (!isRanked(plan)) return []
  const steps: ExplainedStep[] = []
  const k = fusion?.candidates ?? foundWindow(plan).to
  if (filter !== null && !filterFirst) {
    steps.push({ text: `Filter the rows found: ${printExpression(filter)}`, step: 'thin' })
  }
  if (fusion !== null) steps.push({ text: `Fuse: ${fusionText(fusion)}` })
  if (text !== null) steps.push({ text: await describeTextSearch(text, k, reader, pacer), step: 'match' })
  if (search !== null) {
    const isBefore = filter !== null && filterFirst
    steps.push({ text: await describeVectorSearch(search, k, isBefore, reader, pacer), step: 'nearest' })
  }
  return steps
}

function fusionText(fusion: Fusion): string {
  const by =
    fusion.kind === 'rrf' ? `reciprocal ranks, k = ${fusion.k}` : `weighted, ${fusion.weight} for nearness`
  return `${by}, candidates = ${fusion.candidates}`
}

/** Return the steps that find the matching rows of a filter, except the scan. */
function rowSteps({ named, rest }: SplitFilter, choice: Choice | null): ExplainedStep[] {
  const steps: ExplainedStep[] = []
  const residual = choice === null ? rest : choice.residual
  if (residual !== null) steps.push({ text: `Filter: ${printExpression(residual)}`, step: 'filter' })
  for (const { conjunct, estimate } of choice?.used.toReversed() ?? []) {
    const query = printProbes(conjunct.probes)
    steps.push({ text: `ScalarIndexQuery: query=${query}, about ${Math.round(estimate)} rows`, step: query })
  }
  if (named !== null) steps.push({ text: `Take by number: ${printExpression(named.naming)}` })
  return steps
}

/** Return a note for each unused index on a column of the filter. The note has the reason. */
function unusedIndexes(
  filter: BoundExpression | null,
  indexes: readonly IndexReader[],
  choice: Choice | null,
): string[] {
  if (filter === null) return []
  const { used = [], unused = [], rows = 0, scanCost = 0 } = choice ?? {}
  const reason =
    used.length > 0
      ? 'evaluating the rows that the other indexes find is cheaper'
      : `a scan of ${rows} rows in about ${milliseconds(scanCost)} is cheaper`
  const offered = new Set([...used, ...unused].flatMap(({ conjunct }) => indexesOf(conjunct.probes)))
  const lines = unused.map(({ conjunct, estimate, cost }) => {
    const query = printProbes(conjunct.probes)
    return `not used: ${query}, about ${Math.round(estimate)} rows in ${milliseconds(cost)}: ${reason}`
  })
  for (const index of indexes) {
    if (offered.has(index) || !filter.columns.includes(index.path[0]!)) continue
    lines.push(
      `not used: ${index.name}(${index.kind}): the filter has no condition that this index can answer`,
    )
  }
  return lines
}

function milliseconds(nanoseconds: number): string {
  return `${(nanoseconds / 1e6).toPrecision(2)} ms`
}

async function scanStep(
  plan: Plan,
  split: SplitFilter,
  source: RowSource,
  table: string,
  pacer: Pacer,
): Promise<ExplainedStep> {
  const { from, differsFrom } = plan
  const { reader } = source
  const { fragments, version }: Layout = reader.layout
  let count = 0
  let rows = 0
  for (const fragment of fragments.slice(reader.fragmentAt(from))) {
    await pacer.turn()
    if (!mayPassByRecord(source, split, fragment)) continue
    count++
    rows += fragment.rows - fragment.dead.count
  }
  const begin = from === 0 ? '' : ` from row ${from} on`
  const passed = `${count} of ${fragments.length} fragments may hold matching rows, ${rows} rows in them`
  const without = differsFrom === undefined ? '' : ` without the rows unchanged since version ${differsFrom}`
  return { text: `Scan: ${table} version ${version}${without}${begin}, ${passed}`, step: 'scan' }
}

/**
 * A plan as text: one step per line, the last one first, each with what feeds it indented below. The filter stands as it
 * is carried out: names resolved, constants folded, conditions in the order in which they are run.
 */
import { typeName } from '../arrow/type-name.js'
import { quote } from '../errors.js'
import type { Layout } from '../manifest/layout.js'
import type { Pacer } from '../primitives/pacer.js'
import { printExpression } from '../sql/binding/print.js'
import { mayPass } from './filter.js'
import { namedRows } from './named-rows.js'
import type { Aggregate, OrderKey, OutputColumn, Plan } from './plan.js'
import type { RowSource } from './source.js'

/** `table`: what the table is called. `verbose`: with the types of the columns. */
export async function explainPlan(
  plan: Plan,
  source: RowSource,
  table: string,
  verbose: boolean,
  pacer: Pacer,
): Promise<string> {
  const scan = await scanStep(plan, source, table, pacer)
  const steps = [...outputSteps(plan, verbose), ...rowSteps(plan), scan]
  const lines = steps.map((step, depth) => `${'  '.repeat(depth)}${step}`)
  const { filter, output, order, grouping } = plan
  const expressions = [
    filter,
    ...[...output, ...order, ...(grouping?.keys ?? [])].map(({ value }) => value),
    ...(grouping?.aggregates ?? []).map(({ arg }) => arg),
  ]
  const warnings = new Set(expressions.flatMap(each => each?.warnings ?? []))
  return [...lines, ...[...warnings].map(warning => `warning: ${warning}`)].join('\n')
}

/** What is done with the rows that were found. */
function outputSteps(
  { output, grouping, distinct, order, offset, limit, search }: Plan,
  verbose: boolean,
): string[] {
  const project = `Project: ${output.map(column => outputText(column, grouping !== null, verbose)).join(', ')}`
  const isBounded = limit < Number.MAX_SAFE_INTEGER || offset > 0
  const count = limit < Number.MAX_SAFE_INTEGER ? ` ${limit} rows` : ''
  const bounds = isBounded && search === null ? [`Limit:${count}${offset > 0 ? ` after ${offset}` : ''}`] : []
  const sort = order.length === 0 ? [] : [`Sort: ${order.map(orderText).join(', ')}`]
  const steps = distinct ? [...bounds, ...sort, 'Distinct', project] : [project, ...bounds, ...sort]
  if (grouping === null) return steps
  const keys = grouping.keys.map(({ field, value }) => `${field.name} = ${printExpression(value)}`).join(', ')
  const aggregates = grouping.aggregates.map(aggregateText).join(', ')
  return [...steps, `Aggregate: by [${keys}], [${aggregates}]`]
}

function outputText({ field, value }: OutputColumn, isOfGroups: boolean, verbose: boolean): string {
  const text = printExpression(value)
  const isItself = value.expr.kind === 'column' && value.expr.path.join('.') === field.name
  const name = isItself && !isOfGroups ? text : `${text} AS ${field.name}`
  return verbose ? `${name} (${typeName(field.type)})` : name
}

function aggregateText({ fn, distinct, arg, field }: Aggregate): string {
  const value = arg === null ? '*' : `${distinct ? 'DISTINCT ' : ''}${printExpression(arg)}`
  return `${field.name} = ${fn}(${value})`
}

function orderText({ value, ascending, nullsFirst }: OrderKey): string {
  return `${printExpression(value)} ${ascending ? 'ASC' : 'DESC'} NULLS ${nullsFirst ? 'FIRST' : 'LAST'}`
}

/** How rows are found, but for the scan. */
function rowSteps({ search, filter, filterFirst, offset, limit }: Plan): string[] {
  const steps: string[] = []
  if (search !== null) {
    if (filter !== null && !filterFirst) steps.push(`Filter the rows found: ${printExpression(filter)}`)
    const { field, metric, lower, upper } = search
    const bounds = [
      ...(lower === undefined ? [] : [`from ${lower}`]),
      ...(upper === undefined ? [] : [`below ${upper}`]),
    ]
    const within = bounds.length === 0 ? '' : `, _distance ${bounds.join(' ')}`
    steps.push(`KNN: exact, ${quote(field.name)}, ${metric}, k = ${limit + offset}${within}`)
  }
  if (filter === null || (search !== null && !filterFirst)) return steps
  const named = namedRows(filter)
  const rest = named === null ? filter : named.rest
  if (rest !== null) steps.push(`Filter: ${printExpression(rest)}`)
  if (named !== null) steps.push(`Take by number: ${printExpression(named.naming)}`)
  return steps
}

async function scanStep(
  { filter, filterFirst, search, from, differsFrom }: Plan,
  source: RowSource,
  table: string,
  pacer: Pacer,
): Promise<string> {
  const { reader } = source
  const { fragments, version }: Layout = reader.layout
  const before = search === null || filterFirst ? filter : null
  let count = 0
  let rows = 0
  for (const fragment of fragments.slice(reader.fragmentAt(from))) {
    await pacer.turn()
    if (!mayPass(source, before, fragment)) continue
    count++
    rows += fragment.rows - fragment.dead.count
  }
  const begin = from === 0 ? '' : ` from row ${from} on`
  const passed = `${count} of ${fragments.length} fragments may hold matching rows, ${rows} rows in them`
  const without = differsFrom === undefined ? '' : ` without what is in version ${differsFrom} as it is here`
  return `Scan: ${table} version ${version}${without}${begin}, ${passed}`
}

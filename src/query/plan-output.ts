/**
 * Plans the columns of an answer, its groups and its order.
 *
 * A query with `group_by` or with an aggregate in its columns returns groups. Its expressions may read only keys and
 * aggregates. First each aggregate in an expression is replaced by a placeholder column, and the expression is bound to
 * the table's columns and the placeholders. Then each subexpression that equals a key is replaced by a column.
 */

import { typeName } from '../arrow/type-name.js'
import type { DataType, Field, Schema } from '../arrow/types.js'
import {
  columnNotFound,
  ErrorCode,
  invalidInput,
  quote,
  SheafError,
  schemaMismatch,
  unsupported,
} from '../errors.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import type { AggregateCall } from '../sql/binding/aggregates.js'
import { hasColumn } from '../sql/binding/names.js'
import type { Bound } from '../sql/bound.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { ColumnNode } from '../sql/column-node.js'
import type { Chance } from '../sql/functions/call.js'
import { parseExpression } from '../sql/syntax/parse.js'
import type { Expr } from '../sql/syntax/syntax.js'
import { isOrdered, valueType } from '../sql/values/types.js'
import { type Binding, type BindingOptions, bindingOf } from './binding.js'
import { inColumn } from './in-column.js'
import { columnExpression, namedColumn } from './named-column.js'
import type { Aggregate, Grouping, OrderKey, OutputColumn } from './plan.js'
import {
  computedFields,
  rowIdField,
  rowOffsetField,
  type SearchedBy,
  searchedFields,
  sourceSchema,
} from './source.js'

/** The parts of a plan that depend on the selected columns. */
export interface PlannedOutput {
  readonly grouping: Grouping | null
  readonly output: readonly OutputColumn[]
  readonly distinct: boolean
  readonly order: readonly OrderKey[]
}

/**
 * Plan the columns, groups and order of an answer. `by`: the kind of search, which adds columns. Throws
 * `ColumnNotFound`, `InvalidInput` or `SchemaValidation`. The message has the name of the column.
 */
export function planOutput(
  request: QueryRequest,
  schema: TableSchema,
  by: SearchedBy,
  options: BindingOptions,
  chance: Chance,
): PlannedOutput {
  const source = sourceSchema(schema, by)
  const aliases = aliasesOf(request)
  const isGrouped =
    request.group_by !== undefined || aliases.some(({ tree }) => bindingOf(options).containsAggregate(tree))
  refuseIgnored(request, isGrouped)
  const { grouping, output, readable } = isGrouped
    ? planGroups(request, aliases, source, options, chance)
    : planRows(request, schema, aliases, by, options, chance)
  const distinct = request.distinct === true
  const order = (request.order_by ?? []).map((key): OrderKey => {
    const name = key.column_name
    // A table column with exactly this name has priority over an answer column whose name differs in upper and lower
    // case.
    const isOfTable = output.every(({ field }) => field.name !== name) && hasColumn(name, source)
    const column = isOfTable ? undefined : outputNamed(name, output)
    if (column === undefined && !isOfTable) refuseDirection(name)
    const value = distinct
      ? (orderedExpression(name, output, options) ?? ownColumn(name, output, chance))
      : (column?.value ?? readable(name))
    if (!isOrdered(value.type)) throw unordered('an order', name, value.type)
    if (value.expr.cost.isVolatile) {
      throw unsupported(`the order uses ${quote(name)}, whose value changes with every evaluation`)
    }
    return { value, ascending: key.ascending ?? true, nullsFirst: key.nulls_first ?? false }
  })
  if (distinct) {
    for (const { field } of output)
      if (!isOrdered(field.type)) throw unordered('distinct', field.name, field.type)
  }
  return { grouping, output, distinct, order }
}

/** Throw `ColumnNotFound` with a hint if the name ends with an SQL direction (`asc`, `desc`). */
function refuseDirection(name: string): void {
  const [, column, direction] = /^(.*\S)\s+(asc|desc)\b/i.exec(name) ?? []
  if (column === undefined) return
  const ascending = direction!.toLowerCase() === 'asc'
  throw new SheafError(ErrorCode.ColumnNotFound, `no column named ${quote(name)}`, {
    hint: `name only the column, ${quote(column)}, and set ascending: ${ascending}`,
  })
}

function unordered(what: string, name: string, type: DataType) {
  return schemaMismatch(`${what} cannot compare values of ${quote(name)}, which is ${typeName(type)}`)
}

/** Refuse options that have no meaning for groups, for distinct rows or for searches. Throws `InvalidInput`. */
function refuseIgnored(request: QueryRequest, isGrouped: boolean): void {
  if (request.having !== undefined && !isGrouped) {
    throw invalidInput('having is a condition on groups, but this query has no groups', {
      hint: 'use where (filter) for a condition on rows, or groupBy (group_by)',
    })
  }
  const whole = isGrouped ? 'groups' : request.distinct === true ? 'distinct rows' : null
  const hasOrder = (request.order_by ?? []).length > 0
  if (whole !== null && request.with_row_id === true) {
    throw invalidInput(`withRowId (with_row_id) cannot be combined with ${whole}, which have no row ids`)
  }
  if (request.resume_at !== undefined && (whole !== null || hasOrder || isSearch(request))) {
    throw invalidInput(
      'resume_at continues a scan: it cannot be combined with a vector, a text, an order, groups or distinct rows',
    )
  }
}

function isSearch({ vector, full_text_query }: QueryRequest): boolean {
  return vector != null || full_text_query !== undefined
}

/**
 * Return the column of the answer with exactly this name, or else the only column whose name differs only in upper and
 * lower case.
 */
function outputNamed(name: string, output: readonly OutputColumn[]): OutputColumn | undefined {
  const exact = output.find(({ field }) => field.name === name)
  if (exact !== undefined) return exact
  const similar = output.filter(({ field }) => field.name.toLowerCase() === name.toLowerCase())
  return similar.length === 1 ? similar[0] : undefined
}

/** Maximum number of expressions of an answer. */
const maxExpressions = 1000

interface Alias {
  readonly name: string
  readonly tree: Expr
}

function aliasesOf({ columns }: QueryRequest): readonly Alias[] {
  if (columns === undefined) return []
  if (!('column_aliases' in columns)) return []
  const aliases = Object.entries(columns.column_aliases!)
  if (aliases.length === 0)
    throw invalidInput('select (columns.column_aliases) must have at least one column, got {}')
  if (aliases.length > maxExpressions) {
    throw invalidInput(`at most ${maxExpressions} expressions can be selected, got ${aliases.length}`, {
      hint: 'select fewer expressions; an array of plain column names has no limit',
    })
  }
  return aliases.map(([name, text]) => {
    if (!name.isWellFormed())
      throw invalidInput(`column ${quote(name)} has half of a surrogate pair in its name`)
    return { name, tree: inColumn(name, () => parseExpression(text)) }
  })
}

function bound(tree: Expr, name: string, schema: Schema, options: BindingOptions): BoundExpression {
  return inColumn(name, () => bindingOf(options).bindExpression(tree, schema, options))
}

// ---- queries whose answer has one row per matching row

interface PlannedColumns {
  readonly grouping: Grouping | null
  readonly output: readonly OutputColumn[]
  /** Resolves an order key that is not the name of a column of the answer. */
  readonly readable: (name: string) => BoundExpression
}

function planRows(
  request: QueryRequest,
  schema: TableSchema,
  aliases: readonly Alias[],
  by: SearchedBy,
  options: BindingOptions,
  chance: Chance,
): PlannedColumns {
  const source = sourceSchema(schema, by)
  const readable = (name: string) => {
    const tree = orderTree(name, source)
    if (tree === null) return columnExpression(namedColumn(name, source), chance)
    return bound(withAliases(tree, aliases, source, options), name, source, options)
  }
  const planColumns = () => outputOfRows(request, schema, aliases, by, options, chance)
  const output = aliases.length > 0 ? planColumns() : cachedOutput(request, source, planColumns)
  return { grouping: null, output, readable }
}

/**
 * Cached outputs without expressions, by schema and then by selected columns. Queries with the same columns share one
 * output object, which is the key of other caches, for example of encoded schemas.
 */
const named = new WeakMap<Schema, Map<string, readonly OutputColumn[]>>()
/** Maximum number of cached outputs per schema. The oldest output is removed first. */
const namedAtMost = 16

function cachedOutput(
  request: QueryRequest,
  source: Schema,
  planColumns: () => readonly OutputColumn[],
): readonly OutputColumn[] {
  const { distinct, with_row_id, resume_at } = request
  const made = [distinct === true, with_row_id === true, resume_at !== undefined]
  const asked = JSON.stringify([...made, namesOf(request)])
  let ofSchema = named.get(source)
  if (ofSchema === undefined) {
    ofSchema = new Map()
    named.set(source, ofSchema)
  }
  let output = ofSchema.get(asked)
  if (output === undefined) {
    output = planColumns()
    if (ofSchema.size === namedAtMost) ofSchema.delete(ofSchema.keys().next().value!)
    ofSchema.set(asked, output)
  }
  return output
}

function outputOfRows(
  request: QueryRequest,
  schema: TableSchema,
  aliases: readonly Alias[],
  by: SearchedBy,
  options: BindingOptions,
  chance: Chance,
): readonly OutputColumn[] {
  const source = sourceSchema(schema, by)
  const named = (name: string) => namedOutput(name, source, chance)
  const output =
    aliases.length > 0
      ? aliases.map(({ name, tree }) => outputOf(name, bound(tree, name, source, options), source))
      : (namesOf(request) ?? schema.fields.map(field => field.name)).map(named)
  // With a distance or an id, all rows would be distinct. So add these columns only without `distinct`.
  if (request.distinct === true) return output
  const computed = [
    ...searchedFields[by].map(({ name }) => name),
    ...(request.with_row_id === true ? [rowIdField.name] : []),
    ...(request.resume_at !== undefined ? [rowOffsetField.name] : []),
  ]
  for (const { field, value } of output) checkComputedName(field.name, value)
  const missing = computed.filter(name => output.every(column => column.field.name !== name))
  return [...output, ...missing.map(named)]
}

/** Refuse a selected expression that has the name of a computed column, such as `_distance`. */
function checkComputedName(name: string, { expr }: BoundExpression): void {
  const isComputed = computedFields.some(field => field.name === name)
  const isItself = expr.kind === 'column' && expr.path[0] === name
  if (isComputed && !isItself)
    throw invalidInput(`${quote(name)} is the name of a column that queries compute: choose another name`)
}

function namesOf({ columns }: QueryRequest): readonly string[] | undefined {
  return columns !== undefined && 'column_names' in columns ? columns.column_names : undefined
}

function namedOutput(name: string, schema: Schema, chance: Chance): OutputColumn {
  const column = namedColumn(name, schema)
  return outputOf(column.path.join('.'), columnExpression(column, chance), schema)
}

/** Return a column of the answer. If the expression is a plain column, its field keeps the metadata. */
function outputOf(name: string, value: BoundExpression, schema: Schema): OutputColumn {
  const { expr, type } = value
  const field =
    expr.kind === 'column' && expr.path.length === 1
      ? schema.fields.find(known => known.name === expr.path[0])
      : undefined
  if (field === undefined) {
    const metadata = expr.kind === 'column' ? metadataAt(expr.path, schema) : undefined
    const inner = { name, type, nullable: true }
    return { field: metadata === undefined ? inner : { ...inner, metadata }, value }
  }
  const { nullable, metadata } = field
  return {
    field: metadata === undefined ? { name, type, nullable } : { name, type, nullable, metadata },
    value,
  }
}

/** Return the metadata of the field at a path. */
function metadataAt(path: readonly string[], { fields }: Schema): Field['metadata'] {
  let among = fields
  let found: Field | undefined
  for (const name of path) {
    found = among.find(field => field.name === name)
    among = found?.type.kind === 'struct' ? found.type.children : []
  }
  return found?.metadata
}

// ---- queries whose answer has one row per group

function planGroups(
  request: QueryRequest,
  aliases: readonly Alias[],
  source: Schema,
  options: BindingOptions,
  chance: Chance,
): PlannedColumns {
  if (aliases.length === 0 && namesOf(request) === undefined) {
    throw invalidInput('groupBy (group_by) is given, but no columns are selected', {
      hint: "select the keys and aggregates: { city: 'city', total: 'sum(price)' }",
    })
  }
  const { bindCondition, printBound, splitAggregates } = bindingOf(options)
  const overKeys = (node: Bound) => replaceKeys(node, keys, printBound)
  const prefix = freshPrefix(source)
  const keys = (request.group_by ?? []).map((text, i) => {
    const value = bound(keyTree(text, aliases, source), text, source, options)
    if (!isOrdered(value.type)) throw unordered('groups', text, value.type)
    const like = outputOf(text, value, source).field
    const field: Field = { ...like, name: `${prefix}key${i}`, type: valueType(value.type) }
    return { field, value, printed: printBound(value.expr) }
  })
  const selected: readonly Alias[] =
    aliases.length > 0 ? aliases : namesOf(request)!.map(name => ({ name, tree: nameTree(name) }))
  let calls: readonly AggregateCall[] = []
  const trees = selected.map(({ name, tree }) => {
    const split = splitAggregates(tree, calls, prefix)
    calls = split.aggregates
    return { name, tree: split.expr }
  })
  const splitMore = (tree: Expr): Expr => {
    const split = splitAggregates(withAliases(tree, aliases, source, options), calls, prefix)
    calls = split.aggregates
    return split.expr
  }
  const having = request.having === undefined ? null : splitMore(parseExpression(request.having))
  const orders = new Map<string, Expr>()
  for (const { column_name: name } of request.order_by ?? []) {
    const tree = selected.some(column => column.name === name) ? null : orderTree(name, source)
    if (tree !== null) orders.set(name, splitMore(tree))
  }
  const aggregates = plannedAggregates(calls, source, options)
  const withAggregates: Schema = { fields: [...source.fields, ...aggregates.map(({ field }) => field)] }
  const made: Schema = { fields: [...keys, ...aggregates].map(({ field }) => field) }
  const results = made.fields.map(field => field.name)
  const overGroups = (value: BoundExpression, what: string): BoundExpression => {
    const replaced = value.withExpr(overKeys(value.expr))
    const stray = replaced.columns.find(column => !results.includes(column))
    if (stray === undefined) return replaced
    throw invalidInput(
      `${what} reads ${quote(stray)}, which is neither a key of the groups nor in an aggregate`,
      { hint: `group by it, or write max(${stray})` },
    )
  }
  const output = trees.map(({ name, tree }): OutputColumn => {
    const value = bound(tree, name, withAggregates, options)
    return outputOf(name, overGroups(value, `column ${quote(name)}`), made)
  })
  const readable = (name: string): BoundExpression => {
    const tree = orders.get(name)
    if (tree !== undefined) {
      return overGroups(bound(tree, name, withAggregates, options), `the order ${quote(name)}`)
    }
    const expr = overKeys(namedColumn(name, source))
    if (expr.kind === 'column' && results.includes(expr.path[0]!)) return columnExpression(expr, chance)
    throw invalidInput(
      `the order names ${quote(name)}, which is neither a column of the answer nor a key of the groups`,
    )
  }
  const condition =
    having === null ? null : bindCondition(having, withAggregates, 'having takes a condition', options)
  return {
    grouping: {
      keys: keys.map(({ field, value }) => ({ field, value })),
      aggregates,
      having: condition === null ? null : overGroups(condition, 'having'),
    },
    output,
    readable,
  }
}

function plannedAggregates(
  calls: readonly AggregateCall[],
  source: Schema,
  options: BindingOptions,
): readonly Aggregate[] {
  const { aggregateOption, aggregateType, bindCondition, printBound } = bindingOf(options)
  const filters = new Map<string, BoundExpression>()
  const filterOf = (tree: Expr, fn: string): BoundExpression => {
    const condition = inColumn(fn, () => bindCondition(tree, source, 'FILTER takes a condition', options))
    const printed = printBound(condition.expr)
    const known = filters.get(printed) ?? condition
    filters.set(printed, known)
    return known
  }
  return calls.map(({ fn, distinct, arg, option, filter, at, name }): Aggregate => {
    const value = arg === null ? null : bound(arg, fn, source, options)
    const type = aggregateType(fn, value?.type ?? null, at)
    if (distinct && value !== null && !isOrdered(value.type))
      throw unordered(`${fn}(DISTINCT)`, fn, value.type)
    return {
      fn,
      distinct,
      arg: value,
      option:
        option === null ? null : aggregateOption(fn, bound(option, fn, source, options).expr, option.at),
      filter: filter === null ? null : filterOf(filter, fn),
      field: { name, type, nullable: fn !== 'count' },
    }
  })
}

/** Return a prefix that no name of a column begins with. */
function freshPrefix({ fields }: Schema): string {
  let prefix = '#'
  while (fields.some(field => field.name.startsWith(prefix))) prefix += '#'
  return prefix
}

function nameTree(name: string): Expr {
  const at = { offset: 0, length: name.length }
  return { kind: 'column', path: [{ name, quote: '`', at }], at }
}

/** Return the expression of a key: a column of the table, a column of the answer, or else the parsed text. */
function keyTree(text: string, aliases: readonly Alias[], source: Schema): Expr {
  if (source.fields.some(field => field.name === text)) return nameTree(text)
  return aliases.find(({ name }) => name === text)?.tree ?? inColumn(text, () => parseExpression(text))
}

/** Replace every subexpression that equals a key by the column of the key. `printed`: SQL text of the key. */
function replaceKeys(
  node: Bound,
  keys: readonly { readonly field: Field; readonly printed: string }[],
  print: Binding['printBound'],
): Bound {
  if (node.kind === 'literal') return node
  const printed = print(node)
  const key = keys.find(candidate => candidate.printed === printed)
  if (key !== undefined) return new ColumnNode([key.field.name], key.field.type)
  return node.withOperands(node.operands.map(operand => replaceKeys(operand, keys, print)))
}

// ---- order

/**
 * Parse an order key that is an expression. Return null if the key is the name of a column, or cannot be an expression.
 */
function orderTree(name: string, source: Schema): Expr | null {
  if (/^[\w.]*$/.test(name) || hasColumn(name, source)) return null
  try {
    const tree = parseExpression(name)
    return tree.kind === 'column' ? null : tree
  } catch (error) {
    // A text without operators is probably the name of a column that does not exist. So return null, and the caller
    // throws `ColumnNotFound`.
    if (/^[^-+*/%<>=|()[\]]*$/.test(name)) return null
    return inColumn(name, () => {
      throw error
    })
  }
}

/** Replace the names of selected columns in an expression by the expressions of these columns. */
function withAliases(tree: Expr, aliases: readonly Alias[], source: Schema, options: BindingOptions): Expr {
  return bindingOf(options).replaceNames(tree, name => {
    const exact = aliases.find(alias => alias.name === name)
    if (exact !== undefined || hasColumn(name, source)) return exact?.tree
    const similar = aliases.filter(alias => alias.name.toLowerCase() === name.toLowerCase())
    return similar.length === 1 ? similar[0]!.tree : undefined
  })
}

/**
 * Bind an order key of distinct rows that is an expression over columns of the answer. Return null if the key is a
 * name.
 */
function orderedExpression(
  name: string,
  output: readonly OutputColumn[],
  options: BindingOptions,
): BoundExpression | null {
  const schema: Schema = { fields: output.map(({ field }) => field) }
  const tree = outputNamed(name, output) === undefined ? orderTree(name, schema) : null
  return tree === null ? null : bound(tree, name, schema, options)
}

function ownColumn(name: string, output: readonly OutputColumn[], chance: Chance): BoundExpression {
  const column = outputNamed(name, output)
  if (column !== undefined) {
    return columnExpression(new ColumnNode([column.field.name], column.field.type), chance)
  }
  throw columnNotFound(
    name,
    output.map(({ field }) => field.name),
  )
}

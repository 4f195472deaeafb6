/**
 * Splits a filter into conditions that scalar indexes answer, and conditions that must be evaluated.
 *
 * A row passes a filter if the filter is TRUE. So index lookups compute the set of rows for which a condition is TRUE.
 * AND becomes an intersection and OR a union. The negation of a condition is not simply all other rows, because the
 * condition may be NULL for some of them. So indexes answer a negation only if the condition is NULL exactly where its
 * column is NULL.
 */

import type { ProbeEnd, ScalarProbe } from '../indexes/scalar/probe.js'
import { probesOfKind } from '../indexes/scalar/probe.js'
import { isNew, negated } from '../sql/binding/logic.js'
import { type Bound, CompareNode, type InNode, IsNode, type LikeNode, LogicNode } from '../sql/bound.js'
import type { ColumnNode } from '../sql/column-node.js'
import { printShort } from '../sql/print.js'
import type { Scalar } from '../sql/values/scalar.js'
import { orderOfScalars } from '../sql/values/scalar-order.js'
import { valueType } from '../sql/values/types.js'
import { type Prefix, prefixOfPattern, prefixOfText } from '../sql/zones/like-prefix.js'
import { textAbove } from '../sql/zones/text-bounds.js'
import type { IndexReader } from '../table/table-index.js'

/**
 * A combination of index lookups: one lookup, the intersection ('and') or union ('or') of several lookups, or the rows
 * of `from` without the rows of `less`. `said`: the conditions that the lookups answer, for `explain`.
 */
export type Probes =
  | {
      readonly kind: 'probe'
      readonly index: IndexReader
      readonly probe: ScalarProbe
      readonly said: readonly Bound[]
    }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Probes[] }
  | { readonly kind: 'less'; readonly from: Probes; readonly less: Probes; readonly said: readonly Bound[] }

/** Index lookups for one or more conditions of an AND. */
export interface Conjunct {
  /** Lookups that return all rows for which the conditions are true, and perhaps more rows. */
  readonly probes: Probes
  readonly conditions: readonly Bound[]
  /** The conditions that must still be evaluated on the returned rows. */
  readonly left: readonly Bound[]
}

/** A filter, split into conditions that indexes answer and other conditions. */
interface SplitFilter {
  readonly conjuncts: readonly Conjunct[]
  /** Conditions that no index answers. */
  readonly rest: readonly Bound[]
}

type Indexes = readonly IndexReader[]

/**
 * Split a filter. It is true for a row if all conjuncts and all conditions of `rest` are true. `indexes`: indexes of
 * the version. `inline`: indexes that stand for inline rows (`TableReader.inlineIndexes`), for conditions that no index
 * answers; default none.
 */
export function splitFilter(filter: Bound, indexes: Indexes, inline: Indexes = []): SplitFilter {
  const conjuncts: Conjunct[] = []
  const rest: Bound[] = []
  for (const condition of filter.kind === 'and' ? filter.operands : [filter]) {
    const found = lookupsFor(condition, indexes) ?? inlineLookups(condition, inline)
    if (found === null) {
      rest.push(condition)
      continue
    }
    const { probes, isExact } = found
    const conjunct = { probes, conditions: [condition], left: isExact ? [] : [condition] }
    const at = conjuncts.findIndex(known => mergedRange(known.probes, probes) !== null)
    if (at < 0) conjuncts.push(conjunct)
    else conjuncts[at] = mergedConjunct(conjuncts[at]!, conjunct)
  }
  return { conjuncts, rest }
}

/** Return a lookup of inline rows for a condition that names the values of a column. Return null for others. */
function inlineLookups(condition: Bound, inline: Indexes): Lookups | null {
  if (inline.length === 0) return null
  const found = lookupsFor(condition, inline)
  return found !== null && membersOf(found.probes) !== null ? found : null
}

/** Return the values of a lookup by value. Return null for all other lookups. */
export function membersOf(probes: Probes): readonly Scalar[] | null {
  return probes.kind === 'probe' && probes.probe.kind === 'members' ? probes.probe.values : null
}

/** Return the indexes that the lookups query. */
export function indexesOf(probes: Probes): readonly IndexReader[] {
  switch (probes.kind) {
    case 'probe':
      return [probes.index]
    case 'less':
      return indexesOf(probes.from)
    default:
      return [...new Set(probes.operands.flatMap(indexesOf))]
  }
}

/** Print lookups, for example `[id = 5]@id_idx(BTREE)`. */
export function printProbes(probes: Probes): string {
  switch (probes.kind) {
    case 'probe':
      return `[${printAll(probes.said)}]@${printIndex(probes.index)}`
    case 'less': {
      return `[${printAll(probes.said)}]@${printIndex(indexesOf(probes)[0]!)}`
    }
    default:
      return probes.operands.length === 0
        ? 'nothing'
        : `${probes.kind.toUpperCase()}(${probes.operands.map(printProbes).join(', ')})`
  }
}

function printIndex({ name, kind, isOfInlineRows = false }: IndexReader): string {
  return isOfInlineRows ? name : `${name}(${kind})`
}

function printAll(conditions: readonly Bound[]): string {
  return conditions.map(condition => printShort(condition)).join(' AND ')
}

// ---- conditions

interface Lookups {
  readonly probes: Probes
  /** Whether the condition is true for all rows that the lookups return. */
  readonly isExact: boolean
}

/** Lookups that return no rows. */
const nothing: Probes = { kind: 'or', operands: [] }

/** Return the index lookups for a condition. Return null if no index answers it. */
function lookupsFor(node: Bound, indexes: Indexes): Lookups | null {
  switch (node.kind) {
    case 'and': {
      const { conjuncts, rest } = splitFilter(node, indexes)
      if (conjuncts.length === 0) return null
      const isExact = rest.length === 0 && conjuncts.every(({ left }) => left.length === 0)
      const operands = conjuncts.map(({ probes }) => probes)
      return { probes: operands.length === 1 ? operands[0]! : { kind: 'and', operands }, isExact }
    }
    case 'or': {
      const found = node.operands.map(operand => lookupsFor(operand, indexes))
      if (found.includes(null)) return null
      const all = found as Lookups[]
      const operands = all.map(({ probes }) => probes)
      return { probes: { kind: 'or', operands }, isExact: all.every(({ isExact }) => isExact) }
    }
    case 'not':
      return lookupsForNot(node.operand, indexes)
    case 'is': {
      const { operand, what } = node
      if (what === 'true') return lookupsFor(operand, indexes)
      if (what === 'false') return lookupsFor(negated(operand), indexes)
      return operand.kind === 'column' ? lookup(operand, { kind: 'null' }, node, indexes) : null
    }
    default: {
      if (node.kind === 'compare' && node.op === '<>')
        return lookupsForNot(new CompareNode('=', node.left, node.right), indexes)
      const values = valuesFor(node)
      if (values === null) return null
      const found = lookup(values.column, values.probe, node, indexes)
      return found === null ? null : { ...found, isExact: values.isExact }
    }
  }
}

/**
 * Return the index lookups for the negation of a condition: all rows that are not NULL, without the rows for which the
 * condition is true.
 */
function lookupsForNot(node: Bound, indexes: Indexes): Lookups | null {
  if (node.kind === 'is') {
    const { operand, what } = node
    if (what === 'null')
      return operand.kind === 'column' ? lookup(operand, everything, negated(node), indexes) : null
    // Where the operand is not TRUE, it is FALSE or NULL. It must be NULL exactly where its column is NULL.
    const other = what === 'true' ? negated(operand) : operand
    const column = strictValuesFor(operand.kind === 'not' ? operand.operand : operand)?.column
    if (column === undefined) return null
    return lookupsFor(new LogicNode('or', [other, new IsNode(column, 'null')]), indexes)
  }
  const values = strictValuesFor(node)
  if (values === null) return null
  const not = negated(node)
  const from = lookup(values.column, everything, not, indexes)
  const less = lookup(values.column, values.probe, node, indexes)
  if (from === null || less === null) return null
  return {
    probes: { kind: 'less', from: from.probes, less: less.probes, said: [not] },
    isExact: true,
  }
}

/** A probe that matches all values, but not NULL. */
const everything: ScalarProbe = { kind: 'range', low: null, high: null }

/** Return a lookup in an index on the column that can answer the probe. Return null if there is no such index. */
function lookup(column: ColumnNode, probe: ScalarProbe, node: Bound, indexes: Indexes): Lookups | null {
  const index = indexes.find(
    ({ kind, path }) =>
      probesOfKind[kind].includes(probe.kind) &&
      path.length === column.path.length &&
      path.every((name, i) => name === column.path[i]),
  )
  if (index === undefined) return null
  return {
    probes: isEmpty(probe) ? nothing : { kind: 'probe', index, probe, said: [node] },
    isExact: true,
  }
}

function isEmpty(probe: ScalarProbe): boolean {
  if (probe.kind === 'null') return false
  if (probe.kind !== 'range') return probe.values.length === 0
  const { low, high } = probe
  if (low === null || high === null) return false
  const order = orderOfScalars(low.value, high.value)
  return order > 0 || (order === 0 && !(low.inclusive && high.inclusive))
}

// ---- values

/** The values of one column for which a condition is true. */
interface Values {
  readonly column: ColumnNode
  readonly probe: ScalarProbe
  /** Whether the condition is true for all of these values. */
  readonly isExact: boolean
  /** Whether the condition is NULL exactly where the column is NULL. */
  readonly isStrict: boolean
}

/**
 * Return the values for which a condition is true, if its negation is true for all other values. Otherwise return null.
 */
function strictValuesFor(node: Bound): Values | null {
  const values = valuesFor(node)
  return values?.isExact === true && values.isStrict ? values : null
}

/**
 * Return the values for which a condition is true. Return null if the condition is not a supported condition on one
 * column.
 */
function valuesFor(node: Bound): Values | null {
  const exact = { isExact: true, isStrict: true }
  switch (node.kind) {
    case 'column':
      return valueType(node.type).kind === 'bool'
        ? { column: node, probe: { kind: 'members', values: [true] }, ...exact }
        : null
    case 'compare': {
      const { op, left, right } = node
      if (left.kind !== 'column' || right.kind !== 'literal' || right.value === null) return null
      const probe = comparedWith(op, right.value)
      return probe === null || !isOrdered(right.value) ? null : { column: left, probe, ...exact }
    }
    case 'in':
      return valuesIn(node)
    case 'like':
      return valuesLike(node)
    case 'call':
      return valuesOfCall(node.callee.name, node.args)
    default:
      return null
  }
}

/** Return whether a value has a sort order. Intervals and lists have none. */
function isOrdered(value: Scalar): boolean {
  return typeof value !== 'object' || value instanceof Uint8Array
}

function comparedWith(op: string, value: Scalar): ScalarProbe | null {
  const end = (inclusive: boolean): ProbeEnd => ({ value, inclusive })
  switch (op) {
    case '=':
      return { kind: 'members', values: [value] }
    case '<':
    case '<=':
      return { kind: 'range', low: null, high: end(op === '<=') }
    case '>':
    case '>=':
      return { kind: 'range', low: end(op === '>='), high: null }
    default:
      return null
  }
}

function valuesIn({ operand, values, others, hasNull }: InNode): Values | null {
  if (operand.kind !== 'column' || others.length > 0) return null
  const probe = { kind: 'members', values } as const
  return { column: operand, probe, isExact: true, isStrict: !hasNull }
}

function valuesLike({ operand, pattern, ignoreCase, escape: escapeCharacter }: LikeNode): Values | null {
  if (operand.kind !== 'column' || ignoreCase || pattern.kind !== 'literal') return null
  const text = pattern.value
  return typeof text === 'string' ? prefixValues(operand, prefixOfPattern(text, escapeCharacter)) : null
}

function prefixValues(column: ColumnNode, { text, rest }: Prefix): Values | null {
  if (rest === 'something' && text === '') return null
  const isExact = rest !== 'something'
  if (rest === 'nothing') {
    return { column, probe: { kind: 'members', values: [text] }, isExact, isStrict: true }
  }
  const above = textAbove(text)
  const low = text === '' ? null : { value: text, inclusive: true }
  const high = above === null ? null : { value: above, inclusive: false }
  return { column, probe: { kind: 'range', low, high }, isExact, isStrict: true }
}

/**
 * Return the values for which a function call is true. In lists, a NULL element equals no value. A call on a NULL list
 * is NULL.
 */
function valuesOfCall(name: string, [first, second]: readonly Bound[]): Values | null {
  const exact = { isExact: true, isStrict: true }
  if (name === 'array_has_any' && first?.kind === 'literal' && second?.kind === 'column') {
    return valuesOfCall(name, [second, first])
  }
  if (first?.kind !== 'column' || second?.kind !== 'literal' || second.value === null) return null
  const value = second.value
  switch (name) {
    case 'starts_with':
      return typeof value === 'string' ? prefixValues(first, prefixOfText(value)) : null
    case 'array_has':
      return isOrdered(value) ? { column: first, probe: { kind: 'any', values: [value] }, ...exact } : null
    case 'array_has_any':
    case 'array_has_all': {
      const elements = value as readonly Scalar[]
      const present = elements.filter(element => element !== null)
      if (!present.every(isOrdered)) return null
      const isAll = name === 'array_has_all'
      // Every list contains all elements of an empty list, so a lookup would return all rows.
      if (isAll && elements.length === 0) return null
      const isNever = isAll && present.length < elements.length
      if (isNever) return { column: first, probe: { kind: 'any', values: [] }, ...exact }
      return { column: first, probe: { kind: isAll ? 'all' : 'any', values: distinct(present) }, ...exact }
    }
    default:
      return null
  }
}

function distinct(values: readonly Scalar[]): readonly Scalar[] {
  const keys = new Set<unknown>()
  return values.filter(value => isNew(keys, value))
}

// ---- ranges of one column

/** Merge two range lookups of the same index. Return null for other lookups. */
function mergedRange(a: Probes, b: Probes): Probes | null {
  if (a.kind !== 'probe' || b.kind !== 'probe' || a.index !== b.index) return null
  if (a.probe.kind !== 'range' || b.probe.kind !== 'range') return null
  const low = inner(a.probe.low, b.probe.low, 1)
  const high = inner(a.probe.high, b.probe.high, -1)
  const probe: ScalarProbe = { kind: 'range', low, high }
  return isEmpty(probe) ? nothing : { ...a, probe, said: [...a.said, ...b.said] }
}

/** Return the narrower of two bounds. `direction`: 1 for lower bounds, -1 for upper bounds. */
function inner(a: ProbeEnd | null, b: ProbeEnd | null, direction: 1 | -1): ProbeEnd | null {
  if (a === null || b === null) return a ?? b
  const order = direction * orderOfScalars(a.value, b.value)
  return order > 0 || (order === 0 && !a.inclusive) ? a : b
}

function mergedConjunct(a: Conjunct, b: Conjunct): Conjunct {
  return {
    probes: mergedRange(a.probes, b.probes)!,
    conditions: [...a.conditions, ...b.conditions],
    left: [...a.left, ...b.left],
  }
}

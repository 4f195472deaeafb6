/**
 * Conditions that scalar indexes answer: a filter taken apart into what they can be asked and what must be evaluated.
 *
 * A row passes where the filter is TRUE, so each condition is turned into the rows for which it is TRUE, and those are
 * combined: by AND to those of both, by OR to those of either. A negation is TRUE for other rows than those for which the
 * condition is not (NULL is neither), so it is taken apart only where the condition is NULL just where its column is.
 */

import type { ProbeEnd, ScalarProbe } from '../indexes/scalar/probe.js'
import { probesOfKind } from '../indexes/scalar/probe.js'
import { isNew, negated } from '../sql/binding/logic.js'
import type { Bound, ColumnNode, InNode, LikeNode } from '../sql/bound.js'
import { printShort } from '../sql/print.js'
import type { Scalar } from '../sql/values/scalar.js'
import { orderOfScalars } from '../sql/values/scalar-order.js'
import { valueType } from '../sql/values/types.js'
import { type Prefix, prefixOfPattern, prefixOfText } from '../sql/zones/like-prefix.js'
import { textAbove } from '../sql/zones/text-bounds.js'
import type { IndexReader } from '../table/table-index.js'

/**
 * Rows that indexes say: those of a probe, of all or any of some, or of `from` without those of `less`. `said`: the conditions
 * it stands for.
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

/** What indexes say of one or more conditions of an AND. */
export interface Conjunct {
  /** All rows for which the conditions are true, and perhaps others. */
  readonly probes: Probes
  readonly conditions: readonly Bound[]
  /** Those of them that must still be asked of the rows. */
  readonly left: readonly Bound[]
}

export interface TakenApart {
  readonly conjuncts: readonly Conjunct[]
  /** Conditions that no index answers. */
  readonly rest: readonly Bound[]
}

type Indexes = readonly IndexReader[]

/** `indexes`: those there are. A filter is true where all of its conjuncts and all of the rest are. */
export function takeApart(filter: Bound, indexes: Indexes): TakenApart {
  const conjuncts: Conjunct[] = []
  const rest: Bound[] = []
  for (const condition of filter.kind === 'and' ? filter.operands : [filter]) {
    const found = foundFor(condition, indexes)
    if (found === null) {
      rest.push(condition)
      continue
    }
    const { probes, isExact } = found
    const conjunct = { probes, conditions: [condition], left: isExact ? [] : [condition] }
    const at = conjuncts.findIndex(known => bothRanges(known.probes, probes) !== null)
    if (at < 0) conjuncts.push(conjunct)
    else conjuncts[at] = together(conjuncts[at]!, conjunct)
  }
  return { conjuncts, rest }
}

/** The indexes that are asked. */
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

/** `[id = 5]@id_idx(BTREE)`. */
export function printProbes(probes: Probes): string {
  switch (probes.kind) {
    case 'probe':
      return `[${printAll(probes.said)}]@${probes.index.name}(${probes.index.kind})`
    case 'less': {
      const [{ name, kind }] = indexesOf(probes) as [IndexReader]
      return `[${printAll(probes.said)}]@${name}(${kind})`
    }
    default:
      return probes.operands.length === 0
        ? 'nothing'
        : `${probes.kind.toUpperCase()}(${probes.operands.map(printProbes).join(', ')})`
  }
}

function printAll(conditions: readonly Bound[]): string {
  return conditions.map(condition => printShort(condition)).join(' AND ')
}

// ---- conditions

interface Found {
  readonly probes: Probes
  /** Whether the condition is true for all of the rows. */
  readonly isExact: boolean
}

/** No rows at all, whatever there is. */
const nothing: Probes = { kind: 'or', operands: [] }

/** The rows for which a condition is true; null where no index says. */
function foundFor(node: Bound, indexes: Indexes): Found | null {
  switch (node.kind) {
    case 'and': {
      const { conjuncts, rest } = takeApart(node, indexes)
      if (conjuncts.length === 0) return null
      const isExact = rest.length === 0 && conjuncts.every(({ left }) => left.length === 0)
      const operands = conjuncts.map(({ probes }) => probes)
      return { probes: operands.length === 1 ? operands[0]! : { kind: 'and', operands }, isExact }
    }
    case 'or': {
      const found = node.operands.map(operand => foundFor(operand, indexes))
      if (found.includes(null)) return null
      const all = found as Found[]
      const operands = all.map(({ probes }) => probes)
      return { probes: { kind: 'or', operands }, isExact: all.every(({ isExact }) => isExact) }
    }
    case 'not':
      return foundForNot(node.operand, indexes)
    case 'is': {
      const { operand, what } = node
      if (what === 'true') return foundFor(operand, indexes)
      if (what === 'false') return foundFor(negated(operand), indexes)
      return operand.kind === 'column' ? asked(operand, { kind: 'null' }, node, indexes) : null
    }
    default: {
      if (node.kind === 'compare' && node.op === '<>') return foundForNot({ ...node, op: '=' }, indexes)
      const values = valuesFor(node)
      if (values === null) return null
      const found = asked(values.column, values.probe, node, indexes)
      return found === null ? null : { ...found, isExact: values.isExact }
    }
  }
}

/** The rows for which a condition is false; those for which it is not true where it is never NULL. */
function foundForNot(node: Bound, indexes: Indexes): Found | null {
  if (node.kind === 'is') {
    const { operand, what } = node
    if (what === 'null')
      return operand.kind === 'column' ? asked(operand, everything, negated(node), indexes) : null
    // Who is not true is false or NULL, and NULL where its column is.
    const other = what === 'true' ? negated(operand) : operand
    const column = strictValuesFor(operand.kind === 'not' ? operand.operand : operand)?.column
    if (column === undefined) return null
    const isNull: Bound = { kind: 'is', type: node.type, operand: column, what: 'null' }
    return foundFor({ kind: 'or', type: node.type, operands: [other, isNull] }, indexes)
  }
  const values = strictValuesFor(node)
  if (values === null) return null
  const not = negated(node)
  const from = asked(values.column, everything, not, indexes)
  const less = asked(values.column, values.probe, node, indexes)
  if (from === null || less === null) return null
  return {
    probes: { kind: 'less', from: from.probes, less: less.probes, said: [not] },
    isExact: true,
  }
}

/** All values. */
const everything: ScalarProbe = { kind: 'range', low: null, high: null }

/** A condition asked of an index, where there is one that can be. */
function asked(column: ColumnNode, probe: ScalarProbe, node: Bound, indexes: Indexes): Found | null {
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
  /** Whether it is true for all of them. */
  readonly isExact: boolean
  /** Whether it is NULL where the column is, and nowhere else. */
  readonly isStrict: boolean
}

/** The same, where the negation is true for all other values. */
function strictValuesFor(node: Bound): Values | null {
  const values = valuesFor(node)
  return values?.isExact === true && values.isStrict ? values : null
}

/** Null for a condition that is not one on the values of a column. */
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

/** Intervals and lists have no place among others. */
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
  return typeof text === 'string' ? beginning(operand, prefixOfPattern(text, escapeCharacter)) : null
}

function beginning(column: ColumnNode, { text, rest }: Prefix): Values | null {
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

/** An element that is NULL equals nothing; a list that is NULL gives NULL. */
function valuesOfCall(name: string, [first, second]: readonly Bound[]): Values | null {
  const exact = { isExact: true, isStrict: true }
  if (name === 'array_has_any' && first?.kind === 'literal' && second?.kind === 'column') {
    return valuesOfCall(name, [second, first])
  }
  if (first?.kind !== 'column' || second?.kind !== 'literal' || second.value === null) return null
  const value = second.value
  switch (name) {
    case 'starts_with':
      return typeof value === 'string' ? beginning(first, prefixOfText(value)) : null
    case 'array_has':
      return isOrdered(value) ? { column: first, probe: { kind: 'any', values: [value] }, ...exact } : null
    case 'array_has_any':
    case 'array_has_all': {
      const elements = value as readonly Scalar[]
      const present = elements.filter(element => element !== null)
      if (!present.every(isOrdered)) return null
      const isAll = name === 'array_has_all'
      // Every list has all of none: that is no question for an index.
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

/** Two ranges of one index as one; null for anything else. */
function bothRanges(a: Probes, b: Probes): Probes | null {
  if (a.kind !== 'probe' || b.kind !== 'probe' || a.index !== b.index) return null
  if (a.probe.kind !== 'range' || b.probe.kind !== 'range') return null
  const low = inner(a.probe.low, b.probe.low, 1)
  const high = inner(a.probe.high, b.probe.high, -1)
  const probe: ScalarProbe = { kind: 'range', low, high }
  return isEmpty(probe) ? nothing : { ...a, probe, said: [...a.said, ...b.said] }
}

/** `direction`: 1 for the greater of two ends, -1 for the less. */
function inner(a: ProbeEnd | null, b: ProbeEnd | null, direction: 1 | -1): ProbeEnd | null {
  if (a === null || b === null) return a ?? b
  const order = direction * orderOfScalars(a.value, b.value)
  return order > 0 || (order === 0 && !a.inclusive) ? a : b
}

function together(a: Conjunct, b: Conjunct): Conjunct {
  return {
    probes: bothRanges(a.probes, b.probes)!,
    conditions: [...a.conditions, ...b.conditions],
    left: [...a.left, ...b.left],
  }
}

/**
 * Bind a syntax tree to a schema: names become columns, parameters and literals become constants, and every operation
 * is type-checked.
 *
 * Errors carry the position in the text:
 *
 * - `ColumnNotFound`: an unknown column
 * - `SchemaValidation`: an operand whose type does not fit the operation
 * - `Unsupported`: SQL that this dialect does not have
 * - `InvalidInput`: any other error in the expression or its parameters
 */

import { typeName } from '../../arrow/type-name.js'
import type { Schema } from '../../arrow/types.js'
import {
  cut,
  invalidInput,
  quote,
  type SourceSpan,
  schemaMismatch,
  shortList,
  unsupported,
} from '../../errors.js'
import { type Clock, systemClock } from '../../primitives/clock.js'
import { type Bound, LikeNode } from '../bound.js'
import { BoundExpression } from '../bound-expression.js'
import * as evaluate from '../evaluate.js'
import { evaluating } from '../evaluation.js'
import { functionNamed } from '../functions/functions.js'
import { parseExpression } from '../syntax/parse.js'
import type {
  BinaryExpr,
  CallExpr,
  CaseExpr,
  ColumnExpr,
  DistinctExpr,
  Expr,
  InExpr,
  IntervalExpr,
  IsExpr,
  LikeExpr,
  LogicExpr,
} from '../syntax/syntax.js'
import { parseInterval } from '../values/interval.js'
import { integerLiteral, literalOf, longNumber, numberLiteral } from '../values/literal.js'
import { LiteralNode } from '../values/literal-node.js'
import { elementType, intervalType, typeOfName, valueType } from '../values/types.js'
import * as prune from '../zones/prune.js'
import { pruning } from '../zones/pruning.js'
import { aggregateNamed } from './aggregates.js'
import {
  arithmetic,
  asked,
  between,
  cast,
  compared,
  describe,
  fold,
  membership,
  membershipOfMany,
  same,
  unified,
  withoutWrittenForm,
} from './build.js'
import { called, checkCount, knownFunction } from './calls.js'
import { combined, conditional, isLiteral, negated, truthLiteral, unknownTruth } from './logic.js'
import { hasColumn, resolveColumn } from './names.js'
import { element, list } from './nested.js'
import { ParameterList, type Parameters } from './parameters.js'
import { bareCalls, type RewriteCall, rewritten } from './rewrites.js'

export type { Parameters } from './parameters.js'

/** Options of `bindExpression` and `bindFilter`. */
export interface BindOptions {
  /**
   * The parameter values of this expression, or a `ParameterList` that several expressions share. The owner of a shared
   * list must call `checkUsed` after the last expression is bound.
   */
  readonly parameters?: Parameters | ParameterList | undefined
  /**
   * Meaning of `"x"` if no column has exactly this name. `string-fallback` (default): the string `x`, with a warning.
   * `identifier`: a column name, which is resolved like a name without quotes.
   */
  readonly doubleQuotes?: 'string-fallback' | 'identifier' | undefined
  /** The source of time and randomness for `now()`, `random()` and `uuid()`. Default: the system clock. */
  readonly clock?: Clock | undefined
}

/**
 * Bind a parsed expression to the columns of `schema`. `take`: converts the bound value while its number literals still
 * have all their written digits. Default: no conversion.
 */
export function bindExpression(
  expr: Expr,
  schema: Schema,
  options: BindOptions = {},
  take: (value: Bound) => Bound = value => value,
): BoundExpression {
  const binder = new Binder(schema, options)
  return binder.finish(take(binder.bind(expr)))
}

/**
 * Parse and bind a condition: a boolean expression or NULL. Throws `SchemaValidation` for an expression of another
 * type.
 */
export function bindFilter(text: string, schema: Schema, options: BindOptions = {}): BoundExpression {
  const known = parsed(text)
  const { clock = systemClock, doubleQuotes, parameters } = options
  const { bound } = known
  const isSame = bound?.schema === schema && bound.clock === clock && bound.doubleQuotes === doubleQuotes
  // A cached filter has no parameters. So values that are passed directly are unused: bind again to report them. For a
  // shared list, its owner reports unused values.
  if (isSame && (parameters === undefined || parameters instanceof ParameterList)) return bound.filter
  const binder = new Binder(schema, options, true)
  const filter = binder.finish(binder.condition(known.expr, 'a filter must be a condition'))
  if (!binder.isOfCall) known.bound = { schema, clock, doubleQuotes, filter }
  return filter
}

/**
 * Bind a parsed condition: a boolean expression or NULL. Throws `SchemaValidation` for an expression of another type.
 * `message`: the first part of the message of this error.
 */
export function bindCondition(
  expr: Expr,
  schema: Schema,
  message: string,
  options: BindOptions = {},
): BoundExpression {
  const binder = new Binder(schema, options)
  return binder.finish(binder.condition(expr, message))
}

/**
 * A parsed filter and its last binding. `bound` stays null for a filter that contains parameters or the current time,
 * because its binding is valid for one call only.
 */
interface Parsed {
  readonly expr: Expr
  bound: Bindings | null
}

interface Bindings {
  readonly schema: Schema
  readonly clock: Clock
  readonly doubleQuotes: BindOptions['doubleQuotes']
  readonly filter: BoundExpression
}

/**
 * Cache of parsed filters, because applications repeat the same filters with other parameters. If the cache is full,
 * the oldest filter is removed. Texts longer than `maxCachedLength` are not cached. All roots of a process share the
 * cache, because parsing depends only on the text.
 */
const parsedFilters = new Map<string, Parsed>()
const maxParsedFilters = 128
const maxCachedLength = 500

/** The last parsed filter that was too long for the cache. Two parts of one call may need it. */
let lastLong: WeakRef<Parsed & { readonly text: string }> | null = null

/** Parse a filter. */
export function parseFilter(text: string): Expr {
  return parsed(text).expr
}

function parsed(text: string): Parsed {
  const isLong = text.length > maxCachedLength
  const last = isLong ? lastLong?.deref() : undefined
  const known = isLong ? (last?.text === text ? last : undefined) : parsedFilters.get(text)
  if (known !== undefined) return known
  const parsed = { text, expr: parseExpression(text), bound: null }
  if (isLong) {
    lastLong = new WeakRef(parsed)
    return parsed
  }
  if (parsedFilters.size === maxParsedFilters) parsedFilters.delete(parsedFilters.keys().next().value!)
  parsedFilters.set(text, parsed)
  return parsed
}

const nanosPerMilli = 1_000_000n

/**
 * Maximum number of branches of a CASE. The evaluation makes one pass per branch over the rows that no branch has
 * taken.
 */
const maxBranches = 10_000

class Binder {
  readonly #schema: Schema
  readonly #parameters: ParameterList
  readonly #ownsParameters: boolean
  readonly #quotesAreNames: boolean
  readonly #clock: Clock
  readonly #isFilter: boolean
  readonly #warnings: string[] = []
  #now: bigint | null = null
  #takesParameters = false

  constructor(schema: Schema, { parameters, doubleQuotes, clock }: BindOptions, isFilter = false) {
    this.#schema = schema
    this.#isFilter = isFilter
    this.#ownsParameters = !(parameters instanceof ParameterList)
    this.#parameters = parameters instanceof ParameterList ? parameters : new ParameterList(parameters)
    this.#quotesAreNames = doubleQuotes === 'identifier'
    this.#clock = clock ?? systemClock
  }

  /**
   * Whether the bound expression contains parameter values or the current time, so that it is valid for one call only.
   */
  get isOfCall(): boolean {
    return this.#takesParameters || this.#now !== null
  }

  finish(bound: Bound): BoundExpression {
    if (this.#ownsParameters) this.#parameters.checkUsed()
    evaluating.set(evaluate)
    pruning.set(prune)
    return new BoundExpression(withoutWrittenForm(bound), this.#clock, this.#warnings)
  }

  bind(expr: Expr): Bound {
    switch (expr.kind) {
      case 'literal':
        return typeof expr.value === 'bigint' ? integerLiteral(expr.value, expr.at) : literalOf(expr.value)
      case 'decimal':
        return writtenNumber(expr.text, expr.at)
      case 'column':
        return this.#column(expr)
      case 'parameter': {
        this.#takesParameters = true
        const value = this.#parameters.take(expr)
        return 'kind' in value ? value : list(value, expr.at)
      }
      case 'not':
        return negated(this.condition(expr.operand, 'NOT takes a condition'))
      case 'negate':
        return this.#negate(expr.operand, expr.at)
      case 'binary':
        return this.#binary(expr)
      case 'and':
      case 'or': {
        const message = `${expr.kind.toUpperCase()} joins conditions`
        const operands = flattened(expr.kind, expr.operands)
        return combined(
          expr.kind,
          operands.map(operand => this.condition(operand, message)),
        )
      }
      case 'in':
        return this.#in(expr)
      case 'between': {
        const operands = [expr.operand, expr.low, expr.high].map(operand => this.bind(operand))
        const bound = between(operands[0]!, operands[1]!, operands[2]!, expr.at)
        return expr.negated ? negated(bound) : bound
      }
      case 'like':
        return this.#like(expr)
      case 'is':
        return this.#is(expr)
      case 'distinct':
        return this.#distinct(expr)
      case 'case':
        return this.#case(expr)
      case 'interval':
        return this.#interval(expr)
      case 'cast':
        return cast(this.bind(expr.operand), typeOfName(expr.type), expr.try, expr.at)
      case 'call':
        return this.#call(expr)
      case 'array':
        return list(
          expr.elements.map(part => this.bind(part)),
          expr.at,
        )
      case 'element':
        return element(
          this.bind(expr.operand),
          this.bind(expr.index),
          this.#schema,
          expr.operand.at,
          expr.index.at,
        )
    }
  }

  /**
   * Bind `expr` as a condition. `message`: the first part of the error for another type, such as
   * `NOT takes a condition`.
   */
  condition(expr: Expr, message: string): Bound {
    const bound = this.bind(expr)
    const { kind } = valueType(bound.type)
    if (kind === 'null') return unknownTruth
    if (kind === 'bool') return bound
    // As in Lance, a call of regexp_match may be used as a condition, although it returns a list. The condition is
    // never NULL.
    if (bound.kind === 'call' && bound.callee.name === 'regexp_match') {
      return asked(called(functionNamed('regexp_like')!, bound.args, expr.at), 'true')
    }
    throw schemaMismatch(`${message}, not ${describe(bound)}`, {
      hint: bound.kind === 'column' ? `compare it with a value: ${bound.path.join('.')} = ...` : undefined,
      at: expr.at,
    })
  }

  #column({ path, at }: ColumnExpr): Bound {
    const [first] = path
    if (
      path.length === 1 &&
      first!.quote === '"' &&
      !this.#quotesAreNames &&
      !hasColumn(first!.name, this.#schema)
    ) {
      const { name } = first!
      this.#warnings.push(
        `no column is named exactly ${quote(name)}: it was read as a string; for a string write '${cut(name).replaceAll("'", "''")}'`,
      )
      return literalOf(name)
    }
    const folded = first!.name.toLowerCase()
    const isCall = path.length === 1 && first!.quote === '' && bareCalls.includes(folded)
    if (isCall && !this.#schema.fields.some(field => field.name.toLowerCase() === folded)) {
      return rewritten(folded, this.#rewriteCall([], at))!
    }
    return resolveColumn(path, this.#schema, at)
  }

  #negate(operand: Expr, at: SourceSpan): Bound {
    if (operand.kind === 'literal' && typeof operand.value === 'bigint') {
      return integerLiteral(-operand.value, at)
    }
    if (operand.kind === 'decimal') return writtenNumber(`-${operand.text}`, at)
    return arithmetic('*', this.bind(operand), integerLiteral(-1n, at), '-', at)
  }

  #binary(expr: BinaryExpr): Bound {
    const left = this.bind(expr.left)
    const right = this.bind(expr.right)
    switch (expr.op) {
      case '||': {
        const areLists = [left, right].every(({ type }) => type.kind === 'null' || elementType(type) !== null)
        const isOfTexts = left.type.kind === 'null' && right.type.kind === 'null'
        const name = areLists && !isOfTexts ? 'array_concat' : '||'
        return called(functionNamed(name)!, [left, right], expr.at)
      }
      case '+':
      case '-':
      case '*':
      case '/':
      case '%':
        return arithmetic(expr.op, left, right, expr.op, expr.at)
      default:
        return compared(
          expr.op,
          this.#boundInFloats(right, expr.left) ?? left,
          this.#boundInFloats(left, expr.right) ?? right,
          expr.at,
        )
    }
  }

  /**
   * Bind arithmetic on number literals as floats, if the other side of the comparison (`other`) is a float that is not
   * constant. Return null in all other cases. So `x = 1 / 2` compares a float column with 0.5, as in Lance.
   */
  #boundInFloats(other: Bound, written: Expr): Bound | null {
    const isArithmetic =
      written.kind === 'binary' || (written.kind === 'negate' && written.operand.kind !== 'literal')
    if (!isArithmetic || isLiteral(other) || valueType(other.type).kind !== 'float') return null
    const inFloats = asDecimals(written)
    return inFloats === null ? null : this.bind(inFloats)
  }

  #in(expr: InExpr): Bound {
    const operand = this.bind(expr.operand)
    const bound = this.#membership(operand, expr)
    return expr.negated ? negated(bound) : bound
  }

  #membership(operand: Bound, { list: written, at }: InExpr): Bound {
    if (!('kind' in written)) {
      const members: Bound[] = []
      for (const member of written) {
        if (member.kind === 'parameter') this.#takesParameters = true
        const values = member.kind === 'parameter' ? this.#parameters.take(member) : this.bind(member)
        if ('kind' in values) members.push(values)
        else for (const value of values) members.push(value)
      }
      return membership(operand, members, at)
    }
    if (written.kind === 'parameter') this.#takesParameters = true
    const values = written.kind === 'constants' ? written : this.#parameters.takeMembers(written)
    if (!('kind' in values)) return membership(operand, values, at)
    if (values.kind === 'constants') return membershipOfMany(operand, values.values, at)
    throw invalidInput('IN with a parameter needs an array as its value', {
      hint: 'write IN (?) for a single value',
      at: written.at,
    })
  }

  #like(expr: LikeExpr): Bound {
    const operator = expr.ignoreCase ? 'ILIKE' : 'LIKE'
    const [operand, pattern] = [expr.operand, expr.pattern].map(side => {
      const bound = this.bind(side)
      const { kind } = valueType(bound.type)
      if (kind === 'utf8' || kind === 'null') return bound
      throw schemaMismatch(`${operator} takes texts, not ${describe(bound)}`, { at: side.at })
    }) as [Bound, Bound]
    const escapeCharacter = expr.escape === null ? '\\' : this.#escape(expr.escape)
    if (operand.type.kind === 'null' || pattern.type.kind === 'null') return unknownTruth
    const options = { ignoreCase: expr.ignoreCase, escape: escapeCharacter }
    const bound = fold(new LikeNode(operand, pattern, options))
    return expr.negated ? negated(bound) : bound
  }

  #escape(expr: Expr): string {
    const bound = this.bind(expr)
    const value = isLiteral(bound) ? bound.value : null
    if (typeof value === 'string' && [...value].length === 1) return value
    throw invalidInput('ESCAPE takes a text of one character', { at: expr.at })
  }

  #is({ operand: written, what, negated: isNegated }: IsExpr): Bound {
    const message = `IS ${what.toUpperCase()} takes a condition`
    const operand = what === 'null' ? this.bind(written) : this.condition(written, message)
    if (
      this.#isFilter &&
      what === 'null' &&
      operand.kind === 'call' &&
      operand.callee.name === 'regexp_match'
    ) {
      this.#warnings.push(
        'regexp_match is never NULL in a filter, as in Lance; use regexp_like to test whether a text matches',
      )
      return truthLiteral(isNegated)
    }
    const bound = asked(operand, what === 'unknown' ? 'null' : what)
    return isNegated ? negated(bound) : bound
  }

  #distinct(expr: DistinctExpr): Bound {
    const bound = same(this.bind(expr.left), this.bind(expr.right), expr.at)
    return expr.negated ? bound : negated(bound)
  }

  #case(expr: CaseExpr): Bound {
    if (expr.branches.length > maxBranches) {
      throw invalidInput(`CASE has ${expr.branches.length} branches; at most ${maxBranches} are allowed`, {
        hint: 'use IN, or put the alternatives into a separate table',
        at: expr.at,
      })
    }
    const subject = expr.operand === null ? null : this.bind(expr.operand)
    if (subject?.cost.isVolatile === true) {
      throw unsupported(`CASE would compute ${describe(subject)} again for each WHEN`, {
        hint: 'write CASE WHEN with whole conditions',
        at: expr.operand!.at,
      })
    }
    const conditions = expr.branches.map(({ when }) =>
      subject === null
        ? this.condition(when, 'WHEN takes a condition')
        : compared('=', subject, this.bind(when), when.at),
    )
    const written = expr.branches.map(({ result }) => this.bind(result))
    written.push(expr.otherwise === null ? literalOf(null) : this.bind(expr.otherwise))
    const results = unified(written)
    if (results === null) {
      const types = [...new Set(written.map(result => typeName(result.type)))].filter(name => name !== 'null')
      throw schemaMismatch(`the results of CASE must have one type, not ${shortList(types, 8, ' and ')}`, {
        hint: 'CAST the results to one type',
        at: expr.at,
      })
    }
    const branches = conditions.map((when, i) => ({ when, result: results.nodes[i]! }))
    return conditional(results.type, branches, results.nodes.at(-1)!)
  }

  #interval({ text, unit, at }: IntervalExpr): Bound {
    const value = parseInterval(text, unit)
    if (value !== null) return new LiteralNode(intervalType, value)
    throw invalidInput(`${quote(text)} is not an interval`, {
      hint: "write INTERVAL '1 month 2 days' or INTERVAL '3' hour",
      at,
    })
  }

  #call(expr: CallExpr): Bound {
    const { name, modifier, filter, at } = expr
    if (aggregateNamed(name) !== undefined) {
      throw invalidInput(`${name} is an aggregate: use it in select with groupBy`, { at })
    }
    checkCount(name, expr.args.length, undefined, at)
    const args = expr.args.map(arg => this.bind(arg))
    const replaced =
      modifier === null && filter === null ? rewritten(name, this.#rewriteCall(args, at)) : null
    if (replaced !== null) return replaced
    const callee = knownFunction(name, at)
    if (modifier !== null || filter !== null) {
      const written = modifier === 'star' ? `${name}(*)` : modifier === null ? 'FILTER' : 'DISTINCT'
      throw invalidInput(`${written} is for aggregates, and ${name} is not an aggregate`, {
        hint: `write ${callee.usage}`,
        at,
      })
    }
    return called(callee, args, at)
  }

  #rewriteCall(args: readonly Bound[], at: SourceSpan): RewriteCall {
    return {
      args,
      at,
      now: () => {
        this.#now ??= BigInt(Math.floor(this.#clock.now())) * nanosPerMilli
        return this.#now
      },
      list: elements => list(elements, at),
      element: (operand, index) => element(operand, index, this.#schema, at, at),
    }
  }
}

/** Return the operands of nested ANDs (or ORs) as one list, in order. */
function flattened(kind: 'and' | 'or', operands: readonly Expr[]): readonly Expr[] {
  if (!operands.some(operand => operand.kind === kind)) return operands
  const out: Expr[] = []
  const visit = (operand: Expr): void => {
    if (operand.kind !== kind) out.push(operand)
    else for (const nested of (operand as LogicExpr).operands) visit(nested)
  }
  operands.forEach(visit)
  return out
}

/**
 * Create the literal of a number that the parser keeps as a text: one with a point or an exponent, or a long integer.
 */
function writtenNumber(text: string, at: SourceSpan): LiteralNode {
  return /[.eE]/.test(text) ? numberLiteral(text, at) : longNumber(text, at)
}

/**
 * Write each integer in arithmetic on number literals with a point (`1` becomes `1.0`), so that it is bound as a float.
 * Return null if `expr` is not arithmetic on number literals.
 */
function asDecimals(expr: Expr): Expr | null {
  switch (expr.kind) {
    case 'decimal':
      return expr
    case 'literal':
      return typeof expr.value === 'bigint' ? { kind: 'decimal', text: `${expr.value}.0`, at: expr.at } : null
    case 'negate': {
      const operand = asDecimals(expr.operand)
      return operand && { ...expr, operand }
    }
    case 'binary': {
      const [left, right] = [asDecimals(expr.left), asDecimals(expr.right)]
      return left && right && { ...expr, left, right }
    }
    default:
      return null
  }
}

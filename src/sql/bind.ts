/**
 * Syntax to bound expression: names become columns, parameters and literals constants, every operation is
 * checked against the types it meets.
 *
 * Errors carry the place in the text: code 12 for an unknown column, 20 for types that do not fit, 0 for what
 * exists in SQL but not here, 13 for anything else.
 */
import { equalTypes } from '../arrow/same-type.js'
import { typeName } from '../arrow/type-name.js'
import type { DataType, Schema } from '../arrow/types.js'
import { invalidInput, nearestName, quote, schemaMismatch, unsupported } from '../errors.js'
import { type Bound, type BoundExpression, type LiteralNode, operandsOf, type Scalar } from './bound.js'
import {
  between,
  castNode,
  coerced,
  combined,
  compared,
  describe,
  fold,
  isLiteral,
  isNull,
  membership,
  negated,
  unknownTruth,
} from './build.js'
import { castable } from './cast.js'
import { computedType, functionNamed, functionNames, listOf, type SqlFunction } from './functions.js'
import { integerLiteral, literalOf } from './literal.js'
import { hasColumn, resolveColumn } from './names.js'
import { ParameterList, type Parameters } from './parameters.js'
import { parseExpression } from './parse.js'
import type {
  ArrayExpr,
  BinaryExpr,
  CallExpr,
  CastExpr,
  ColumnExpr,
  DecimalExpr,
  ElementExpr,
  Expr,
  InExpr,
  LikeExpr,
} from './syntax.js'
import {
  boolType,
  commonType,
  elementType,
  float64,
  int64,
  nullType,
  typeOfName,
  uint64,
  valueType,
} from './types.js'

export type { Parameters } from './parameters.js'

export interface BindOptions {
  readonly parameters?: Parameters | undefined
  /**
   * What `"x"` means when no column has exactly that name: `string-fallback` (default) the string, with a
   * warning; `identifier` an unknown column.
   */
  readonly doubleQuotes?: 'string-fallback' | 'identifier' | undefined
}

/** Binds a parsed expression to the columns of `schema`. */
export function bindExpression(expr: Expr, schema: Schema, options: BindOptions = {}): BoundExpression {
  const binder = new Binder(schema, options)
  return binder.finish(binder.bind(expr))
}

/** Parses and binds a condition. Throws code 20 when the expression is no condition; NULL is one. */
export function bindFilter(text: string, schema: Schema, options: BindOptions = {}): BoundExpression {
  const expr = parseExpression(text)
  const binder = new Binder(schema, options)
  return binder.finish(binder.condition(expr, 'a filter is a condition'))
}

class Binder {
  readonly #schema: Schema
  readonly #parameters: ParameterList
  readonly #quotesAreNames: boolean
  readonly #warnings: string[] = []

  constructor(schema: Schema, options: BindOptions) {
    this.#schema = schema
    this.#parameters = new ParameterList(options.parameters)
    this.#quotesAreNames = options.doubleQuotes === 'identifier'
  }

  finish(expr: Bound): BoundExpression {
    this.#parameters.checkUsed()
    return { expr, type: expr.type, columns: columnsOf(expr), warnings: this.#warnings }
  }

  bind(expr: Expr): Bound {
    switch (expr.kind) {
      case 'literal':
        return literalOf(expr.value)
      case 'decimal':
        return literalOf(numberOf(expr))
      case 'column':
        return this.#column(expr)
      case 'parameter': {
        const value = this.#parameters.take(expr)
        return 'kind' in value ? value : listLiteral(value, expr)
      }
      case 'not':
        return negated(this.condition(expr.operand, 'NOT takes a condition'))
      case 'negate':
        return this.#negate(expr.operand, expr)
      case 'binary':
        return this.#binary(expr)
      case 'and':
      case 'or': {
        const message = `${expr.kind.toUpperCase()} joins conditions`
        return combined(
          expr.kind,
          expr.operands.map(operand => this.condition(operand, message)),
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
      case 'is': {
        const { what, negated: isNegated } = expr
        const message = `IS ${what.toUpperCase()} asks about a condition`
        const operand = what === 'null' ? this.bind(expr.operand) : this.condition(expr.operand, message)
        const bound = fold({ kind: 'is', type: boolType, operand, what })
        return isNegated ? negated(bound) : bound
      }
      case 'cast':
        return this.#cast(expr)
      case 'call':
        return this.#call(expr)
      case 'array':
        return this.#array(expr)
      case 'element':
        return this.#element(expr)
    }
  }

  /** `expr` as a truth value; `message` says what needs one. */
  condition(expr: Expr, message: string): Bound {
    const bound = this.bind(expr)
    const { kind } = valueType(bound.type)
    if (kind === 'null') return unknownTruth
    if (kind === 'bool') return bound
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
        `no column is named exactly ${quote(name)}: it was read as a text; write '${name.replaceAll("'", "''")}'`,
      )
      return literalOf(name)
    }
    return resolveColumn(path, this.#schema, at)
  }

  #negate(operand: Expr, expr: Expr): Bound {
    if (operand.kind === 'literal' && typeof operand.value === 'bigint') return integerLiteral(-operand.value)
    if (operand.kind === 'decimal') return literalOf(-numberOf(operand))
    return arithmetic('*', this.bind(operand), integerLiteral(-1n), '-', expr)
  }

  #binary(expr: BinaryExpr): Bound {
    const left = this.bind(expr.left)
    const right = this.bind(expr.right)
    switch (expr.op) {
      case '||':
        return called(functionNamed('||')!, [left, right], expr)
      case '+':
      case '-':
      case '*':
      case '/':
      case '%':
        return arithmetic(expr.op, left, right, expr.op, expr)
      default:
        return compared(expr.op, left, right, expr.at)
    }
  }

  #in(expr: InExpr): Bound {
    const operand = this.bind(expr.operand)
    const members: Bound[] = []
    if ('kind' in expr.list) {
      const values = this.#parameters.take(expr.list)
      if ('kind' in values) {
        throw invalidInput('IN with a parameter needs an array as its value', {
          hint: 'write IN (?) for a single value',
          at: expr.list.at,
        })
      }
      members.push(...values)
    } else {
      for (const member of expr.list) {
        const values = member.kind === 'parameter' ? this.#parameters.take(member) : this.bind(member)
        if ('kind' in values) members.push(values)
        else for (const value of values) members.push(value)
      }
    }
    const bound = membership(operand, members, expr.at)
    return expr.negated ? negated(bound) : bound
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
    const { ignoreCase } = expr
    const bound = fold({
      kind: 'like',
      type: boolType,
      ignoreCase,
      operand,
      pattern,
      escape: escapeCharacter,
    })
    return expr.negated ? negated(bound) : bound
  }

  #escape(expr: Expr): string {
    const bound = this.bind(expr)
    const value = isLiteral(bound) ? bound.value : null
    if (typeof value === 'string' && [...value].length === 1) return value
    throw invalidInput('ESCAPE takes a text of one character', { at: expr.at })
  }

  #cast(expr: CastExpr): Bound {
    const operand = this.bind(expr.operand)
    const type = typeOfName(expr.type)
    const from = valueType(operand.type)
    if (!castable(from, type)) {
      throw schemaMismatch(`cannot cast ${describe(operand)} to ${typeName(type)}`, { at: expr.at })
    }
    if (isNull(operand)) return { kind: 'literal', type, value: null }
    if (equalTypes(operand.type, type)) return operand
    const bound = fold(castNode(operand, type, expr.try))
    if (!isLiteral(operand) || isLiteral(bound)) return bound
    const written = typeof operand.value === 'string' ? `'${operand.value}'` : describe(operand)
    throw invalidInput(`${written} is not a value of ${typeName(type)}`, { at: expr.at })
  }

  #call(expr: CallExpr): Bound {
    const callee = functionNamed(expr.name)
    if (callee === undefined) {
      const near = nearestName(expr.name, functionNames)
      throw invalidInput(`no function named ${quote(expr.name)}`, {
        hint: near === undefined ? `the functions are ${functionNames.join(', ')}` : `did you mean ${near}?`,
        at: expr.at,
      })
    }
    return called(
      callee,
      expr.args.map(arg => this.bind(arg)),
      expr,
    )
  }

  #array(expr: ArrayExpr): Bound {
    const elements = expr.elements.map(element => this.bind(element))
    if (elements.every(isLiteral)) return listLiteral(elements, expr)
    throw unsupported('the elements of a list are constants here', { at: expr.at })
  }

  #element(expr: ElementExpr): Bound {
    const operand = this.bind(expr.operand)
    const index = this.bind(expr.index)
    const type = valueType(operand.type)
    if (
      type.kind === 'struct' &&
      operand.kind === 'column' &&
      isLiteral(index) &&
      typeof index.value === 'string'
    ) {
      const parts = [...operand.path, index.value].map(name => ({ name, quote: '`', at: expr.at }) as const)
      return resolveColumn(parts, this.#schema, expr.at)
    }
    const element = elementType(type)
    if (element === null) throw schemaMismatch(`${describe(operand)} is not a list`, { at: expr.operand.at })
    const position = valueType(index.type).kind === 'int' ? coerced(index, int64) : null
    if (position === null) {
      throw schemaMismatch(`a list is indexed by an integer, not ${describe(index)}`, { at: expr.index.at })
    }
    return fold({ kind: 'element', type: element, operand, index: position })
  }
}

function numberOf({ text, at }: DecimalExpr): number {
  const value = Number(text)
  if (Number.isFinite(value)) return value
  throw invalidInput(`the number ${text.slice(0, 40)} is outside the range of a double`, { at })
}

/** `written`: the operator as it stands in the text. */
function arithmetic(
  op: '+' | '-' | '*' | '/' | '%',
  left: Bound,
  right: Bound,
  written: string,
  { at }: Expr,
): Bound {
  const [a, b] = [left, right].map(side => {
    const type = computedType(valueType(side.type))
    if (type !== null) return type
    throw schemaMismatch(`${written} takes numbers, not ${describe(side)}`, { at })
  }) as [DataType, DataType]
  let type = a.kind === 'float' || b.kind === 'float' ? float64 : int64
  if (type === int64 && isUnsigned(left, a) && isUnsigned(right, b) && (a === uint64 || b === uint64))
    type = uint64
  if (isNull(left) || isNull(right)) return { kind: 'literal', type, value: null }
  const operands = [left, right].map(side => coerced(side, type) ?? fold(castNode(side, type, false)))
  return fold({ kind: 'arithmetic', type, op, left: operands[0]!, right: operands[1]! })
}

/** Whether all its values are uint64: a constant that is not negative counts. */
function isUnsigned(node: Bound, type: DataType): boolean {
  return type === uint64 || (isLiteral(node) && typeof node.value === 'bigint' && node.value >= 0n)
}

function called(callee: SqlFunction, args: readonly Bound[], { at }: Expr): Bound {
  const signature = callee.sign(args.map(arg => valueType(arg.type)))
  const types = args.map(arg => typeName(arg.type)).join(', ')
  const mismatch = () =>
    schemaMismatch(`${callee.name} does not take (${types})`, { hint: `write ${callee.usage}`, at })
  if (signature === null) throw mismatch()
  if (callee.constant !== undefined && !isLiteral(args[callee.constant]!)) {
    throw unsupported(`argument ${callee.constant + 1} of ${callee.name} is a constant`, {
      hint: `write ${callee.usage}`,
      at,
    })
  }
  const fitted = args.map((arg, i) => {
    const bound = coerced(arg, signature.args[i]!)
    if (bound === null) throw mismatch()
    return bound
  })
  return fold({ kind: 'call', name: callee.name, type: signature.result, args: fitted })
}

function listLiteral(elements: readonly LiteralNode[], { at }: Expr): Bound {
  let type: DataType = nullType
  for (const element of elements) {
    const common = commonType(type, element.type)
    if (common === null) {
      const [first, second] = [type, element.type].map(typeName)
      throw schemaMismatch(`a list holds values of one type, not ${first} and ${second}`, { at })
    }
    type = common
  }
  const values: Scalar[] = []
  for (const element of elements) {
    const value = coerced(element, type)
    if (value === null || !isLiteral(value))
      throw schemaMismatch(`${describe(element)} is no ${typeName(type)}`, { at })
    values.push(value.value)
  }
  return { kind: 'literal', type: listOf(type), value: values }
}

/** Top-level columns in order of first use. */
function columnsOf(expr: Bound): readonly string[] {
  const names = new Set<string>()
  const visit = (node: Bound): void => {
    if (node.kind === 'column') names.add(node.path[0]!)
    else operandsOf(node).forEach(visit)
  }
  visit(expr)
  return [...names]
}

/** Prints bound expressions as SQL text. Parsing and binding the text gives the same expression again. */
import { formatDecimal } from '../arrow/decimal.js'
import { equalTypes } from '../arrow/same-type.js'
import type { DataType } from '../arrow/types.js'
import { cut } from '../errors.js'
import { type Bound, InNode } from './bound.js'
import type { BoundExpression } from './bound-expression.js'
import { writeFloat } from './kernels/cast.js'
import { printName } from './syntax/print-name.js'
import { level } from './syntax/syntax.js'
import { formatArrowType } from './values/arrow-type.js'
import { formatInterval } from './values/interval.js'
import { LiteralNode } from './values/literal-node.js'
import type { Interval, Scalar } from './values/scalar.js'
import { formatInstant, writeTime } from './values/temporal.js'
import { float64, int64, nameOfType, uint64, valueType } from './values/types.js'

/** Print the expression on one line. Adds only the parentheses that are necessary. */
export function printExpression({ expr }: BoundExpression): string {
  return printBound(expr)
}

/** Print a node on one line. Adds only the parentheses that are necessary. */
export function printBound(node: Bound): string {
  return print(node, level.or)
}

/**
 * Print an expression for a message: at most `length` characters (default 120). Long constants are shortened too.
 */
export function printShort(node: Bound, length = 120): string {
  return cut(printBound(abridged(node)), length)
}

/** Maximum number of characters of a string that a message shows. */
const shownText = 80
/** Maximum number of bytes of a binary value that a message shows. */
const shownBytes = 40
/** Maximum number of members of a list that a message shows. */
const shownMembers = 20

/** Return the node with shortened constants and lists, so that it fits into a message. */
function abridged(node: Bound): Bound {
  if (node.kind === 'literal') return new LiteralNode(node.type, shortened(node.value), node)
  const shown = node.kind === 'in' ? shortMembers(node) : node
  return shown.withOperands(shown.operands.map(abridged))
}

function shortMembers(node: InNode): InNode {
  const { operand, values, hasNull, others } = node
  return new InNode(operand, {
    values: values.slice(0, shownMembers).map(shortened),
    hasNull,
    others: others.slice(0, shownMembers),
  })
}

function shortened(value: Scalar): Scalar {
  if (typeof value === 'string') return cut(value, shownText)
  if (value instanceof Uint8Array) return value.subarray(0, shownBytes)
  return Array.isArray(value) ? value.slice(0, shownMembers).map(shortened) : value
}

/** Print `node`. Add parentheses if the level of its operator is below `least`. */
function print(node: Bound, least: number): string {
  const [text, own] = write(node)
  return own < least ? `(${text})` : text
}

/** Levels of the operators that are bound to function calls. */
const operatorLevels: Readonly<Record<string, number>> = {
  '||': level.sum,
  '|': level.bitOr,
  '^': level.bitXor,
  '<<': level.bitXor,
  '>>': level.bitXor,
  '&': level.bitAnd,
}

/** Print `node` without outer parentheses, and return the level of its operator. */
function write(node: Bound): readonly [text: string, level: number] {
  switch (node.kind) {
    case 'literal':
      return [printLiteral(node), level.element]
    case 'column':
      return [node.path.map(printName).join('.'), level.element]
    case 'compare': {
      const left = print(node.left, level.comparison)
      return [`${left} ${node.op} ${printBeside(node.right, node.left, level.sum)}`, level.comparison]
    }
    case 'between': {
      const bounds = [node.low, node.high].map(bound => printBeside(bound, node.operand, level.sum))
      return [`${print(node.operand, level.comparison)} BETWEEN ${bounds.join(' AND ')}`, level.comparison]
    }
    case 'in': {
      const members = node.values.map(value => printMember(value, valueType(node.operand.type)))
      if (node.hasNull) members.push('NULL')
      for (const other of node.others) members.push(print(other, level.or))
      return [`${print(node.operand, level.comparison)} IN (${members.join(', ')})`, level.comparison]
    }
    case 'like': {
      const escapeText = node.escape === '\\' ? '' : ` ESCAPE ${printText(node.escape)}`
      const operator = node.ignoreCase ? 'ILIKE' : 'LIKE'
      const pattern = print(node.pattern, level.sum)
      return [
        `${print(node.operand, level.comparison)} ${operator} ${pattern}${escapeText}`,
        level.comparison,
      ]
    }
    case 'is':
      return [`${print(node.operand, level.is)} IS ${node.what.toUpperCase()}`, level.is]
    case 'and':
    case 'or': {
      const operands = node.operands.map(operand => print(operand, level[node.kind] + 1))
      return [operands.join(node.kind === 'and' ? ' AND ' : ' OR '), level[node.kind]]
    }
    case 'not':
      return writeNot(node.operand)
    case 'arithmetic': {
      const own = node.op === '+' || node.op === '-' ? level.sum : level.product
      const left = printFactor(node.left, node.right, own)
      return [`${left} ${node.op} ${printFactor(node.right, node.left, own + 1)}`, own]
    }
    case 'cast':
      return [printCast(print(node.operand, level.or), node.type, node.try), level.element]
    case 'element':
      return [`${print(node.operand, level.element)}[${print(node.index, level.or)}]`, level.element]
    case 'field': {
      const { type } = node.operand
      const name = type.kind === 'struct' ? type.children[node.index]!.name : ''
      return [`${print(node.operand, level.element)}[${printText(name)}]`, level.element]
    }
    case 'list':
      return [`[${node.elements.map(element => print(element, level.or)).join(', ')}]`, level.element]
    case 'case': {
      const branches = node.branches.map(
        ({ when, result }) => `WHEN ${print(when, level.or)} THEN ${print(result, level.or)}`,
      )
      const hasElse = !(node.otherwise.kind === 'literal' && node.otherwise.value === null)
      if (hasElse) branches.push(`ELSE ${print(node.otherwise, level.or)}`)
      return [`CASE ${branches.join(' ')} END`, level.element]
    }
    case 'call': {
      const [first, second] = node.args
      const { name } = node.callee
      const own = operatorLevels[name]
      if (own !== undefined) return [`${print(first!, own)} ${name} ${print(second!, own + 1)}`, own]
      if (name === '~') return [`~${print(first!, level.sign)}`, level.sign]
      return [`${node.callee.name}(${node.args.map(arg => print(arg, level.or)).join(', ')})`, level.element]
    }
  }
}

/** Print a negation in the usual SQL form, for example `a NOT IN (..)`, `a IS NOT NULL` or `NOT (a OR b)`. */
function writeNot(operand: Bound): readonly [text: string, level: number] {
  const [text, own] = write(operand)
  if (operand.kind === 'is') {
    return [`${print(operand.operand, level.is)} IS NOT ${operand.what.toUpperCase()}`, level.is]
  }
  if (operand.kind === 'in' || operand.kind === 'like' || operand.kind === 'between') {
    const subject = print(operand.operand, level.comparison)
    return [`${subject} NOT${text.slice(subject.length)}`, level.comparison]
  }
  return [own < level.not ? `NOT (${text})` : `NOT ${text}`, level.not]
}

/**
 * Print the side of an operator whose other side is `operand`. If the node is a constant with the type of `operand`, it
 * is printed without a cast, because the binder gives it this type.
 */
function printBeside(node: Bound, operand: Bound, least: number): string {
  const type = valueType(operand.type)
  const takesType = node.kind === 'literal' && operand.kind !== 'literal' && equalTypes(node.type, type)
  return takesType ? printMember(node.value, type) : print(node, least)
}

/**
 * Print a side of an arithmetic operator whose other side is `operand`. Unlike in comparisons, the binder changes only
 * the types of number constants, so other constants are printed with a cast.
 */
function printFactor(node: Bound, operand: Bound, least: number): string {
  const isNumber = node.type.kind === 'int' || equalTypes(node.type, float64)
  return isNumber ? printBeside(node, operand, least) : print(node, least)
}

/**
 * Print a constant without a cast to `type`. The binder gives it this type, because it is compared with a value of this
 * type.
 */
function printMember(value: Scalar, type: DataType): string {
  if (value !== null) {
    switch (type.kind) {
      case 'int':
        return String(value)
      case 'float':
        return printFloat(value as number)
      case 'utf8':
      case 'binary':
      case 'fixed_size_binary':
        return printBytes(value)
      case 'decimal':
        return formatDecimal(value as bigint, type.scale)
      case 'interval':
        return printInterval(value)
      case 'timestamp': {
        const text = type.timezone === null ? null : formatInstant(value as bigint, type)
        if (text !== null) return printText(`${text}Z`)
      }
    }
  }
  return printConstant(value, type)
}

function printLiteral({ value, type, text }: LiteralNode): string {
  return text ?? printConstant(value, type)
}

/** Print a constant so that the binder gives it the type `type` in every context. */
function printConstant(value: Scalar, type: DataType): string {
  // The binder gives an untyped NULL the type of the other side. There are no casts to structs and maps, so print NULL
  // for them.
  if (value === null) return ['null', 'struct', 'map'].includes(type.kind) ? 'NULL' : printCast('NULL', type)
  switch (type.kind) {
    case 'bool':
      return value === true ? 'TRUE' : 'FALSE'
    case 'int': {
      const isNatural =
        equalTypes(type, int64) || (equalTypes(type, uint64) && (value as bigint) >= 1n << 63n)
      return isNatural ? String(value) : printCast(String(value), type)
    }
    case 'float': {
      const text = printFloat(value as number)
      return equalTypes(type, float64) ? text : printCast(text, type)
    }
    case 'utf8':
    case 'binary': {
      const text = printBytes(value)
      return type.large ? printCast(text, type) : text
    }
    case 'fixed_size_binary':
      return printCast(printBytes(value), type)
    case 'decimal':
      return printTyped(formatDecimal(value as bigint, type.scale), type)
    case 'date':
    case 'timestamp': {
      const text = formatInstant(value as bigint, type)
      if (text === null) return printCast(String(value), type)
      return printTyped(type.kind === 'timestamp' && type.timezone !== null ? `${text}Z` : text, type)
    }
    case 'time':
      return printCast(printText(writeTime(value as bigint, type)), type)
    case 'interval':
      return printInterval(value)
    case 'list':
    case 'fixed_size_list': {
      const elements = value as readonly Scalar[]
      const text = `[${elements.map(element => printConstant(element, type.child.type)).join(', ')}]`
      // The elements determine the type of a list, so an empty list needs a cast.
      return type.kind === 'list' && !type.large && elements.length > 0 ? text : printCast(text, type)
    }
    default:
      return printCast(String(value), type)
  }
}

/** Print a constant as the name of its type and a string: `date '2021-01-31'`. */
function printTyped(text: string, type: DataType): string {
  const name = nameOfType(type)
  return name === null ? printCast(printText(text), type) : `${name} ${printText(text)}`
}

function printFloat(value: number): string {
  return Number.isFinite(value) ? writeFloat(value, 64) : `CAST('${writeFloat(value, 64)}' AS double)`
}

function printInterval(value: Scalar): string {
  return `INTERVAL ${printText(formatInterval(value as Interval))}`
}

function printBytes(value: Scalar): string {
  return typeof value === 'string'
    ? printText(value)
    : `X'${Buffer.from(value as Uint8Array).toString('hex')}'`
}

/** Print a cast with the SQL name of the type, or with the Arrow name if SQL has none. */
function printCast(text: string, type: DataType, isTry = false): string {
  const name = nameOfType(type)
  if (name !== null) return `${isTry ? 'TRY_CAST' : 'CAST'}(${text} AS ${name})`
  return `${isTry ? 'arrow_try_cast' : 'arrow_cast'}(${text}, ${printText(formatArrowType(type))})`
}

/** Print a text as a string literal. */
export function printText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

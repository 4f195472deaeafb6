/** Bound expressions as text that parses and binds to the same expression again. */
import { equalTypes } from '../arrow/same-type.js'
import type { DataType } from '../arrow/types.js'
import { assert } from '../errors.js'
import type { Bound, BoundExpression, Scalar } from './bound.js'
import { writeFloat } from './cast.js'
import { isBareName } from './parse.js'
import { level } from './syntax.js'
import { formatInstant, nanosPerUnit } from './temporal.js'
import { float64, int64, nameOfType, valueType } from './types.js'

/** The expression on one line, with the parentheses it needs. */
export function printExpression({ expr }: BoundExpression): string {
  return printBound(expr)
}

export function printBound(node: Bound): string {
  return print(node, level.or)
}

/** `node` where an operator of level `least` or looser would need parentheses. */
function print(node: Bound, least: number): string {
  const [text, own] = write(node)
  return own < least ? `(${text})` : text
}

function write(node: Bound): readonly [text: string, level: number] {
  switch (node.kind) {
    case 'literal':
      return [printConstant(node.value, node.type), level.element]
    case 'column':
      return [node.path.map(printName).join('.'), level.element]
    case 'compare': {
      const left = print(node.left, level.comparison)
      return [`${left} ${node.op} ${printMeeting(node.right, node.left, level.sum)}`, level.comparison]
    }
    case 'between': {
      const bounds = [node.low, node.high].map(bound => printMeeting(bound, node.operand, level.sum))
      return [`${print(node.operand, level.comparison)} BETWEEN ${bounds.join(' AND ')}`, level.comparison]
    }
    case 'in': {
      const members = node.values.map(value => printScalar(value, node.operand.type))
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
      const left = printMeeting(node.left, node.right, own)
      return [`${left} ${node.op} ${printMeeting(node.right, node.left, own + 1)}`, own]
    }
    case 'cast': {
      const call = node.try ? 'TRY_CAST' : 'CAST'
      return [`${call}(${print(node.operand, level.or)} AS ${printType(node.type)})`, level.element]
    }
    case 'element':
      return [`${print(node.operand, level.element)}[${print(node.index, level.or)}]`, level.element]
    case 'call': {
      const [first, second] = node.args
      if (node.name === '||')
        return [`${print(first!, level.sum)} || ${print(second!, level.product)}`, level.sum]
      return [`${node.name}(${node.args.map(arg => print(arg, level.or)).join(', ')})`, level.element]
    }
  }
}

/** NOT where SQL puts it: `a NOT IN (..)`, `a IS NOT NULL`. */
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

/** A constant beside an operand whose type it takes needs no cast of its own. */
function printMeeting(node: Bound, operand: Bound, least: number): string {
  const meets = node.kind === 'literal' && equalTypes(node.type, valueType(operand.type))
  return meets && operand.kind !== 'literal' ? printScalar(node.value, node.type) : print(node, least)
}

function printConstant(value: Scalar, type: DataType): string {
  const text = printScalar(value, type)
  return isNatural(value, type) ? text : `CAST(${text} AS ${printType(type)})`
}

/** Whether the text of the constant alone says its type. */
function isNatural(value: Scalar, type: DataType): boolean {
  if (value === null) return type.kind === 'null'
  switch (type.kind) {
    case 'int':
      return equalTypes(type, int64) || (type.bits === 64 && (value as bigint) >= 1n << 63n)
    case 'float':
      return equalTypes(type, float64)
    case 'date':
      return type.unit === 'day'
    case 'timestamp':
      return type.timezone === null
    default:
      return true
  }
}

/** A constant whose type follows from where it stands. */
function printScalar(value: Scalar, declared: DataType): string {
  const type = valueType(declared)
  if (value === null) return 'NULL'
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
  if (typeof value === 'string') return printText(value)
  if (typeof value === 'number') {
    return Number.isFinite(value) ? writeFloat(value, 64) : `CAST('${writeFloat(value, 64)}' AS double)`
  }
  if (typeof value === 'bigint')
    return nanosPerUnit(type) === null ? String(value) : printInstant(value, type)
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString('hex')}'`
  const element = type.kind === 'list' ? type.child.type : type
  return `[${value.map(member => printConstant(member, element)).join(', ')}]`
}

function printInstant(value: bigint, type: DataType): string {
  const digits = type.kind === 'timestamp' ? { s: 0, ms: 3, us: 6, ns: 9 }[type.unit] : 3
  const name = type.kind === 'date' && type.unit === 'day' ? 'date' : `timestamp(${digits})`
  const iso = formatInstant(value, type)
  return iso === null ? `CAST(${value} AS ${name})` : `${name} ${printText(iso)}`
}

function printType(type: DataType): string {
  const name = nameOfType(type)
  assert(name !== null, `a cast to ${type.kind} has a name`)
  return name
}

function printName(name: string): string {
  return isBareName(name) ? name : `\`${name.replaceAll('`', '``')}\``
}

function printText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

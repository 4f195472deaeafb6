/**
 * A second opinion on expressions: walks the syntax tree for one row at a time, in JavaScript's own exact
 * arithmetic, with none of the engine's binding, buffers or bitmaps.
 */
import type { DataType, Field, Schema } from '../../src/arrow/types.js'
import type { Expr } from '../../src/sql/syntax/syntax.js'

/** A point in time, nanoseconds since 1970. */
export interface Instant {
  readonly nanos: bigint
}

/** `digits` divided by ten to the `scale`. */
export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

/** The same number with the smallest scale it has. */
export function normalDecimal({ digits, scale }: Decimal): Decimal {
  if (scale === 0 || digits % 10n !== 0n) return { digits, scale }
  return normalDecimal({ digits: digits / 10n, scale: scale - 1 })
}

/** A span of the calendar, only ever a constant. */
interface Span {
  readonly months: bigint
  readonly nanos: bigint
}

/** Integers are bigint, floats number, texts string. */
export type Value =
  | null
  | Decimal
  | Span
  | boolean
  | bigint
  | number
  | string
  | Instant
  | readonly Value[]
  | { [name: string]: Value }

export type Row = Readonly<Record<string, Value>>

/** Thrown where the value of a row is an error: an overflow, a division by zero, an impossible cast. */
export class Fault extends Error {}

/** A fault that evaluating in another order would not have met. */
export class PossibleFault extends Fault {}

const least = -(2n ** 63n)
const greatest = 2n ** 63n - 1n

export class Oracle {
  readonly #schema: Schema

  constructor(schema: Schema) {
    this.#schema = schema
  }

  /** TRUE, FALSE or null. */
  test(expr: Expr, row: Row): boolean | null {
    return this.value(expr, row) as boolean | null
  }

  value(expr: Expr, row: Row): Value {
    switch (expr.kind) {
      case 'literal':
        return expr.value as Value
      case 'decimal':
        return Number(expr.text)
      case 'column': {
        let value: Value = row as { [name: string]: Value }
        for (const { name } of expr.path) {
          value = value === null ? null : (value as { [name: string]: Value })[name]!
        }
        return value
      }
      case 'not': {
        const operand = this.test(expr.operand, row)
        return operand === null ? null : !operand
      }
      case 'and':
      case 'or':
        return this.#logic(
          expr.kind,
          expr.operands.map(operand => () => this.test(operand, row)),
        )
      case 'is': {
        const isAsked = expr.what === 'null' || expr.what === 'unknown'
        const operand = isAsked ? this.#subject(expr.operand, row) : this.value(expr.operand, row)
        const isSo = isAsked ? operand === null : operand === (expr.what === 'true')
        return isSo !== expr.negated
      }
      case 'distinct': {
        const [left, right] = this.#pair(expr.left, expr.right, row)
        const isEqual =
          left === null || right === null
            ? left === right
            : this.#compared('=', expr.left, expr.right, row) === true
        return isEqual === expr.negated
      }
      case 'case':
        return this.#case(expr, row)
      case 'interval':
        return spanOf(`${expr.text} ${expr.unit}`.trim())
      case 'negate': {
        const operand = this.value(expr.operand, row)
        if (operand === null) return null
        if (isDecimal(operand)) return { ...operand, digits: -operand.digits }
        if (expr.operand.kind === 'literal') return -(operand as bigint)
        return typeof operand === 'bigint' ? -inRange(operand, -greatest, greatest) : -(operand as number)
      }
      case 'binary':
        return this.#binary(expr, row)
      case 'between': {
        const bounds = [
          () => this.#compared('>=', expr.operand, expr.low, row),
          () => this.#compared('<=', expr.operand, expr.high, row),
        ]
        return negatedIf(expr.negated, this.#logic('and', bounds))
      }
      case 'in': {
        const members = (expr.list as readonly Expr[]).map(
          member => () => this.#compared('=', expr.operand, member, row),
        )
        try {
          return negatedIf(expr.negated, this.#logic('or', members))
        } catch (error) {
          // Beside a NULL, members that no value of the operand equals do not need that value.
          const hasNull = (expr.list as readonly Expr[]).some(isNullLiteral)
          throw error instanceof Fault && hasNull ? new PossibleFault() : error
        }
      }
      case 'like': {
        const text = this.value(expr.operand, row) as string | null
        const pattern = this.value(expr.pattern, row) as string | null
        if (text === null || pattern === null) return null
        const escapeCharacter = expr.escape === null ? '\\' : String(this.value(expr.escape, row))
        const [subject, wanted] = expr.ignoreCase
          ? [text.toLowerCase(), pattern.toLowerCase()]
          : [text, pattern]
        return negatedIf(expr.negated, isLike([...subject], tokensOf(wanted, escapeCharacter)))
      }
      case 'cast':
        return this.#cast(expr, row)
      case 'call':
        return this.#call(expr, row)
      case 'array':
        return expr.elements.map(element => this.value(element, row))
      case 'element': {
        const list = this.value(expr.operand, row) as readonly Value[] | null
        const index = this.value(expr.index, row) as bigint | null
        if (typeof index === 'string') return (list as unknown as { [name: string]: Value })[index]!
        return list === null || index === null || index < 1n ? null : (list[Number(index) - 1] ?? null)
      }
      default:
        throw new Error(`the oracle knows no ${expr.kind}`)
    }
  }

  /** What IS NULL is asked of: the engine may know that it is not null before it computes it. */
  #subject(expr: Expr, row: Row): Value {
    try {
      return this.value(expr, row)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      throw ['is', 'distinct', 'not', 'array'].includes(expr.kind) ? new PossibleFault() : error
    }
  }

  #case(expr: Expr & { kind: 'case' }, row: Row): Value {
    const { operand, branches, otherwise } = expr
    for (const { when, result } of branches) {
      const holds = operand === null ? this.test(when, row) : this.#compared('=', operand, when, row)
      if (holds === true) return this.value(result, row)
    }
    return otherwise === null ? null : this.value(otherwise, row)
  }

  /** An operand that decides hides the fault of another, or does not: the order is the engine's choice. */
  #logic(kind: 'and' | 'or', operands: readonly (() => boolean | null)[]): boolean | null {
    const deciding = kind === 'or'
    let result: boolean | null = !deciding
    let fault: Fault | null = null
    for (const operand of operands) {
      try {
        const value = operand()
        if (value === deciding) result = deciding
        else if (value === null && result !== deciding) result = null
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        fault ??= error
      }
    }
    if (fault === null) return result
    throw result === deciding ? new PossibleFault() : fault
  }

  /** Both sides. The engine may see that one is NULL before it computes the other. */
  #pair(leftExpr: Expr, rightExpr: Expr, row: Row): [Value, Value] {
    const sides = [leftExpr, rightExpr].map(side => {
      try {
        return this.value(side, row)
      } catch (error) {
        if (error instanceof Fault) return error
        throw error
      }
    })
    const fault = sides.find(side => side instanceof Fault)
    if (fault === undefined) return sides as [Value, Value]
    throw sides.includes(null) ? new PossibleFault() : fault
  }

  /** Whether the expression is a float that depends on the row; arithmetic of numbers beside it is done in floats. */
  #isFloatOfRow(expr: Expr, row: Row): boolean {
    if (isConstant(expr)) return false
    try {
      return typeof this.value(expr, row) === 'number'
    } catch (error) {
      if (error instanceof Fault) return false
      throw error
    }
  }

  #binary(expr: Expr & { kind: 'binary' }, row: Row): Value {
    const { op } = expr
    if (op === '=' || op === '<>' || op === '<' || op === '<=' || op === '>' || op === '>=') {
      const left = this.#isFloatOfRow(expr.right, row) ? (inFloats(expr.left) ?? expr.left) : expr.left
      const right = this.#isFloatOfRow(expr.left, row) ? (inFloats(expr.right) ?? expr.right) : expr.right
      return this.#compared(op, left, right, row)
    }
    const [left, right] = this.#pair(expr.left, expr.right, row)
    const isUnsigned = this.#sign(expr) === 'unsigned'
    if (left === null || right === null) {
      // The engine brings both sides to int64 before it looks for nulls.
      const other = left ?? right
      if (typeof other === 'bigint' && !isUnsigned && other > greatest) throw new PossibleFault()
      return null
    }
    if (op === '||') return `${left}${right}`
    if (isSpan(right)) return moved(left as Instant, right, op === '-' ? -1n : 1n, this.#isDate(expr.left))
    if (isDecimal(left) || isDecimal(right)) {
      return decimalArithmetic(op, asDecimal(left, expr.left), asDecimal(right, expr.right))
    }
    if (typeof left === 'number' || typeof right === 'number') {
      return floatArithmetic(op, Number(left), Number(right))
    }
    if (!isUnsigned) {
      inRange(left as bigint, least, greatest)
      inRange(right as bigint, least, greatest)
    }
    const result = integerArithmetic(op, left as bigint, right as bigint)
    return isUnsigned ? inRange(result, 0n, 2n ** 64n - 1n) : inRange(result, least, greatest)
  }

  /** Whether the engine holds an integer expression as uint64; a constant that is not negative fits either way. */
  #sign(expr: Expr): 'signed' | 'unsigned' | 'either' {
    if (isConstant(expr)) {
      try {
        return (this.value(expr, {}) as bigint) >= 0n ? 'either' : 'signed'
      } catch {
        return 'signed'
      }
    }
    if (expr.kind === 'column') {
      const type = this.#typeOf(expr.path.map(part => part.name))
      return type?.kind === 'int' && type.bits === 64 && !type.signed ? 'unsigned' : 'signed'
    }
    if (expr.kind === 'call' && expr.name === 'abs') return this.#sign(expr.args[0]!)
    if (expr.kind !== 'binary') return 'signed'
    const sides = [this.#sign(expr.left), this.#sign(expr.right)]
    return sides.includes('unsigned') && !sides.includes('signed') ? 'unsigned' : 'signed'
  }

  #isDate(expr: Expr): boolean {
    return expr.kind === 'column' && this.#typeOf(expr.path.map(part => part.name))?.kind === 'date'
  }

  #typeOf(path: readonly string[]): DataType | undefined {
    let fields: readonly Field[] = this.#schema.fields
    let type: DataType | undefined
    for (const name of path) {
      type = fields.find(field => field.name === name)?.type
      fields = type?.kind === 'struct' ? type.children : []
    }
    return type
  }

  #compared(op: string, leftExpr: Expr, rightExpr: Expr, row: Row): boolean | null {
    const [left, right] = this.#pair(leftExpr, rightExpr, row)
    if (left === null || right === null) return null
    const order = orderOf(
      exactly(rightExpr, right, leftExpr, this.#atPrecisionOf(rightExpr, leftExpr, left)),
      exactly(leftExpr, left, rightExpr, this.#atPrecisionOf(leftExpr, rightExpr, right)),
    )
    switch (op) {
      case '=':
        return order === 0
      case '<>':
        return order !== 0
      case '<':
        return order < 0
      case '<=':
        return order <= 0
      case '>':
        return order > 0
      default:
        return order >= 0
    }
  }

  /** A decimal constant is read at the precision of the float column it meets. */
  #atPrecisionOf(other: Expr, expr: Expr, value: Value): Value {
    if (typeof value !== 'number' || !isConstant(expr) || other.kind !== 'column') return value
    const type = this.#typeOf(other.path.map(part => part.name))
    if (type?.kind !== 'float' || type.bits !== 32) return value
    const rounded = Math.fround(value)
    return Number.isFinite(rounded) ? rounded : value
  }

  #cast(expr: Expr & { kind: 'cast' }, row: Row): Value {
    const value = this.value(expr.operand, row)
    if (value === null) return null
    switch (expr.type.name) {
      case 'double':
        return Number(value)
      case 'string':
        return String(value)
      case 'decimal':
        return asDecimal(Number(value), { ...expr, kind: 'decimal', text: value as string })
      case 'date':
      case 'timestamp':
        return { nanos: instantOf(value) }
      case 'int': {
        const fits = typeof value === 'string' ? /^[+-]?\d+$/.test(value) : Number.isInteger(Number(value))
        const number = fits ? BigInt(value as string) : 2n ** 40n
        if (number >= -(2n ** 31n) && number < 2n ** 31n) return number
        if (expr.try) return null
        throw new Fault()
      }
      default:
        throw new Error(`the oracle casts to no ${expr.type.name}`)
    }
  }

  #call({ name, args }: Expr & { kind: 'call' }, row: Row): Value {
    if (name === 'coalesce') {
      for (const arg of args) {
        const value = this.value(arg, row)
        if (value !== null) return value
      }
      return null
    }
    if (name === 'struct') return Object.fromEntries(args.map((arg, i) => [`c${i}`, this.value(arg, row)]))
    if (name === 'greatest' || name === 'least') {
      const present = args.map(arg => this.value(arg, row)).filter(value => value !== null)
      const sorted = present.sort(orderOf)
      return sorted.at(name === 'greatest' ? -1 : 0) ?? null
    }
    const values = args.map(arg => this.value(arg, row))
    const [first, second] = values as [Value, Value]
    if (name === 'nullif')
      return first !== null && second !== null && orderOf(first, second) === 0 ? null : first
    if (values.includes(null)) return null
    const [text, part] = [first as string, second as string]
    switch (name) {
      case 'lower':
        return text.toLowerCase()
      case 'upper':
        return text.toUpperCase()
      case 'length':
        return BigInt([...text].length)
      case 'starts_with':
        return text.startsWith(part)
      case 'ends_with':
        return text.endsWith(part)
      case 'contains':
        return text.includes(part)
      case 'octet_length':
        return BigInt(Buffer.byteLength(text))
      case 'strpos': {
        const at = text.indexOf(part)
        return at === -1 ? 0n : BigInt([...text.slice(0, at)].length + 1)
      }
      case 'reverse':
        return [...text].reverse().join('')
      case 'replace':
        return text.replaceAll(part, () => values[2] as string)
      case 'date_part': {
        const date = new Date(Number(floorTo((second as Instant).nanos, 1_000_000n) / 1_000_000n))
        const parts = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
        return BigInt(parts[text as keyof typeof parts])
      }
      case 'date_trunc':
        return truncated(text, second as Instant)
      case 'abs':
        if (isDecimal(first)) return first.digits < 0n ? { ...first, digits: -first.digits } : first
        // Narrow integers stay narrow, and their least has no absolute value there.
        if (first === -(2n ** 31n)) throw new PossibleFault()
        if (typeof first !== 'bigint') return Math.abs(first as number)
        return first < 0n ? inRange(-first, least, greatest) : first
      case 'floor':
        return typeof first === 'bigint' ? first : Math.floor(first as number)
      case 'ceil':
        return typeof first === 'bigint' ? first : Math.ceil(first as number)
      case 'array_has':
        return (first as readonly Value[]).some(element => element === second)
      case 'array_has_any':
        return (second as readonly Value[]).some(
          wanted => wanted !== null && (first as readonly Value[]).includes(wanted),
        )
      case 'array_has_all':
        return (second as readonly Value[]).every(
          wanted => wanted !== null && (first as readonly Value[]).includes(wanted),
        )
      case 'array_length':
        return BigInt((first as readonly Value[]).length)
      default:
        throw new Error(`the oracle knows no function ${name}`)
    }
  }
}

export function isConstant(expr: Expr): boolean {
  switch (expr.kind) {
    case 'literal':
    case 'decimal':
      return true
    case 'negate':
    case 'cast':
      return isConstant(expr.operand)
    case 'binary':
      return isConstant(expr.left) && isConstant(expr.right)
    case 'call':
      return expr.args.every(isConstant)
    case 'array':
      return expr.elements.every(isConstant)
    case 'element':
      return isConstant(expr.operand) && isConstant(expr.index)
    default:
      return false
  }
}

function isDecimal(value: Value): value is Decimal {
  return typeof value === 'object' && value !== null && 'scale' in value
}

function isSpan(value: Value): value is Span {
  return typeof value === 'object' && value !== null && 'months' in value
}

/** A number written with a point, as its digits say it; a bigint is one of scale 0. */
function asDecimal(value: Value, expr: Expr): Decimal {
  if (isDecimal(value)) return value
  if (typeof value === 'bigint') return { digits: value, scale: 0 }
  const text =
    expr.kind === 'decimal'
      ? expr.text
      : expr.kind === 'negate'
        ? `-${(expr.operand as { text: string }).text}`
        : String(value)
  const [, sign, whole = '', fraction = '', exponent = '0'] = /^(-?)(\d*)(?:\.(\d*))?(?:e(-?\d+))?$/i.exec(
    text,
  )!
  const digits = BigInt(`${sign}${whole}${fraction}`)
  const scale = fraction.length - Number(exponent)
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale }
}

/** A decimal constant that meets a decimal is compared with all its digits. */
function exactly(otherExpr: Expr, other: Value, expr: Expr, value: Value): Value {
  if (!isDecimal(other) || typeof value !== 'number' || otherExpr === expr) return value
  return asDecimal(value, expr)
}

function decimalArithmetic(op: string, a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  const [x, y] = [a, b].map(side => side.digits * 10n ** BigInt(scale - side.scale)) as [bigint, bigint]
  if ((op === '/' || op === '%') && y === 0n) throw new Fault()
  const result = {
    '+': { digits: x + y, scale },
    '-': { digits: x - y, scale },
    '*': { digits: a.digits * b.digits, scale: a.scale + b.scale },
    '/': { digits: y === 0n ? 0n : (x * 10n ** BigInt(a.scale + 4)) / y, scale: a.scale + 4 },
    '%': { digits: y === 0n ? 0n : x % y, scale },
  }[op]!
  inRange(result.digits, -(10n ** 38n) + 1n, 10n ** 38n - 1n)
  return result
}

const nanosPerHour = 3_600_000_000_000n

/** `-13 month`, `2 days`, `5 hours`. */
function spanOf(text: string): Span {
  const [, count, unit] = /^(-?\d+) (month|day|hour)s?$/.exec(text)!
  if (unit === 'month') return { months: BigInt(count!), nanos: 0n }
  return { months: 0n, nanos: BigInt(count!) * nanosPerHour * (unit === 'day' ? 24n : 1n) }
}

function floorTo(value: bigint, unit: bigint): bigint {
  const rest = value % unit
  return rest < 0n ? value - rest - unit : value - rest
}

function moved({ nanos }: Instant, span: Span, direction: bigint, isDate: boolean): Instant {
  const day = nanosPerHour * 24n
  const midnight = floorTo(nanos, day)
  const date = new Date(Number(midnight / 1_000_000n))
  const months = date.getUTCMonth() + Number(direction * span.months)
  const last = new Date(Date.UTC(date.getUTCFullYear(), months + 1, 0)).getUTCDate()
  const target = Date.UTC(date.getUTCFullYear(), months, Math.min(date.getUTCDate(), last))
  const result = BigInt(target) * 1_000_000n + (nanos - midnight) + direction * span.nanos
  return { nanos: isDate ? floorTo(result, day) : result }
}

function truncated(unit: string, { nanos }: Instant): Instant {
  if (unit === 'hour' || unit === 'day')
    return { nanos: floorTo(nanos, nanosPerHour * (unit === 'day' ? 24n : 1n)) }
  const date = new Date(Number(floorTo(nanos, 1_000_000n) / 1_000_000n))
  const first = Date.UTC(date.getUTCFullYear(), unit === 'month' ? date.getUTCMonth() : 0, 1)
  return { nanos: BigInt(first) * 1_000_000n }
}

function inRange(value: bigint, low: bigint, high: bigint): bigint {
  if (value < low || value > high) throw new Fault()
  return value
}

function floatArithmetic(op: string, a: number, b: number): number {
  return op === '+' ? a + b : op === '-' ? a - b : op === '*' ? a * b : op === '/' ? a / b : a % b
}

function integerArithmetic(op: string, a: bigint, b: bigint): bigint {
  if ((op === '/' || op === '%') && b === 0n) throw new Fault()
  return op === '+' ? a + b : op === '-' ? a - b : op === '*' ? a * b : op === '/' ? a / b : a % b
}

function negatedIf(isNegated: boolean, value: boolean | null): boolean | null {
  return value === null || !isNegated ? value : !value
}

/** NaN equals itself and is greater than every number; texts order by code point. */
function orderOf(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  if (isInstant(a) || isInstant(b)) return sign(instantOf(a), instantOf(b))
  if (isDecimal(a) || isDecimal(b)) return orderOfDecimals(a, b)
  return sign(a as number, b as number)
}

/** Beside a float a decimal is the nearest float. */
function orderOfDecimals(a: Value, b: Value): number {
  const [x, y] = [a, b].map(side => (typeof side === 'bigint' ? { digits: side, scale: 0 } : side))
  if (isDecimal(x!) && isDecimal(y!)) {
    const scale = Math.max(x.scale, y.scale)
    const [m, n] = [x, y].map(side => side.digits * 10n ** BigInt(scale - side.scale)) as [bigint, bigint]
    return sign(m, n)
  }
  const [m, n] = [x!, y!].map(side =>
    isDecimal(side) ? Number(`${side.digits}e${-side.scale}`) : (side as number),
  )
  return sign(m!, n!)
}

function sign<T extends number | bigint | boolean>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function isInstant(value: Value): value is Instant {
  return typeof value === 'object' && value !== null && 'nanos' in value
}

function instantOf(value: Value): bigint {
  if (isInstant(value)) return value.nanos
  const [, seconds, fraction = '', offset] = /^([^.]*?)(?:\.(\d+))?(Z?)$/.exec(value as string)!
  const zone = seconds!.length > 10 && offset === '' ? 'Z' : offset
  return BigInt(Date.parse(`${seconds}${zone}`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}

type Token = { readonly any: 'one' | 'many' } | { readonly character: string }

function tokensOf(pattern: string, escapeCharacter: string): Token[] {
  const tokens: Token[] = []
  const characters = [...pattern]
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i]!
    if (character === escapeCharacter && i + 1 < characters.length)
      tokens.push({ character: characters[++i]! })
    else if (character === escapeCharacter) tokens.push({ character })
    else if (character === '%') tokens.push({ any: 'many' })
    else if (character === '_') tokens.push({ any: 'one' })
    else tokens.push({ character })
  }
  return tokens
}

/** By table: row t, column k says whether the first t tokens match the first k characters. */
function isLike(text: readonly string[], tokens: readonly Token[]): boolean {
  let reach = [true, ...text.map(() => false)]
  for (const token of tokens) {
    const next = reach.map(() => false)
    for (let k = 0; k <= text.length; k++) {
      if ('any' in token && token.any === 'many') next[k] = reach[k]! || (k > 0 && next[k - 1]!)
      else if (k > 0 && reach[k - 1]!) next[k] = 'any' in token || token.character === text[k - 1]
    }
    reach = next
  }
  return reach[text.length]!
}

function isNullLiteral(expr: Expr): boolean {
  return expr.kind === 'literal' && expr.value === null
}

/** Arithmetic of nothing but number literals, each as a float; null for anything else, and for a number alone. */
function inFloats(expr: Expr): Expr | null {
  const isArithmetic = expr.kind === 'binary' || (expr.kind === 'negate' && expr.operand.kind !== 'literal')
  return isArithmetic ? asFloats(expr) : null
}

function asFloats(expr: Expr): Expr | null {
  if (expr.kind === 'decimal') return expr
  if (expr.kind === 'literal') {
    return typeof expr.value === 'bigint' ? { kind: 'decimal', text: String(expr.value), at: expr.at } : null
  }
  if (expr.kind === 'negate') {
    const operand = asFloats(expr.operand)
    return operand === null ? null : { ...expr, operand }
  }
  if (expr.kind !== 'binary') return null
  const [left, right] = [asFloats(expr.left), asFloats(expr.right)]
  return left === null || right === null ? null : { ...expr, left, right }
}

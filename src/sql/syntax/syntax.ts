/**
 * Defines the expression tree that the parser returns. Names are not resolved, types are unknown, and every node has
 * its position in the text.
 *
 * - Nodes are plain data and never change after parsing, so a tree may be cached and bound to many schemas.
 * - A chain of ANDs or of ORs is one node with all operands, so a chain of any length has depth 1.
 * - No node is deeper than `maxDepth`, so code that walks a tree may be recursive.
 */
import type { SourceSpan } from '../../errors.js'

/** Maximum depth of an expression tree. A chain of binary operators such as `+` has one level per operator. */
export const maxDepth = 200

/**
 * Precedence levels of operators. An operator with a higher level binds more tightly. LIKE, IN and BETWEEN are
 * comparisons.
 */
export const level = {
  or: 1,
  and: 2,
  not: 3,
  is: 4,
  comparison: 5,
  bitOr: 6,
  bitXor: 7,
  bitAnd: 8,
  sum: 9,
  product: 10,
  zone: 11,
  sign: 12,
  cast: 13,
  element: 14,
} as const

export type CompareOp = '=' | '<>' | '<' | '<=' | '>' | '>='
export type ArithmeticOp = '+' | '-' | '*' | '/' | '%'

/** One name of a column path. `quote`: the quote character, '' for a name without quotes. */
export interface NamePart {
  readonly name: string
  readonly quote: '' | '`' | '"'
  readonly at: SourceSpan
}

/**
 * A type name, not resolved. For example, `timestamp(3)` has the name `timestamp` and the arguments `[3]`. Names are in
 * lower case.
 */
export interface TypeName {
  readonly name: string
  readonly args: readonly number[]
  readonly at: SourceSpan
}

interface Node {
  readonly at: SourceSpan
}

/**
 * A constant. Integers are bigints. Decimal numbers, and integers with more than 76 digits, are `DecimalExpr` nodes.
 */
interface LiteralExpr extends Node {
  readonly kind: 'literal'
  readonly value: null | boolean | bigint | string | Uint8Array
}

/** A decimal number as text, so that no digit is lost. */
interface DecimalExpr extends Node {
  readonly kind: 'decimal'
  readonly text: string
}

export interface ColumnExpr extends Node {
  readonly kind: 'column'
  readonly path: readonly NamePart[]
}

/**
 * A parameter. The key of `?` is its number in order of appearance, from 0. The key of `$1` is 0. The key of `:name` is
 * the name.
 */
export interface ParameterExpr extends Node {
  readonly kind: 'parameter'
  readonly style: '?' | '$' | ':'
  readonly key: number | string
}

interface UnaryExpr extends Node {
  readonly kind: 'not' | 'negate'
  readonly operand: Expr
}

export interface BinaryExpr extends Node {
  readonly kind: 'binary'
  readonly op: CompareOp | ArithmeticOp | '||'
  readonly left: Expr
  readonly right: Expr
}

export interface LogicExpr extends Node {
  readonly kind: 'and' | 'or'
  readonly operands: readonly Expr[]
}

/** A long list of constants of one type: int64, uint64, double or string. It may have duplicates. */
export interface ConstantList extends Node {
  readonly kind: 'constants'
  readonly values: BigInt64Array | BigUint64Array | Float64Array | readonly string[]
}

/** `operand IN list`. `list`: the elements, or the parameter with the elements (`IN ?`). */
export interface InExpr extends Node {
  readonly kind: 'in'
  readonly negated: boolean
  readonly operand: Expr
  readonly list: readonly Expr[] | ConstantList | ParameterExpr
}

interface BetweenExpr extends Node {
  readonly kind: 'between'
  readonly negated: boolean
  readonly operand: Expr
  readonly low: Expr
  readonly high: Expr
}

export interface LikeExpr extends Node {
  readonly kind: 'like'
  readonly negated: boolean
  readonly ignoreCase: boolean
  readonly operand: Expr
  readonly pattern: Expr
  readonly escape: Expr | null
}

/** `operand IS NULL`, `IS TRUE`, and so on. `IS UNKNOWN` means IS NULL, but its operand must be a condition. */
export interface IsExpr extends Node {
  readonly kind: 'is'
  readonly negated: boolean
  readonly operand: Expr
  readonly what: 'null' | 'true' | 'false' | 'unknown'
}

/**
 * `left IS [NOT] DISTINCT FROM right`: whether the values differ. Two NULLs do not differ. The result is never NULL.
 */
export interface DistinctExpr extends Node {
  readonly kind: 'distinct'
  readonly negated: boolean
  readonly left: Expr
  readonly right: Expr
}

/** A CASE expression. `operand`: the value that is compared with each `when`; null: each `when` is a condition. */
export interface CaseExpr extends Node {
  readonly kind: 'case'
  readonly operand: Expr | null
  readonly branches: readonly { readonly when: Expr; readonly result: Expr }[]
  readonly otherwise: Expr | null
}

/**
 * An interval. `unit`: the word after the text in lower case, `day` in `INTERVAL '1' DAY`. It is '' if no word follows,
 * as in `INTERVAL '1 day'`.
 */
export interface IntervalExpr extends Node {
  readonly kind: 'interval'
  readonly text: string
  readonly unit: string
}

/** A cast. Typed literals such as `date '..'` and `timestamp(3) '..'` are casts of the string too. */
interface CastExpr extends Node {
  readonly kind: 'cast'
  /** Whether the cast is a TRY_CAST, whose result is NULL instead of an error. */
  readonly try: boolean
  readonly operand: Expr
  readonly type: TypeName
}

/**
 * A call of a function. Functions with their own SQL syntax become calls as well:
 *
 * - `EXTRACT(year FROM x)` is `date_part('year', x)`
 * - `TRIM(LEADING 'x' FROM s)` is `ltrim(s, 'x')`
 * - `SUBSTRING(s FROM 2 FOR 3)` is `substr(s, 2, 3)`
 * - `POSITION(a IN s)` is `strpos(s, a)`
 * - `s ~ p` is `regexp_like(s, p)`
 * - `a & b` is a call of the function named `&`; the other bit operators are calls too
 * - `a @> b` is `array_has_all(a, b)`
 * - `l[1:2]` is `array_slice(l, 1, 2)`
 * - `t AT TIME ZONE z` is `timezone(z, t)`
 */
export interface CallExpr extends Node {
  readonly kind: 'call'
  readonly name: string
  readonly args: readonly Expr[]
  /** 'distinct': an aggregate such as `sum(DISTINCT x)`. 'star': `count(*)`, which has no arguments. Null: neither. */
  readonly modifier: 'distinct' | 'star' | null
  /** The condition of `FILTER (WHERE ..)` after an aggregate. Null: no FILTER. */
  readonly filter: Expr | null
}

interface ArrayExpr extends Node {
  readonly kind: 'array'
  readonly elements: readonly Expr[]
}

/** `operand[index]`: an element of a list, counted from 1, or a field of a struct by name. */
interface ElementExpr extends Node {
  readonly kind: 'element'
  readonly operand: Expr
  readonly index: Expr
}

export type Expr =
  | LiteralExpr
  | DecimalExpr
  | ColumnExpr
  | ParameterExpr
  | UnaryExpr
  | BinaryExpr
  | LogicExpr
  | InExpr
  | BetweenExpr
  | LikeExpr
  | IsExpr
  | CastExpr
  | CallExpr
  | ArrayExpr
  | ElementExpr
  | DistinctExpr
  | CaseExpr
  | IntervalExpr

/**
 * The expression tree as it was written: names unresolved, types unknown, every node with its place in the text.
 *
 * - Plain data, never changed once parsed, so a tree may be kept and bound to many schemas.
 * - AND and OR hold all their operands in one node: a chain of any length has depth 1.
 * - No node is deeper than `maxDepth`, so everything that walks a tree may recurse.
 */
import type { SourceSpan } from '../../errors.js'

/** Levels of nesting an expression may have; a chain of binary operators counts one per operator. */
export const maxDepth = 200

/** How tightly operators bind, loosest first; LIKE, IN and BETWEEN are comparisons. */
export const level = {
  or: 1,
  and: 2,
  not: 3,
  is: 4,
  comparison: 5,
  sum: 6,
  product: 7,
  sign: 8,
  cast: 9,
  element: 10,
} as const

export type CompareOp = '=' | '<>' | '<' | '<=' | '>' | '>='
export type ArithmeticOp = '+' | '-' | '*' | '/' | '%'

/** One segment of a column path. `quote` is the character that enclosed it, '' for a bare name. */
export interface NamePart {
  readonly name: string
  readonly quote: '' | '`' | '"'
  readonly at: SourceSpan
}

/** A type as written: `timestamp(3)` is name `timestamp`, arguments `[3]`; words are in lower case. */
export interface TypeName {
  readonly name: string
  readonly args: readonly number[]
  readonly at: SourceSpan
}

interface Node {
  readonly at: SourceSpan
}

/** An integer literal is a bigint of any size; a decimal keeps its text, so that no digit is lost here. */
export interface LiteralExpr extends Node {
  readonly kind: 'literal'
  readonly value: null | boolean | bigint | string | Uint8Array
}

export interface DecimalExpr extends Node {
  readonly kind: 'decimal'
  readonly text: string
}

export interface ColumnExpr extends Node {
  readonly kind: 'column'
  readonly path: readonly NamePart[]
}

/** `?` counts from 0 in order of appearance, `$1` is index 0, `:name` is a name. */
export interface ParameterExpr extends Node {
  readonly kind: 'parameter'
  readonly style: '?' | '$' | ':'
  readonly key: number | string
}

export interface UnaryExpr extends Node {
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

/**
 * Many constants of one kind without a node for each, as a long list has them: whole numbers, all within int64 or all
 * within uint64, doubles, or texts. The same value may stand in it several times.
 */
export interface ConstantList extends Node {
  readonly kind: 'constants'
  readonly values: BigInt64Array | BigUint64Array | Float64Array | readonly string[]
}

/** `list` is the elements as written, or the one parameter that holds them (`IN ?`). */
export interface InExpr extends Node {
  readonly kind: 'in'
  readonly negated: boolean
  readonly operand: Expr
  readonly list: readonly Expr[] | ConstantList | ParameterExpr
}

export interface BetweenExpr extends Node {
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

/** `unknown` is `null` asked of a condition. */
export interface IsExpr extends Node {
  readonly kind: 'is'
  readonly negated: boolean
  readonly operand: Expr
  readonly what: 'null' | 'true' | 'false' | 'unknown'
}

/** `left IS [NOT] DISTINCT FROM right`: whether they differ, where two NULLs are equal; never NULL itself. */
export interface DistinctExpr extends Node {
  readonly kind: 'distinct'
  readonly negated: boolean
  readonly left: Expr
  readonly right: Expr
}

/** `operand`: what every `when` is compared with; null where they are conditions. */
export interface CaseExpr extends Node {
  readonly kind: 'case'
  readonly operand: Expr | null
  readonly branches: readonly { readonly when: Expr; readonly result: Expr }[]
  readonly otherwise: Expr | null
}

/** `INTERVAL '1' DAY`: `unit` is the word after the text in lower case, '' without one (`INTERVAL '1 day'`). */
export interface IntervalExpr extends Node {
  readonly kind: 'interval'
  readonly text: string
  readonly unit: string
}

/** Also `date '..'`, `timestamp(3) '..'`: a cast of the string. */
export interface CastExpr extends Node {
  readonly kind: 'cast'
  /** TRY_CAST: null instead of an error. */
  readonly try: boolean
  readonly operand: Expr
  readonly type: TypeName
}

/**
 * What has a syntax of its own in SQL is a call as well: `EXTRACT(year FROM x)` is `date_part('year', x)`,
 * `TRIM(LEADING 'x' FROM s)` is `ltrim(s, 'x')`, `SUBSTRING(s FROM 2 FOR 3)` is `substr(s, 2, 3)`, `POSITION(a IN s)` is
 * `strpos(s, a)`, `s ~ p` is `regexp_like(s, p)`.
 */
export interface CallExpr extends Node {
  readonly kind: 'call'
  readonly name: string
  readonly args: readonly Expr[]
  /** What only aggregates take: `sum(DISTINCT x)`, or `count(*)`, which has no arguments. */
  readonly modifier: 'distinct' | 'star' | null
}

export interface ArrayExpr extends Node {
  readonly kind: 'array'
  readonly elements: readonly Expr[]
}

/** `operand[index]`: a list element counted from 1, or a struct field by name. */
export interface ElementExpr extends Node {
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

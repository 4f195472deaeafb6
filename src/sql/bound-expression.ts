/** Defines the result of binding. Queries without expressions need it too, so it is not in `bound.ts`. */
import type { DataType } from '../arrow/types.js'
import type { Bound } from './bound.js'
import type { Chance } from './functions/call.js'

/** The result of binding an expression. */
export class BoundExpression {
  readonly expr: Bound
  /** Top-level columns that the expression reads, in order of first use. */
  readonly columns: readonly string[]
  /** The source of randomness for `random()` and `uuid()`. */
  readonly chance: Chance
  /**
   * Warnings for the caller about text that may be a mistake. For example, a double-quoted name was read as a string.
   */
  readonly warnings: readonly string[]
  /**
   * The number of rows of the last step, which takes a few milliseconds (query/steps.ts). Null before the first
   * evaluation.
   */
  stepRows: number | null = null

  constructor(expr: Bound, chance: Chance, warnings: readonly string[] = []) {
    this.expr = expr
    this.columns = columnsOf(expr)
    this.chance = chance
    this.warnings = warnings
  }

  get type(): DataType {
    return this.expr.type
  }

  /** The operands of a top-level AND, or else the expression itself. A row passes a filter if all of them are true. */
  get conditions(): readonly Bound[] {
    const { expr } = this
    return expr.kind === 'and' ? expr.operands : [expr]
  }

  /**
   * Return a bound expression with another node, and with the source of randomness and the warnings of this expression.
   */
  withExpr(expr: Bound): BoundExpression {
    return new BoundExpression(expr, this.chance, this.warnings)
  }
}

/** Return the top-level columns that a node reads, in order of first use. */
export function columnsOf(expr: Bound): readonly string[] {
  const names = new Set<string>()
  const visit = (node: Bound): void => {
    if (node.kind === 'column') names.add(node.path[0]!)
    else node.operands.forEach(visit)
  }
  visit(expr)
  return [...names]
}

/** Syntax trees as short text with every grouping in brackets, for tables of cases. */
import type { Expr } from '../../src/sql/syntax.js'

export function showTree(expr: Expr): string {
  switch (expr.kind) {
    case 'literal':
      if (expr.value instanceof Uint8Array) return `X'${Buffer.from(expr.value).toString('hex')}'`
      return typeof expr.value === 'string' ? `'${expr.value}'` : String(expr.value)
    case 'decimal':
      return `#${expr.text}`
    case 'column':
      return expr.path.map(part => `${part.quote}${part.name}${part.quote}`).join('.')
    case 'parameter':
      return `${expr.style}${expr.key}`
    case 'not':
    case 'negate':
      return `(${expr.kind} ${showTree(expr.operand)})`
    case 'binary':
      return `(${showTree(expr.left)} ${expr.op} ${showTree(expr.right)})`
    case 'and':
    case 'or':
      return `(${expr.operands.map(showTree).join(` ${expr.kind} `)})`
    case 'in': {
      const list = 'kind' in expr.list ? showTree(expr.list) : `[${expr.list.map(showTree).join(' ')}]`
      return `(${showTree(expr.operand)} ${not(expr.negated)}in ${list})`
    }
    case 'between':
      return `(${showTree(expr.operand)} ${not(expr.negated)}between ${showTree(expr.low)} ${showTree(expr.high)})`
    case 'like': {
      const escaped = expr.escape === null ? '' : ` escape ${showTree(expr.escape)}`
      const operator = expr.ignoreCase ? 'ilike' : 'like'
      return `(${showTree(expr.operand)} ${not(expr.negated)}${operator} ${showTree(expr.pattern)}${escaped})`
    }
    case 'is':
      return `(${showTree(expr.operand)} is ${not(expr.negated)}${expr.what})`
    case 'cast':
      return `(${expr.try ? 'try_cast' : 'cast'} ${showTree(expr.operand)} ${[expr.type.name, ...expr.type.args].join(' ')})`
    case 'call':
      return `${expr.name}(${expr.args.map(showTree).join(' ')})`
    case 'array':
      return `[${expr.elements.map(showTree).join(' ')}]`
    case 'element':
      return `${showTree(expr.operand)}[${showTree(expr.index)}]`
  }
}

function not(isNegated: boolean): string {
  return isNegated ? 'not ' : ''
}

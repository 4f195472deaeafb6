/** Syntax trees as short text with every grouping in brackets, for tables of cases. */
import type { Expr, InExpr } from '../../src/sql/syntax/syntax.js'

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
    case 'in':
      return `(${showTree(expr.operand)} ${not(expr.negated)}in ${showList(expr.list)})`
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
    case 'distinct':
      return `(${showTree(expr.left)} is ${not(expr.negated)}distinct from ${showTree(expr.right)})`
    case 'case': {
      const operand = expr.operand === null ? '' : ` ${showTree(expr.operand)}`
      const branches = expr.branches.map(
        ({ when, result }) => ` when ${showTree(when)} then ${showTree(result)}`,
      )
      const otherwise = expr.otherwise === null ? '' : ` else ${showTree(expr.otherwise)}`
      return `(case${operand}${branches.join('')}${otherwise})`
    }
    case 'interval':
      return `(interval '${expr.text}'${expr.unit === '' ? '' : ` ${expr.unit}`})`
    case 'call': {
      const modifier = expr.modifier === null ? [] : [expr.modifier]
      const filter = expr.filter === null ? '' : ` filter ${showTree(expr.filter)}`
      return `${expr.name}(${[...modifier, ...expr.args.map(showTree)].join(' ')})${filter}`
    }
    case 'array':
      return `[${expr.elements.map(showTree).join(' ')}]`
    case 'element':
      return `${showTree(expr.operand)}[${showTree(expr.index)}]`
  }
}

function showList(list: InExpr['list']): string {
  if (!('kind' in list)) return `[${list.map(showTree).join(' ')}]`
  if (list.kind === 'parameter') return showTree(list)
  const values = Array.from<bigint | number | string>(list.values)
  return `{${values.map(value => (typeof value === 'string' ? `'${value}'` : String(value))).join(' ')}}`
}

function not(isNegated: boolean): string {
  return isNegated ? 'not ' : ''
}

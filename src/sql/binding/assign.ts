/** Bind expressions whose values are assigned to a column. */
import { typeName } from '../../arrow/type-name.js'
import type { DataType, Schema } from '../../arrow/types.js'
import { quote, type SourceSpan, schemaMismatch } from '../../errors.js'
import type { Bound } from '../bound.js'
import type { BoundExpression } from '../bound-expression.js'
import { parseExpression } from '../syntax/parse.js'
import { parseDigits } from '../values/decimals.js'
import { integerLiteral, numberLiteral } from '../values/literal.js'
import type { LiteralNode } from '../values/literal-node.js'
import { elementType, isNumeric, valueType } from '../values/types.js'
import { type BindOptions, bindExpression } from './bind.js'
import { cast, coerced, describe } from './build.js'
import { isLiteral } from './logic.js'

/**
 * Parse `text` and bind it to the columns of `schema`. The value is converted to `type`, the type of `column`.
 *
 * These values are converted implicitly:
 * - numbers, as by CAST. An integer column drops the fraction. A number outside the range of the type is an error.
 * - strings that are constants and can be parsed as a value of the type, such as `'2026-01-31'` for a date column
 * - lists of these values
 *
 * Throws `SchemaValidation` for any other value, which needs a CAST.
 */
export function bindAssignment(
  text: string,
  column: string,
  type: DataType,
  schema: Schema,
  options: BindOptions,
): BoundExpression {
  const target = valueType(type)
  const whole = { offset: 0, length: text.length }
  return bindExpression(parseExpression(text), schema, options, value => {
    const isList = elementType(target) !== null && elementType(value.type) !== null
    const isNumber = isNumeric(target) && isNumeric(valueType(value.type))
    // A decimal column needs no parsing here, because `coerced` parses strings as decimals.
    const parsesText = isNumeric(target) && target.kind !== 'decimal'
    const number = parsesText ? (writtenNumber(value, whole) ?? value) : value
    const assigned = isList || isNumber ? cast(value, target, false, whole) : coerced(number, target)
    if (assigned !== null) return assigned
    const message = `column ${quote(column)} has the type ${typeName(type)} and cannot take ${describe(value)}`
    // Clients send the values of an update as parameters, so a text is a value, never an expression.
    const text = isLiteral(value) && typeof value.value === 'string' ? value.value : null
    const hint =
      text === null
        ? `CAST it to ${typeName(type)}`
        : `a text is a value: pass a value of the type, or write an expression with the tag: { ${column}: sql\`${shownExpression(text)}\` }`
    throw schemaMismatch(message, { hint, at: whole })
  })
}

/** Return a text that looks like a short expression, otherwise an ellipsis. */
function shownExpression(text: string): string {
  return text.length <= 40 && /^[A-Za-z_]\w*(?:\(| [+*/-] )[\w .()+*/,-]*$/.test(text) ? text : '...'
}

/** Maximum characters of a string that is parsed as a number. A longer integer is out of range for every type. */
const longestNumber = 400

/**
 * Parse a constant string as a number, because LanceDB's clients write numbers as strings. Return null if `value` is
 * not a constant string with a number.
 */
function writtenNumber(value: Bound, at: SourceSpan): LiteralNode | null {
  if (value.kind !== 'literal' || typeof value.value !== 'string' || value.value.length > longestNumber)
    return null
  if (/^[+-]?\d+$/.test(value.value)) return integerLiteral(BigInt(value.value.replace('+', '')), at)
  return parseDigits(value.value) === null ? null : numberLiteral(value.value, at)
}

/** Bind expressions whose values are assigned to a column. */
import { typeName } from '../../arrow/type-name.js'
import type { DataType, Schema } from '../../arrow/types.js'
import { quote, type SourceSpan, schemaMismatch } from '../../errors.js'
import type { Bound, BoundExpression } from '../bound.js'
import { parseExpression } from '../syntax/parse.js'
import { parseDigits } from '../values/decimals.js'
import { integerLiteral, numberLiteral } from '../values/literal.js'
import type { LiteralNode } from '../values/literal-node.js'
import { elementType, isNumeric, valueType } from '../values/types.js'
import { type BindOptions, bindExpression } from './bind.js'
import { cast, coerced, describe } from './build.js'

/**
 * Parse `text` and bind it to the columns of `schema`. The value is converted to `type`, the type of `column`.
 *
 * These values are converted implicitly:
 * - numbers, as by a CAST: an integer column drops fractions, and a number that does not fit fails for its row
 * - constants that can be parsed as a value of the type: `'2026-01-31'` as a date, `'10'` as a number
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
    // For a decimal column, a string is parsed by the decimal type itself.
    const parsesText = isNumeric(target) && target.kind !== 'decimal'
    const number = parsesText ? (writtenNumber(value, whole) ?? value) : value
    const assigned = isList || isNumber ? cast(value, target, false, whole) : coerced(number, target)
    if (assigned !== null) return assigned
    const message = `column ${quote(column)} has the type ${typeName(type)} and cannot take ${describe(value)}`
    throw schemaMismatch(message, { hint: `CAST it to ${typeName(type)}`, at: whole })
  })
}

/** Maximum characters of a number. No type holds more digits. */
const longestNumber = 400

/** Return the number that a constant string contains, or null. LanceDB's clients write numbers as strings. */
function writtenNumber(value: Bound, at: SourceSpan): LiteralNode | null {
  if (value.kind !== 'literal' || typeof value.value !== 'string' || value.value.length > longestNumber)
    return null
  if (/^[+-]?\d+$/.test(value.value)) return integerLiteral(BigInt(value.value.replace('+', '')), at)
  return parseDigits(value.value) === null ? null : numberLiteral(value.value, at)
}

/** Values that are to become those of a column. */
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
 * Parses `text` and binds it to the columns of `schema`, as a value of `type`: that of `column`, to which it is to be
 * assigned. Brought to that type without saying so are numbers of any kind, as by a CAST (an integer cuts a fraction; what
 * does not fit fails for its row), constants that can be read as one of its values (`'2026-01-31'` as a date, `'10'` as a number), and
 * lists of such. Throws code 20 for anything else: then it takes a CAST.
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
    // Among decimals a text is placed by its digits.
    const isPlaced = isNumeric(target) && target.kind !== 'decimal'
    const said = isPlaced ? (writtenNumber(value, whole) ?? value) : value
    const taken = isList || isNumber ? cast(value, target, false, whole) : coerced(said, target)
    if (taken !== null) return taken
    const message = `column ${quote(column)} is ${typeName(type)}, and cannot take ${describe(value)}`
    throw schemaMismatch(message, { hint: `CAST it to ${typeName(type)}`, at: whole })
  })
}

/** Characters. No type holds more digits. */
const longestNumber = 400

/** The number that a constant text says; null where it says none. LanceDB's clients write numbers so. */
function writtenNumber(value: Bound, at: SourceSpan): LiteralNode | null {
  if (value.kind !== 'literal' || typeof value.value !== 'string' || value.value.length > longestNumber)
    return null
  if (/^[+-]?\d+$/.test(value.value)) return integerLiteral(BigInt(value.value.replace('+', '')), at)
  return parseDigits(value.value) === null ? null : numberLiteral(value.value, at)
}

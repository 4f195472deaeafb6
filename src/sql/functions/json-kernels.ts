/**
 * Functions of JSON text, under the names and with the conversions that Lance's have. Text that is no JSON has no
 * values: everything about it is NULL.
 */
import type { Column } from '../../arrow/column.js'
import { invalidInput, quote } from '../../errors.js'
import { ByteBuilder } from '../kernels/byte-builder.js'
import { castColumn } from '../kernels/cast.js'
import { utf8 } from '../values/types.js'
import { bitAt, bytesOfWords, columnOf, type Operand, wordCount } from '../values/vector.js'
import type { Call, Kernel } from './call.js'
import { JsonKind, JsonReader } from './json.js'
import { type JsonPath, parseJsonPath, selectJson } from './json-path.js'
import { strictRows, textOf } from './operands.js'

/** Runs `visit` for the needed rows that hold JSON; it gives whether the row has a result. The rows that have one. */
function eachDocument(call: Call, visit: (reader: JsonReader, row: number) => boolean): Uint32Array {
  const { args, length } = call
  const { needed } = strictRows(call)
  const valid = new Uint32Array(wordCount(length))
  const [json] = args as [Operand]
  const reader = new JsonReader()
  const isConstant =
    json.constant && length > 0 && json.column.nullCount === 0 && reader.read(textOf(json, 0))
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const isJson = json.constant ? isConstant : reader.read(textOf(json, i))
    if (isJson && visit(reader, i)) valid[i >>> 5]! |= 1 << (i & 31)
  }
  return valid
}

/** The path of each row. */
function pathsOf(operand: Operand | undefined): (row: number) => JsonPath {
  let known: string | null = null
  let path: JsonPath = []
  return row => {
    const text = operand === undefined ? '$' : textOf(operand, row)
    if (text !== known) path = parseJsonPath(text)
    known = text
    return path
  }
}

/** `json_extract(json, path)`: the value there as JSON; an array where there are several. */
export function jsonExtract(call: Call): Column {
  const pathAt = pathsOf(call.args[1])
  return textColumn(call, (reader, row) => {
    const found = selectJson(reader, pathAt(row))
    if (found.length === 1) return reader.compact(found[0]!)
    return found.length === 0 ? null : `[${found.map(token => reader.compact(token)).join(',')}]`
  })
}

/** `json_get(json, key)`: the value of a key, or of an element by its number from 0, as JSON. */
export function jsonGet(call: Call): Column {
  return textColumn(call, (reader, row) => {
    const token = valueAt(reader, textOf(call.args[1]!, row))
    return token === -1 ? null : reader.compact(token)
  })
}

function textColumn(call: Call, textAt: (reader: JsonReader, row: number) => string | null): Column {
  const { length, type } = call
  const builder = new ByteBuilder(length, length * 16)
  let written = 0
  const valid = eachDocument(call, (reader, row) => {
    for (; written < row; written++) builder.endRow()
    const text = textAt(reader, row)
    if (text !== null) builder.text(text)
    return text !== null
  })
  for (; written < length; written++) builder.endRow()
  return builder.finish(type, valid)
}

function valueAt(reader: JsonReader, key: string): number {
  const kind = reader.kindOf(0)
  if (kind === JsonKind.Object) return reader.member(0, key)
  return kind === JsonKind.Array && /^\d{1,9}$/.test(key) ? reader.element(0, Number(key)) : -1
}

/** `json_get_string(json, key)`: strings, numbers and bools as text. */
export function jsonGetString(call: Call): Column {
  return textColumn(call, (reader, row) => {
    const token = valueAt(reader, textOf(call.args[1]!, row))
    const kind = token === -1 ? JsonKind.Null : reader.kindOf(token)
    if (kind === JsonKind.Null || kind >= JsonKind.Array) return null
    return kind === JsonKind.String ? reader.stringOf(token) : reader.sourceOf(token)
  })
}

/** `json_get_int(json, key)`, `json_get_uint(json, key)`: a fraction is cut off, true is 1; null for what does not fit. */
export function jsonGetInteger(call: Call): Column {
  const { length, type } = call
  const isSigned = type.kind === 'int' && type.signed
  const values = isSigned ? new BigInt64Array(length) : new BigUint64Array(length)
  const valid = eachDocument(call, (reader, row) => {
    const value = integerAt(reader, valueAt(reader, textOf(call.args[1]!, row)))
    if (value === null || (isSigned ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)) !== value)
      return false
    values[row] = value
    return true
  })
  return columnOf(type, length, { values }, valid)
}

function integerAt(reader: JsonReader, token: number): bigint | null {
  if (token === -1) return null
  switch (reader.kindOf(token)) {
    case JsonKind.False:
      return 0n
    case JsonKind.True:
      return 1n
    case JsonKind.String: {
      const text = reader.stringOf(token)
      return /^[+-]?\d{1,40}$/.test(text) ? BigInt(text.replace('+', '')) : null
    }
    case JsonKind.Number: {
      const source = reader.sourceOf(token)
      if (/^-?\d{1,40}$/.test(source)) return BigInt(source)
      const number = Math.trunc(Number(source))
      return Math.abs(number) < 2 ** 65 ? BigInt(number) : null
    }
    default:
      return null
  }
}

/** `json_get_float(json, key)`. */
export function jsonGetFloat(call: Call): Column {
  const { length, type } = call
  const values = new Float64Array(length)
  const valid = eachDocument(call, (reader, row) => {
    const token = valueAt(reader, textOf(call.args[1]!, row))
    const number = token === -1 ? null : numberAt(reader, token)
    values[row] = number ?? 0
    return number !== null
  })
  return columnOf(type, length, { values }, valid)
}

function numberAt(reader: JsonReader, token: number): number | null {
  const kind = reader.kindOf(token)
  if (kind === JsonKind.True || kind === JsonKind.False) return kind === JsonKind.True ? 1 : 0
  if (kind !== JsonKind.Number && kind !== JsonKind.String) return null
  const text = kind === JsonKind.Number ? reader.sourceOf(token) : reader.stringOf(token)
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : null
}

/** `json_get_bool(json, key)`: 0 is false and other numbers true; of strings only 'true' and 'false' are either. */
export function jsonGetBool(call: Call): Column {
  return boolColumn(call, (reader, row) => {
    const token = valueAt(reader, textOf(call.args[1]!, row))
    if (token === -1) return null
    switch (reader.kindOf(token)) {
      case JsonKind.True:
        return true
      case JsonKind.False:
        return false
      case JsonKind.Number:
        return Number(reader.sourceOf(token)) !== 0
      case JsonKind.String: {
        const text = reader.stringOf(token)
        return text === 'true' ? true : text === 'false' ? false : null
      }
      default:
        return null
    }
  })
}

function boolColumn(call: Call, truthAt: (reader: JsonReader, row: number) => boolean | null): Column {
  const { length, type } = call
  const isTrue = new Uint32Array(wordCount(length))
  const valid = eachDocument(call, (reader, row) => {
    const truth = truthAt(reader, row)
    if (truth === true) isTrue[row >>> 5]! |= 1 << (row & 31)
    return truth !== null
  })
  return columnOf(type, length, { values: bytesOfWords(isTrue) }, valid)
}

/** `json_exists(json, path)`: a null there is there. */
export const jsonExists: Kernel = call => {
  const pathAt = pathsOf(call.args[1])
  return boolColumn(call, (reader, row) => selectJson(reader, pathAt(row)).length > 0)
}

/** `json_array_contains(json, path, value)`: whether an element of an array there is the value, as a string or as JSON. */
export function jsonArrayContains(call: Call): Column {
  const [json, path, value] = call.args as [Operand, Operand, Operand]
  const { rows, describe } = call
  const wanted = {
    column: castColumn(value.column, utf8, false, value.constant ? null : rows, describe),
    constant: value.constant,
  }
  const pathAt = pathsOf(path)
  return boolColumn({ ...call, args: [json, path, wanted] }, (reader, row) => {
    const text = textOf(wanted, row)
    for (const array of selectJson(reader, pathAt(row))) {
      if (reader.kindOf(array) !== JsonKind.Array) continue
      if (reader.children(array).some(token => isValue(reader, token, text))) return true
    }
    return false
  })
}

function isValue(reader: JsonReader, token: number, text: string): boolean {
  if (reader.kindOf(token) === JsonKind.String && reader.stringOf(token) === text) return true
  return reader.compact(token) === text
}

/** `json_array_length(json)`, `json_array_length(json, path)`; a value that is no array is an error. */
export function jsonArrayLength(call: Call): Column {
  const { length, type, args, describe } = call
  const pathAt = pathsOf(args[1])
  const values = new BigInt64Array(length)
  const valid = eachDocument(call, (reader, row) => {
    const [array] = selectJson(reader, pathAt(row))
    if (array === undefined) return false
    if (reader.kindOf(array) !== JsonKind.Array) {
      throw invalidInput(`${quote(reader.compact(array))} is no JSON array, in ${describe()}`)
    }
    values[row] = BigInt(reader.size(array))
    return true
  })
  return columnOf(type, length, { values }, valid)
}

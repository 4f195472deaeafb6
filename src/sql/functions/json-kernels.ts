/**
 * JSON functions, with the names and conversions of the JSON functions of Lance. They return NULL for text that is not
 * JSON.
 */
import type { Column } from '../../arrow/column.js'
import { invalidInput, quote } from '../../errors.js'
import { castColumn } from '../kernels/cast.js'
import { utf8, valueType } from '../values/types.js'
import { bitAt, bytesOfWords, columnOf, type Operand, operandOf, wordCount } from '../values/vector.js'
import type { Call, Kernel } from './call.js'
import { JsonKind, JsonReader } from './json.js'
import { type JsonPath, parseJsonPath, selectJson } from './json-path.js'
import { growingFrom, rowSizesOf, shortText, strictRows, textOf } from './operands.js'

/** A constant document, which is parsed once and read for every row. */
interface ConstantDocument {
  /** The parsed document. Null if the text is not JSON. */
  readonly reader: JsonReader | null
  /** The array elements at the last requested path, as the keys of `keysOf`. Null before the first request. */
  last: { readonly path: string; readonly elements: ReadonlySet<string> } | null
}

/** Parse a constant document. It is a module-level function because `Constant.once` caches its result. */
function parseDocument(json: Column): ConstantDocument {
  const reader = new JsonReader()
  const isJson = reader.read(shortText(json, 0))
  if (isJson) reader.keepIndex()
  return { reader: isJson ? reader : null, last: null }
}

/**
 * Call `visit` for each requested row that contains JSON. `visit`: computes the row, and returns whether its result is
 * not NULL. Return a bitmap of the rows for which `visit` returned true.
 */
function eachDocument(call: Call, visit: (reader: JsonReader, row: number) => boolean): Uint32Array {
  const { args, length } = call
  const { needed } = strictRows(call)
  const valid = new Uint32Array(wordCount(length))
  const [json] = args as [Operand]
  const own = new JsonReader()
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const reader = json.constant ? json.once(parseDocument).reader : own.read(textOf(json, i)) ? own : null
    if (reader !== null && visit(reader, i)) valid[i >>> 5]! |= 1 << (i & 31)
  }
  return valid
}

/** Return a function that returns the parsed path of a row. `operand` undefined: the path is `$` for all rows. */
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

/** Maximum number of values of a constant document that the paths of one batch may visit. */
const maxVisited = 2 ** 24

/**
 * Return a function that selects the tokens at the path of a row. For a constant document, consecutive rows with the
 * same path get the same array.
 */
function selectorOf({ args }: Call): (reader: JsonReader, row: number) => readonly number[] {
  const [json, paths] = args as [Operand, Operand?]
  const pathAt = pathsOf(paths)
  let path: JsonPath | null = null
  let found: readonly number[] = []
  let visited = 0
  return (reader, row) => {
    const next = pathAt(row)
    if (json.constant && next === path) return found
    const before = reader.visited
    found = selectJson(reader, next)
    path = next
    visited += json.constant ? reader.visited - before : 0
    if (visited > maxVisited) throw tooManyValues()
    return found
  }
}

function tooManyValues() {
  return invalidInput(`the paths of one batch visit more than ${maxVisited} values of a constant document`, {
    hint: 'make the document smaller, write a path without *, or make the batches smaller',
  })
}

/** Compute `json_extract(json, path)`: the value at the path as JSON. Several values are returned as a JSON array. */
export function jsonExtract(call: Call): Column {
  const select = selectorOf(call)
  return textColumn(call, (reader, row) => {
    const found = select(reader, row)
    if (found.length === 1) return reader.compact(found[0]!)
    return found.length === 0 ? null : `[${found.map(token => reader.compact(token)).join(',')}]`
  })
}

/** Compute `json_get(json, key)`: a member of an object by key, or an element of an array by index from 0, as JSON. */
export function jsonGet(call: Call): Column {
  return textColumn(call, (reader, row) => {
    const token = valueAt(reader, textOf(call.args[1]!, row))
    return token === -1 ? null : reader.compact(token)
  })
}

function textColumn(call: Call, textAt: (reader: JsonReader, row: number) => string | null): Column {
  const { length, type } = call
  const [json] = call.args as [Operand]
  const sizeOf = rowSizesOf([json])
  const builder = growingFrom([json], length)
  let written = 0
  const valid = eachDocument(call, (reader, row) => {
    for (; written < row; written++) builder.endRow()
    builder.startRow(sizeOf(row))
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

/** Compute `json_get_string(json, key)`: the value as text if it is a string, number or boolean, otherwise NULL. */
export function jsonGetString(call: Call): Column {
  return textColumn(call, (reader, row) => {
    const token = valueAt(reader, textOf(call.args[1]!, row))
    const kind = token === -1 ? JsonKind.Null : reader.kindOf(token)
    if (kind === JsonKind.Null || kind >= JsonKind.Array) return null
    return kind === JsonKind.String ? reader.stringOf(token) : reader.sourceOf(token)
  })
}

/**
 * Compute `json_get_int(json, key)` or `json_get_uint(json, key)`. The fraction of a number is dropped, true is 1 and
 * false is 0. The result is NULL for a value that does not fit into 64 bits.
 */
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

/** Compute `json_get_float(json, key)`. */
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
  return /^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : null
}

/**
 * Compute `json_get_bool(json, key)`. The number 0 is FALSE, and other numbers are TRUE. The strings 'true' and 'false'
 * are TRUE and FALSE, and other strings are NULL.
 */
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

/** Compute `json_exists(json, path)`: whether the document has a value at the path. A JSON null counts as a value. */
export const jsonExists: Kernel = call => {
  const select = selectorOf(call)
  return boolColumn(call, (reader, row) => select(reader, row).length > 0)
}

function constantElements(document: ConstantDocument, reader: JsonReader, path: string): ReadonlySet<string> {
  if (document.last?.path !== path) {
    const tokens = elementsOf(reader, selectJson(reader, parseJsonPath(path)))
    document.last = { path, elements: writtenValues(reader, tokens) }
  }
  return document.last.elements
}

/**
 * Compute `json_array_contains(json, path, value)`: whether an array at the path has an element equal to the value.
 *
 * - A string matches an equal JSON string. A string also matches an element with the same JSON text, so `'2'` matches
 *   the number 2.
 * - A value of another type matches an element with the same JSON text, so it never matches a JSON string.
 * - Numbers are compared by value: 2, 2.0 and 20e-1 are equal.
 */
export function jsonArrayContains(call: Call): Column {
  const [json, path, value] = call.args as [Operand, Operand, Operand]
  const { rows, describe } = call
  const wanted = operandOf(
    castColumn(value.column, utf8, false, value.constant ? null : rows, describe),
    value.constant,
  )
  const isText = valueType(value.column.type).kind === 'utf8'
  const select = selectorOf(call)
  let arrays: readonly number[] | null = null
  let elements: ReadonlySet<string> = new Set()
  let size = 0
  return boolColumn({ ...call, args: [json, path, wanted] }, (reader, row) => {
    const text = textOf(wanted, row)
    const keys = isText ? [asString(text), asJson(text)] : [asJson(text)]
    const isAmong = (known: ReadonlySet<string>) => keys.some(key => known.has(key))
    if (json.constant && path.constant) {
      return isAmong(constantElements(json.once(parseDocument), reader, textOf(path, 0)))
    }
    const found = select(reader, row)
    if (!json.constant) {
      return elementsOf(reader, found).some(token => keysOf(reader, token).some(key => keys.includes(key)))
    }
    if (found !== arrays) {
      const tokens = elementsOf(reader, found)
      size += tokens.length
      if (size > maxVisited) throw tooManyValues()
      elements = writtenValues(reader, tokens)
      arrays = found
    }
    return isAmong(elements)
  })
}

/** Return the elements of those values that are arrays. */
function elementsOf(reader: JsonReader, tokens: readonly number[]): readonly number[] {
  const arrays = tokens.filter(token => reader.kindOf(token) === JsonKind.Array)
  return arrays.length === 1 ? reader.children(arrays[0]!) : arrays.flatMap(array => reader.children(array))
}

/** Return the keys of all given values, as `keysOf` returns them. */
function writtenValues(reader: JsonReader, tokens: readonly number[]): Set<string> {
  return new Set(tokens.flatMap(token => keysOf(reader, token)))
}

/**
 * Return the keys of a value: one for its JSON, and for a string also one for its text. Matching values share a key.
 */
function keysOf(reader: JsonReader, token: number): readonly string[] {
  const json = asJson(reader.compact(token))
  return reader.kindOf(token) === JsonKind.String ? [asString(reader.stringOf(token)), json] : [json]
}

function asString(text: string): string {
  return `s${text}`
}

/** Return the key of a JSON text. Numbers of equal value have equal keys. */
function asJson(text: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,15}))?$/.exec(text)
  if (match === null) return `j${text}`
  const [, sign, whole, fraction = '', exponent = '0'] = match
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const kept = digits.replace(/0+$/, '')
  if (kept === '') return 'n0'
  return `n${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`
}

/**
 * Compute `json_array_length(json)` or `json_array_length(json, path)`. Throws `InvalidInput` if the value is not an
 * array.
 */
export function jsonArrayLength(call: Call): Column {
  const { length, type, describe } = call
  const select = selectorOf(call)
  const values = new BigInt64Array(length)
  const valid = eachDocument(call, (reader, row) => {
    const [array] = select(reader, row)
    if (array === undefined) return false
    if (reader.kindOf(array) !== JsonKind.Array) {
      throw invalidInput(`${quote(reader.compact(array))} is not a JSON array, in ${describe()}`, {
        hint: 'pass the path of an array; json_exists tests whether there is a value',
      })
    }
    values[row] = BigInt(reader.size(array))
    return true
  })
  return columnOf(type, length, { values }, valid)
}

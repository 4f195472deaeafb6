/** Functions of text, computed on UTF-8 bytes. A character is a code point. */
import { isAscii } from 'node:buffer'
import type { Column } from '../../arrow/column.js'
import { invalidInput } from '../../errors.js'
import { ByteBuilder } from '../kernels/byte-builder.js'
import { castColumn } from '../kernels/cast.js'
import { startsWith } from '../kernels/equal-bytes.js'
import { spread } from '../kernels/gather.js'
import { codePointAt, findNeedle, likeRows, matches, type Needle, plainPattern } from '../kernels/like.js'
import { constantTruth, strictTruth, strictValidity, type Truth } from '../kernels/truth.js'
import { utf8 } from '../values/types.js'
import {
  bitAt,
  byteRowsOf,
  columnOf,
  type Operand,
  operandOf,
  type RowMask,
  validWords,
  wordCount,
} from '../values/vector.js'
import type { Call } from './call.js'
import {
  checkReadings,
  growingFrom,
  growRows,
  needlesOf,
  numberOf,
  rowSizesOf,
  shortText,
  strictRows,
} from './operands.js'

/** Compute `lower(text)` with the full case mapping of Unicode, independent of the locale. */
export function lower(call: Call): Column {
  const { args, type, length, rows } = call
  return { ...changeCase(spread(args[0]!, length), rows, 65, text => text.toLowerCase()), type }
}

/** Compute `upper(text)`. */
export function upper(call: Call): Column {
  const { args, type, length, rows } = call
  return { ...changeCase(spread(args[0]!, length), rows, 97, text => text.toUpperCase()), type }
}

/** Convert a text column to lower case. */
export function lowerColumn(column: Column): Column {
  return changeCase(column, null, 65, text => text.toLowerCase())
}

/** Change the case of a column. `first`: code of the first of the 26 ASCII letters to change (A or a). */
function changeCase(column: Column, rows: RowMask, first: number, change: (text: string) => string): Column {
  const { bytes, offsets } = byteRowsOf(column)
  const valid = validWords(column)
  const start = offsets[0]!
  const end = offsets[column.length]!
  if (isAscii(bytes.subarray(start, end))) {
    const values = new Uint8Array(end)
    for (let k = start; k < end; k++) values[k] = swapCase(bytes[k]!, first)
    return columnOf(column.type, column.length, { values, offsets }, valid)
  }
  const builder = ByteBuilder.growing(column.length, end - start)
  for (let i = 0; i < column.length; i++) {
    if ((valid === null || bitAt(valid, i)) && (rows === null || bitAt(rows, i))) {
      builder.startRow(offsets[i + 1]! - offsets[i]!)
      builder.text(change(shortText(column, i)))
    }
    builder.endRow()
  }
  return builder.finish(column.type, valid)
}

function swapCase(byte: number, first: number): number {
  return byte >= first && byte < first + 26 ? byte ^ 32 : byte
}

/** Compute `length(text)` in characters, as int32. */
export function characterLength({ args, type, length }: Call): Column {
  const { bytes, offsets } = byteRowsOf(spread(args[0]!, length))
  const values = new Int32Array(length)
  for (let i = 0; i < length; i++) values[i] = countCharacters(bytes, offsets[i]!, offsets[i + 1]!)
  return columnOf(type, length, { values }, strictValidity(args, length))
}

/** Compute `octet_length(text)` as int32. */
export function byteLength(call: Call): Column {
  return sizes(call, 1)
}

/** Compute `bit_length(text)` as int32. */
export function bitLength(call: Call): Column {
  return sizes(call, 8)
}

function sizes({ args, type, length }: Call, unit: number): Column {
  const { offsets } = byteRowsOf(spread(args[0]!, length))
  const values = new Int32Array(length)
  for (let i = 0; i < length; i++) values[i] = (offsets[i + 1]! - offsets[i]!) * unit
  return columnOf(type, length, { values }, strictValidity(args, length))
}

/** Compute `ascii(text)`: the code point of the first character, 0 for an empty text. */
export function firstCodePoint(call: Call): Column {
  const { args, type, length } = call
  const { valid, needed } = strictRows(call)
  const { bytes, offsets } = byteRowsOf(args[0]!.column)
  const values = new Int32Array(length)
  for (let i = 0; i < length; i++) {
    const row = args[0]!.constant ? 0 : i
    if (bitAt(needed, i) && offsets[row]! < offsets[row + 1]!) values[i] = codePointAt(bytes, offsets[row]!)
  }
  return columnOf(type, length, { values }, valid)
}

/** Compute `chr(code point)`. Throws `InvalidInput` for a number that is not a code point. */
export function characterOf(call: Call): Column {
  const { args, type, length, describe } = call
  const { valid, needed } = strictRows(call)
  const builder = new ByteBuilder(length, length)
  for (let i = 0; i < length; i++) {
    if (bitAt(needed, i)) {
      const point = numberOf(args[0]!, i)
      if (point < 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
        throw invalidInput(`${point} is not a Unicode character, in ${describe()}`, {
          hint: 'the characters are 0 to 1114111 (10FFFF), without the surrogates 55296 to 57343',
        })
      }
      builder.text(String.fromCodePoint(point))
    }
    builder.endRow()
  }
  return builder.finish(type, valid)
}

/** Compute `a || b`. A value that is not a text is converted to text. */
export function concatenate(call: Call): Column {
  const texts = call.args.map(arg => asText(arg, call))
  const rows = texts.map(({ column }) => byteRowsOf(column))
  return growRows({ ...call, args: texts }, texts, (builder, row) => {
    for (let p = 0; p < texts.length; p++) {
      const at = texts[p]!.constant ? 0 : row
      builder.bytes(rows[p]!.bytes, rows[p]!.offsets[at]!, rows[p]!.offsets[at + 1]!)
    }
  })
}

/** Compute `concat(a, ...)`. NULL counts as an empty text. */
export function concatenateAll(call: Call): Column {
  return joined(call, call.args, null)
}

/** Compute `concat_ws(separator, a, ...)`. NULL arguments are omitted, together with their separators. */
export function joinWith(call: Call): Column {
  return joined(call, call.args.slice(1), call.args[0]!)
}

function joined(call: Call, parts: readonly Operand[], separator: Operand | null): Column {
  const { type, length } = call
  const texts = parts.map(part => asText(part, call))
  const rows = texts.map(({ column }) => byteRowsOf(column))
  const valid = separator === null ? null : strictValidity([separator], length)
  const between = separator === null ? null : byteRowsOf(separator.column)
  const present = texts.map(({ column }) => validWords(column))
  const sources = separator === null ? texts : [separator, ...texts]
  const sizeOf = rowSizesOf(sources)
  const builder = growingFrom(sources, length)
  for (let i = 0; i < length; i++) {
    let isFirst = true
    builder.startRow(sizeOf(i))
    for (let p = 0; p < texts.length && (valid === null || bitAt(valid, i)); p++) {
      const at = texts[p]!.constant ? 0 : i
      if (present[p] !== null && !bitAt(present[p]!, at)) continue
      if (between !== null && !isFirst) {
        const row = separator!.constant ? 0 : i
        builder.bytes(between.bytes, between.offsets[row]!, between.offsets[row + 1]!)
      }
      builder.bytes(rows[p]!.bytes, rows[p]!.offsets[at]!, rows[p]!.offsets[at + 1]!)
      isFirst = false
    }
    builder.endRow()
  }
  return builder.finish(type, valid)
}

/** Convert an argument of any type to text. */
function asText({ column, constant }: Operand, { rows, describe }: Call): Operand {
  return operandOf(castColumn(column, utf8, false, constant ? null : rows, describe), constant)
}

/**
 * Compute `substr(text, from)` or `substr(text, from, count)`. Positions count from 1. If `from` is less than 1, the
 * positions before the first character are part of the `count` characters, but have no text.
 */
export function substring(call: Call): Column {
  const { args, describe } = call
  return cut(call, (bytes, start, end, row) => {
    const from = numberOf(args[1]!, row)
    const count = args.length === 3 ? numberOf(args[2]!, row) : Infinity
    if (count < 0) {
      throw invalidInput(`the length of a substring must not be negative: ${count}, in ${describe()}`, {
        hint: 'left(text, -n) omits the last n characters',
      })
    }
    const first = skipCharacters(bytes, start, end, from - 1)
    return [first, skipCharacters(bytes, first, end, from + count - Math.max(from, 1))]
  })
}

/** Compute `left(text, n)`: the first n characters. For a negative n, all characters except the last -n. */
export function leftPart({ args, ...call }: Call): Column {
  return cut({ args, ...call }, (bytes, start, end, row) => {
    const count = numberOf(args[1]!, row)
    return [start, count < 0 ? stepBack(bytes, start, end, -count) : skipCharacters(bytes, start, end, count)]
  })
}

/** Compute `right(text, n)`: the last n characters. For a negative n, all characters except the first -n. */
export function rightPart({ args, ...call }: Call): Column {
  return cut({ args, ...call }, (bytes, start, end, row) => {
    const count = numberOf(args[1]!, row)
    return [count < 0 ? skipCharacters(bytes, start, end, -count) : stepBack(bytes, start, end, count), end]
  })
}

/**
 * Compute `ltrim(text)` or `ltrim(text, characters)`: remove leading spaces, or leading characters that occur in
 * `characters`.
 */
export function trimStart(call: Call): Column {
  return trim(call, true, false)
}

/** Compute `rtrim(text)` or `rtrim(text, characters)`. */
export function trimEnd(call: Call): Column {
  return trim(call, false, true)
}

/** Compute `btrim(text)` or `btrim(text, characters)`. */
export function trimBoth(call: Call): Column {
  return trim(call, true, true)
}

function trim(call: Call, atStart: boolean, atEnd: boolean): Column {
  const [, characters] = call.args
  const wanted = characters === undefined ? null : byteRowsOf(characters.column)
  let unwanted = new Set([32])
  let isKnown = wanted === null
  return cut(call, (bytes, start, end, row) => {
    if (!isKnown) {
      const at = characters!.constant ? 0 : row
      unwanted = charactersOf(wanted!.bytes, wanted!.offsets[at]!, wanted!.offsets[at + 1]!)
      isKnown = characters!.constant
    }
    let first = start
    let last = end
    while (atStart && first < last && unwanted.has(codePointAt(bytes, first))) {
      first = skipCharacters(bytes, first, last, 1)
    }
    while (atEnd && first < last) {
      const before = stepBack(bytes, first, last, 1)
      if (!unwanted.has(codePointAt(bytes, before))) break
      last = before
    }
    return [first, last]
  })
}

function charactersOf(bytes: Uint8Array, start: number, end: number): Set<number> {
  const found = new Set<number>()
  for (let at = start; at < end; at = skipCharacters(bytes, at, end, 1)) found.add(codePointAt(bytes, at))
  return found
}

/** Build a column with a part of the first argument in each row. `part`: returns the byte range of the part. */
function cut(
  call: Call,
  part: (bytes: Uint8Array, start: number, end: number, row: number) => readonly [start: number, end: number],
): Column {
  const [text] = call.args as [Operand]
  const { bytes, offsets } = byteRowsOf(text.column)
  return growRows(call, [text], (builder, i) => {
    const row = text.constant ? 0 : i
    const [start, end] = part(bytes, offsets[row]!, offsets[row + 1]!, i)
    builder.bytes(bytes, start, end)
  })
}

/**
 * Compute `strpos(text, part)`: the position of the part in characters, from 1. The result is 0 if there is no such
 * part.
 */
export function position(call: Call): Column {
  const { args, type, length } = call
  const { valid, needed } = strictRows(call)
  const [text, part] = args as [Operand, Operand]
  const { bytes, offsets } = byteRowsOf(text.column)
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  checkReadings(text, length)
  const needleAt = needlesOf(part)
  const values = new Int32Array(length)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const row = text.constant ? 0 : i
    const found = indexOf(source.subarray(0, offsets[row + 1]!), needleAt(i), offsets[row]!)
    if (found !== -1) values[i] = countCharacters(bytes, offsets[row]!, found) + 1
  }
  return columnOf(type, length, { values }, valid)
}

/** Maximum bytes of a needle for which `Buffer.indexOf` is used. For a longer needle, it may take quadratic time. */
const maxEngineSearch = 250

/** Return the first offset at or after `from` at which `text` contains the needle, or -1 if there is none. */
export function indexOf(text: Buffer, needle: Needle, from: number): number {
  const { length } = needle.bytes
  if (length <= maxEngineSearch) return text.indexOf(needle.bytes, from)
  const end = findNeedle(needle, text, from, text.length)
  return end === -1 ? -1 : end - length
}

/** Compute `reverse(text)`, character by character. */
export function reversed(call: Call): Column {
  const [text] = call.args as [Operand]
  const { bytes, offsets } = byteRowsOf(text.column)
  return growRows(call, [text], (builder, i) => {
    const row = text.constant ? 0 : i
    const start = offsets[row]!
    for (let end = offsets[row + 1]!; end > start; ) {
      const before = stepBack(bytes, start, end, 1)
      builder.bytes(bytes, before, end)
      end = before
    }
  })
}

/** Return the number of code points in a range of UTF-8 bytes. */
export function countCharacters(bytes: Uint8Array, start: number, end: number): number {
  let count = 0
  for (let k = start; k < end; k++) count += Number((bytes[k]! & 0xc0) !== 0x80)
  return count
}

/** Return the offset after `count` characters from `start` on. The result is at most `end`. */
export function skipCharacters(bytes: Uint8Array, start: number, end: number, count: number): number {
  let at = start
  for (let left = count; left > 0 && at < end; left--) {
    at++
    while (at < end && (bytes[at]! & 0xc0) === 0x80) at++
  }
  return at
}

/** Return the offset of the last `count` characters before `end`. The result is at least `start`. */
function stepBack(bytes: Uint8Array, start: number, end: number, count: number): number {
  let at = end
  for (let left = count; left > 0 && at > start; left--) {
    at--
    while (at > start && (bytes[at]! & 0xc0) === 0x80) at--
  }
  return at
}

/** Compute `starts_with(text, start)`. */
export function startsWithText(call: Call): Truth {
  return search(call, 'prefix')
}

/** Compute `ends_with(text, end)`. */
export function endsWithText(call: Call): Truth {
  return search(call, 'suffix')
}

/** Compute `contains(text, part)`. */
export function containsText(call: Call): Truth {
  return search(call, 'contains')
}

function search({ args, length, rows }: Call, shape: 'prefix' | 'suffix' | 'contains'): Truth {
  const [text, part] = args as [Operand, Operand]
  const parts = byteRowsOf(part.column)
  checkReadings(text, length)
  if (part.constant && part.column.nullCount > 0) return constantTruth(null, length)
  if (!part.constant || text.constant)
    return strictTruth(searchRows(text, part, shape, length, rows), args, length)
  const wanted = parts.bytes.subarray(parts.offsets[0]!, parts.offsets[1]!)
  return strictTruth(
    likeRows(plainPattern(shape, wanted), byteRowsOf(text.column), length, rows),
    args,
    length,
  )
}

function searchRows(
  text: Operand,
  part: Operand,
  shape: 'prefix' | 'suffix' | 'contains',
  length: number,
  rows: RowMask,
): Uint32Array {
  const out = new Uint32Array(wordCount(length))
  const texts = byteRowsOf(text.column)
  const parts = byteRowsOf(part.column)
  for (let i = 0; i < length; i++) {
    if (rows !== null && !bitAt(rows, i)) continue
    const row = text.constant ? 0 : i
    const at = part.constant ? 0 : i
    const start = texts.offsets[row]!
    const end = texts.offsets[row + 1]!
    const wanted = parts.bytes.subarray(parts.offsets[at]!, parts.offsets[at + 1]!)
    const from = shape === 'suffix' ? end - wanted.length : start
    const isMatch =
      wanted.length <= end - start &&
      (shape === 'contains'
        ? matches(plainPattern(shape, wanted), texts.bytes, start, end)
        : startsWith(texts.bytes, from, wanted))
    if (isMatch) out[i >>> 5]! |= 1 << (i & 31)
  }
  return out
}

/** Compute `uuid()`: a new version 4 UUID for every row. */
export function uuids({ type, length, chance }: Call): Column {
  const builder = new ByteBuilder(length, length * 36)
  for (let i = 0; i < length; i++) {
    builder.text(chance.uuid())
    builder.endRow()
  }
  return builder.finish(type, null)
}

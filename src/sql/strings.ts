/** Functions of text, over UTF-8 bytes. A character is a code point. */
import { isAscii } from 'node:buffer'
import type { Column } from '../arrow/column.js'
import { ByteBuilder, textAt } from './byte-builder.js'
import type { Call } from './call.js'
import { startsWith } from './equal-bytes.js'
import { spread } from './gather.js'
import { likeRows, matches, plainPattern } from './like.js'
import { constantTruth, strictTruth, strictValidity, type Truth } from './truth.js'
import { type ByteRows, bitAt, byteRowsOf, columnOf, type RowMask, validWords, wordCount } from './vector.js'

/** `lower(text)`, by Unicode's full case mapping without a locale. */
export function lower({ args, type, length }: Call): Column {
  return { ...lowerColumn(spread(args[0]!, length)), type }
}

/** `upper(text)`. */
export function upper({ args, type, length }: Call): Column {
  return { ...changeCase(spread(args[0]!, length), 97, text => text.toUpperCase()), type }
}

export function lowerColumn(column: Column): Column {
  return changeCase(column, 65, text => text.toLowerCase())
}

/** `first`: the first of the 26 ASCII letters that change. */
function changeCase(column: Column, first: number, change: (text: string) => string): Column {
  const { bytes, offsets } = byteRowsOf(column)
  const valid = validWords(column)
  const start = offsets[0]!
  const end = offsets[column.length]!
  if (isAscii(bytes.subarray(start, end))) {
    const values = new Uint8Array(end)
    for (let k = start; k < end; k++) values[k] = swapCase(bytes[k]!, first)
    return columnOf(column.type, column.length, { values, offsets }, valid)
  }
  const builder = new ByteBuilder(column.length, end - start)
  for (let i = 0; i < column.length; i++) {
    if (valid === null || bitAt(valid, i)) builder.text(change(textAt(column, i)))
    builder.endRow()
  }
  return builder.finish(column.type, valid)
}

function swapCase(byte: number, first: number): number {
  return byte >= first && byte < first + 26 ? byte ^ 32 : byte
}

/** `length(text)` in characters, as int32. */
export function characterLength({ args, type, length }: Call): Column {
  const { bytes, offsets } = byteRowsOf(spread(args[0]!, length))
  const values = new Int32Array(length)
  for (let i = 0; i < length; i++) {
    const end = offsets[i + 1]!
    let count = 0
    for (let k = offsets[i]!; k < end; k++) count += Number((bytes[k]! & 0xc0) !== 0x80)
    values[i] = count
  }
  return columnOf(type, length, { values }, strictValidity(args, length))
}

/** `a || b`. */
export function concatenate({ args, type, length }: Call): Column {
  const a = byteRowsOf(spread(args[0]!, length))
  const b = byteRowsOf(spread(args[1]!, length))
  const valid = strictValidity(args, length)
  const builder = new ByteBuilder(length, a.offsets[length]! + b.offsets[length]!)
  for (let i = 0; i < length; i++) {
    if (valid === null || bitAt(valid, i)) {
      builder.bytes(a.bytes, a.offsets[i]!, a.offsets[i + 1]!)
      builder.bytes(b.bytes, b.offsets[i]!, b.offsets[i + 1]!)
    }
    builder.endRow()
  }
  return builder.finish(type, valid)
}

/** `starts_with(text, start)`. */
export function startsWithText(call: Call): Truth {
  return search(call, 'prefix')
}

/** `ends_with(text, end)`. */
export function endsWithText(call: Call): Truth {
  return search(call, 'suffix')
}

/** `contains(text, part)`. */
export function containsText(call: Call): Truth {
  return search(call, 'contains')
}

function search({ args, length, rows }: Call, shape: 'prefix' | 'suffix' | 'contains'): Truth {
  const [text, part] = args as [(typeof args)[0], (typeof args)[0]]
  const texts = byteRowsOf(spread(text, length))
  const parts = byteRowsOf(part.column)
  if (!part.constant) return strictTruth(searchRows(texts, parts, shape, length, rows), args, length)
  if (part.column.nullCount > 0) return constantTruth(null, length)
  const wanted = parts.bytes.subarray(parts.offsets[0]!, parts.offsets[1]!)
  return strictTruth(likeRows(plainPattern(shape, wanted), texts, length, rows), args, length)
}

function searchRows(
  texts: ByteRows,
  parts: ByteRows,
  shape: 'prefix' | 'suffix' | 'contains',
  length: number,
  rows: RowMask,
): Uint32Array {
  const out = new Uint32Array(wordCount(length))
  for (let i = 0; i < length; i++) {
    if (rows !== null && !bitAt(rows, i)) continue
    const start = texts.offsets[i]!
    const end = texts.offsets[i + 1]!
    const wanted = parts.bytes.subarray(parts.offsets[i]!, parts.offsets[i + 1]!)
    const from = shape === 'suffix' ? end - wanted.length : start
    const isHit =
      wanted.length <= end - start &&
      (shape === 'contains'
        ? matches(plainPattern(shape, wanted), texts.bytes, start, end)
        : startsWith(texts.bytes, from, wanted))
    if (isHit) out[i >>> 5]! |= 1 << (i & 31)
  }
  return out
}

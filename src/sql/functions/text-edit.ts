/**
 * Functions that build new texts. A character is a code point. The length of a result is limited if it can be longer
 * than the arguments.
 */
import type { Column } from '../../arrow/column.js'
import { invalidInput } from '../../errors.js'
import { ByteBuilder } from '../kernels/byte-builder.js'
import { findNeedle, type Needle } from '../kernels/like.js'
import { strictTruth, type Truth } from '../kernels/truth.js'
import { utf8 } from '../values/types.js'
import {
  bitAt,
  byteRowsOf,
  Constant,
  columnOfScalars,
  isWide,
  type Operand,
  wordCount,
} from '../values/vector.js'
import type { Call } from './call.js'
import {
  checkReadings,
  growRows,
  needlesOf,
  numberOf,
  strictRows,
  textOf,
  wideOf,
  writeRows,
} from './operands.js'
import { countCharacters, indexOf, skipCharacters } from './strings.js'

/** Compute `repeat(text, times)`. The result is empty if `times` is 0 or less. */
export function repeated(call: Call): Column {
  const [text, times] = call.args as [Operand, Operand]
  const { bytes, offsets } = byteRowsOf(text.column)
  return growRows(call, [text], (builder, row) => {
    const at = text.constant ? 0 : row
    builder.repeat(bytes, offsets[at]!, offsets[at + 1]!, Math.max(0, numberOf(times, row)))
  })
}

/**
 * Compute `lpad(text, length)` or `lpad(text, length, fill)`: add characters before the text, so that it has `length`
 * characters. A longer text is cut at its end.
 */
export function padStart(call: Call): Column {
  return pad(call, true)
}

/** Compute `rpad(text, length)` or `rpad(text, length, fill)`. */
export function padEnd(call: Call): Column {
  return pad(call, false)
}

function pad(call: Call, atStart: boolean): Column {
  const { args } = call
  const [text, wanted, fill = aSpace] = args as [Operand, Operand, Operand?]
  const { bytes, offsets } = byteRowsOf(text.column)
  const { bytes: fillBytes, offsets: fillOffsets } = byteRowsOf(fill.column)
  const sizeAt = charactersOf(text)
  const fillSizeAt = charactersOf(fill)
  return growRows(call, [text, fill], (builder, row) => {
    const at = text.constant ? 0 : row
    const fillAt = fill.constant ? 0 : row
    const [start, end] = [offsets[at]!, offsets[at + 1]!]
    const [fillStart, fillEnd] = [fillOffsets[fillAt]!, fillOffsets[fillAt + 1]!]
    const count = Math.max(0, numberOf(wanted, row))
    const missing = count - sizeAt(row)
    const last = missing < 0 ? skipCharacters(bytes, start, end, count) : end
    if (!atStart) builder.bytes(bytes, start, last)
    if (missing > 0 && fillEnd > fillStart) {
      const fillCount = fillSizeAt(row)
      builder.repeat(fillBytes, fillStart, fillEnd, Math.floor(missing / fillCount))
      builder.bytes(fillBytes, fillStart, skipCharacters(fillBytes, fillStart, fillEnd, missing % fillCount))
    }
    if (atStart) builder.bytes(bytes, start, last)
  })
}

const aSpace = new Constant(columnOfScalars(utf8, [' ']))

/** Return a function that returns the number of characters of a row. The characters of a constant are counted once. */
function charactersOf({ column, constant }: Operand): (row: number) => number {
  const { bytes, offsets } = byteRowsOf(column)
  const count = (at: number) => countCharacters(bytes, offsets[at]!, offsets[at + 1]!)
  const known = constant ? count(0) : 0
  return row => (constant ? known : count(row))
}

/** Compute `replace(text, part, by)`. An empty part is found before every character and at the end of the text. */
export function replaceAll(call: Call): Column {
  const { args } = call
  const [texts, part, other] = args as [Operand, Operand, Operand]
  const { bytes, offsets } = byteRowsOf(texts.column)
  const others = byteRowsOf(other.column)
  const needleAt = needlesOf(part)
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return growRows(call, args, (builder, row) => {
    const t = texts.constant ? 0 : row
    const o = other.constant ? 0 : row
    const needle = needleAt(row)
    const size = needle.bytes.length
    const by = [others.offsets[o]!, others.offsets[o + 1]!] as const
    const end = offsets[t + 1]!
    let at = offsets[t]!
    const text = source.subarray(0, end)
    for (;;) {
      const found = size === 0 ? nextCharacter(text, at, end) : indexOf(text, needle, at)
      if (size === 0) builder.bytes(others.bytes, ...by)
      if (found === -1) break
      builder.bytes(text, at, found)
      if (size > 0) builder.bytes(others.bytes, ...by)
      at = found + size
    }
    builder.bytes(text, at, end)
  })
}

/** Return the offset after the character at `at`, or -1 at the end of the text. */
function nextCharacter(bytes: Uint8Array, at: number, end: number): number {
  if (at === end) return -1
  let next = at + 1
  while (next < end && (bytes[next]! & 0xc0) === 0x80) next++
  return next
}

/**
 * Compute `split_part(text, separator, n)`: part number n of the text. Parts count from 1, or from the end for a
 * negative n. The result is empty if there is no such part. An empty separator does not split the text.
 */
export function splitPart(call: Call): Column {
  const { args, describe } = call
  const [text, separator, number] = args as [Operand, Operand, Operand]
  const { bytes, offsets } = byteRowsOf(text.column)
  checkReadings(text, call.length)
  const needleAt = needlesOf(separator)
  return growRows(call, [text], (builder, row) => {
    const n = numberOf(number, row)
    if (n === 0) {
      throw invalidInput(`parts are counted from 1, or -1 from the end, in ${describe()}`, {
        hint: 'write 1 for the first part',
      })
    }
    const at = text.constant ? 0 : row
    const needle = needleAt(row)
    const [start, end] = [offsets[at]!, offsets[at + 1]!]
    const wanted = n > 0 ? n : n + 1 + countParts(bytes, start, end, needle)
    let from = start
    for (let part = 1; part <= wanted; part++) {
      const stop = needle.bytes.length === 0 ? -1 : findNeedle(needle, bytes, from, end)
      if (part === wanted) builder.bytes(bytes, from, stop === -1 ? end : stop - needle.bytes.length)
      if (stop === -1) return
      from = stop
    }
  })
}

function countParts(bytes: Uint8Array, start: number, end: number, separator: Needle): number {
  let count = 1
  if (separator.bytes.length === 0) return count
  for (let from = start; ; count++) {
    from = findNeedle(separator, bytes, from, end)
    if (from === -1) return count
  }
}

const wordCharacter = /[\p{Alphabetic}\p{N}]/u

/**
 * Compute `initcap(text)`: the first letter of each word in upper case, and the other letters in lower case. A word is
 * a run of letters and digits.
 */
export function capitalized(call: Call): Column {
  const [argument] = call.args as [Operand]
  return growRows(call, [argument], (builder, row) => {
    let text = ''
    let isInside = false
    for (const character of textOf(argument, row)) {
      text += isInside ? character.toLowerCase() : character.toUpperCase()
      isInside = wordCharacter.test(character)
    }
    builder.text(text)
  })
}

/** Maximum length of the arguments `from` and `to` of `translate`, in UTF-16 units. */
const maxCharacters = 32_768

/**
 * Compute `translate(text, from, to)`: replace each character of the text that occurs in `from` by the character at the
 * same position of `to`. If `to` has no such position, the character is removed.
 */
export function translated(call: Call): Column {
  const { args } = call
  checkReadings(args[0]!, call.length)
  let [from, to] = ['', '']
  let positions = new Map<string, number>()
  let targets: readonly string[] = []
  return growRows(call, args, (builder, row) => {
    const [nextFrom, nextTo] = [characterList(args[1]!, row), characterList(args[2]!, row)]
    if (nextFrom !== from) positions = positionsOf(nextFrom)
    if (nextTo !== to) targets = Array.from(nextTo)
    ;[from, to] = [nextFrom, nextTo]
    let text = ''
    for (const character of textOf(args[0]!, row)) {
      const position = positions.get(character)
      text += position === undefined ? character : (targets[position] ?? '')
    }
    builder.text(text)
  })
}

function characterList(operand: Operand, row: number): string {
  const text = textOf(operand, row)
  if (text.length <= maxCharacters) return text
  throw invalidInput(`${text.length} characters are too many for translate`, {
    hint: `pass at most ${maxCharacters}; replace substitutes whole texts`,
  })
}

/** Return the first position of each character. */
function positionsOf(characters: string): Map<string, number> {
  const positions = new Map<string, number>()
  let position = 0
  for (const character of characters) {
    if (!positions.has(character)) positions.set(character, position)
    position++
  }
  return positions
}

/** Compute `to_hex(integer)`. Negative integers are written in two's complement with the width of their type. */
export function toHex(call: Call): Column {
  const { args, length } = call
  const { type } = args[0]!.column
  const bits = type.kind === 'int' ? type.bits : 64
  return writeRows(call, new ByteBuilder(length, length * 8), (builder, row) => {
    if (isWide(type)) return builder.text(BigInt.asUintN(64, wideOf(args[0]!, row)).toString(16))
    const value = (args[0]!.column.values as Int32Array)[args[0]!.constant ? 0 : row]!
    builder.text((value < 0 ? value + 2 ** bits : value).toString(16))
  })
}

const separators = /[^\p{Alphabetic}\p{N}]+/u

/**
 * Compute `contains_tokens(text, tokens)`: whether the text contains all tokens. Both arguments are split into tokens,
 * which are runs of letters and digits.
 */
export function containsTokens(call: Call): Truth {
  const { args, length } = call
  const { needed } = strictRows(call)
  const isTrue = new Uint32Array(wordCount(length))
  const presentIn = cachedTokens()
  const wantedIn = cachedTokens()
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const wanted = wantedIn(textOf(args[1]!, i))
    const present = presentIn(textOf(args[0]!, i))
    if (hasAll(present, wanted)) isTrue[i >>> 5]! |= 1 << (i & 31)
  }
  return strictTruth(isTrue, args, length)
}

function hasAll(present: ReadonlySet<string>, wanted: ReadonlySet<string>): boolean {
  for (const token of wanted) if (!present.has(token)) return false
  return true
}

/** Return a function that returns the tokens of a text. It caches the tokens of the last text. */
function cachedTokens(): (text: string) => ReadonlySet<string> {
  let known = ''
  let tokens: ReadonlySet<string> = new Set()
  return text => {
    if (text !== known) tokens = new Set(tokensOf(text))
    known = text
    return tokens
  }
}

function tokensOf(text: string): string[] {
  return text.split(separators).filter(token => token !== '')
}

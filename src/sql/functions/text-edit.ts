/** Functions that write texts anew. A character is a code point; what may outgrow its arguments is bounded. */
import type { Column } from '../../arrow/column.js'
import { invalidInput } from '../../errors.js'
import { ByteBuilder } from '../kernels/byte-builder.js'
import { strictTruth, type Truth } from '../kernels/truth.js'
import { type ByteRows, bitAt, byteRowsOf, isWide, type Operand, wordCount } from '../values/vector.js'
import type { Call } from './call.js'
import { numberOf, strictRows, textOf, totalBytes, wideOf } from './operands.js'
import { countCharacters, skipCharacters } from './strings.js'

/** The text of every row whose arguments hold values. */
export function writeRows(
  call: Call,
  builder: ByteBuilder,
  write: (builder: ByteBuilder, row: number) => void,
): Column {
  const { valid, needed } = strictRows(call)
  for (let i = 0; i < call.length; i++) {
    if (bitAt(needed, i)) write(builder, i)
    builder.endRow()
  }
  return builder.finish(call.type, valid)
}

/** `repeat(text, times)`: empty for no times and less. */
export function repeated(call: Call): Column {
  const [text, times] = call.args as [Operand, Operand]
  const { bytes, offsets } = byteRowsOf(text.column)
  return writeRows(call, ByteBuilder.growing(call.length, totalBytes(text, call.length)), (builder, row) => {
    const at = text.constant ? 0 : row
    builder.repeat(bytes, offsets[at]!, offsets[at + 1]!, Math.max(0, numberOf(times, row)))
  })
}

/** `lpad(text, length)`, `lpad(text, length, fill)`: exactly `length` characters; the start of a longer text. */
export function padStart(call: Call): Column {
  return pad(call, true)
}

export function padEnd(call: Call): Column {
  return pad(call, false)
}

function pad(call: Call, atStart: boolean): Column {
  const { args, length } = call
  const [text, wanted, fills] = args as [Operand, Operand, Operand?]
  const { bytes, offsets } = byteRowsOf(text.column)
  const { bytes: fillBytes, offsets: fillOffsets } = fills === undefined ? aSpace : byteRowsOf(fills.column)
  return writeRows(call, ByteBuilder.growing(length, totalBytes(text, length)), (builder, row) => {
    const at = text.constant ? 0 : row
    const fillAt = fills === undefined || fills.constant ? 0 : row
    const [start, end] = [offsets[at]!, offsets[at + 1]!]
    const [fillStart, fillEnd] = [fillOffsets[fillAt]!, fillOffsets[fillAt + 1]!]
    const count = Math.max(0, numberOf(wanted, row))
    const missing = count - countCharacters(bytes, start, end)
    const last = missing < 0 ? skipCharacters(bytes, start, end, count) : end
    if (!atStart) builder.bytes(bytes, start, last)
    if (missing > 0 && fillEnd > fillStart) {
      const fillCount = countCharacters(fillBytes, fillStart, fillEnd)
      builder.repeat(fillBytes, fillStart, fillEnd, Math.floor(missing / fillCount))
      builder.bytes(fillBytes, fillStart, skipCharacters(fillBytes, fillStart, fillEnd, missing % fillCount))
    }
    if (atStart) builder.bytes(bytes, start, last)
  })
}

const aSpace: ByteRows = { bytes: Uint8Array.of(32), offsets: Int32Array.of(0, 1) }

/** `replace(text, part, by)`; the empty part is before every character and at the end. */
export function replaceAll(call: Call): Column {
  const { args, length } = call
  const [texts, parts, others] = args.map(({ column }) => byteRowsOf(column))
  const source = Buffer.from(texts!.bytes.buffer, texts!.bytes.byteOffset, texts!.bytes.byteLength)
  const rowOf = (which: number, row: number) => (args[which]!.constant ? 0 : row)
  return writeRows(call, ByteBuilder.growing(length, totalBytes(args[0]!, length)), (builder, row) => {
    const [t, p, o] = [rowOf(0, row), rowOf(1, row), rowOf(2, row)]
    const part = parts!.bytes.subarray(parts!.offsets[p]!, parts!.offsets[p + 1]!)
    const by = [others!.offsets[o]!, others!.offsets[o + 1]!] as const
    const end = texts!.offsets[t + 1]!
    let at = texts!.offsets[t]!
    const text = source.subarray(0, end)
    for (;;) {
      const found = part.length === 0 ? nextCharacter(text, at, end) : text.indexOf(part, at)
      if (part.length === 0) builder.bytes(others!.bytes, ...by)
      if (found === -1) break
      builder.bytes(text, at, found)
      if (part.length > 0) builder.bytes(others!.bytes, ...by)
      at = found + part.length
    }
    builder.bytes(text, at, end)
  })
}

/** The end of the character at `at`, or -1 at the end. */
function nextCharacter(bytes: Uint8Array, at: number, end: number): number {
  if (at === end) return -1
  let next = at + 1
  while (next < end && (bytes[next]! & 0xc0) === 0x80) next++
  return next
}

/**
 * `split_part(text, separator, n)`: part n from 1, or from the end for a negative n; empty where there is none. The empty
 * separator separates nothing.
 */
export function splitPart(call: Call): Column {
  const { args, length, describe } = call
  return writeRows(call, new ByteBuilder(length, totalBytes(args[0]!, length)), (builder, row) => {
    const text = textOf(args[0]!, row)
    const separator = textOf(args[1]!, row)
    const n = numberOf(args[2]!, row)
    if (n === 0) throw invalidInput(`parts are counted from 1, or -1 from the end, in ${describe()}`)
    const parts = separator === '' ? [text] : text.split(separator)
    builder.text(parts.at(n > 0 ? n - 1 : n) ?? '')
  })
}

const wordCharacter = /[\p{Alphabetic}\p{N}]/u

/** `initcap(text)`: the first letter of every word large, the others small; letters and digits make words. */
export function capitalized(call: Call): Column {
  const { args, length } = call
  return writeRows(call, new ByteBuilder(length, totalBytes(args[0]!, length)), (builder, row) => {
    let text = ''
    let isInside = false
    for (const character of textOf(args[0]!, row)) {
      text += isInside ? character.toLowerCase() : character.toUpperCase()
      isInside = wordCharacter.test(character)
    }
    builder.text(text)
  })
}

/** `translate(text, from, to)`: each character of `from` becomes the one at its place in `to`, or nothing. */
export function translated(call: Call): Column {
  const { args, length } = call
  let known = ['', '']
  let mapping = new Map<string, string>()
  return writeRows(call, new ByteBuilder(length, totalBytes(args[0]!, length)), (builder, row) => {
    const [from, to] = [textOf(args[1]!, row), textOf(args[2]!, row)]
    if (from !== known[0] || to !== known[1]) {
      const targets = Array.from(to)
      // The first of equal characters counts.
      mapping = new Map(
        Array.from(from)
          .map((character, i) => [character, targets[i] ?? ''] as const)
          .reverse(),
      )
      known = [from, to]
    }
    let text = ''
    for (const character of textOf(args[0]!, row)) text += mapping.get(character) ?? character
    builder.text(text)
  })
}

/** `to_hex(integer)`, negative ones in two's complement of their width. */
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

/** `contains_tokens(text, tokens)`: whether every run of letters and digits in the second is one in the first. */
export function containsTokens(call: Call): Truth {
  const { args, length } = call
  const { needed } = strictRows(call)
  const isTrue = new Uint32Array(wordCount(length))
  let known: string | null = null
  let wanted: readonly string[] = []
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const tokens = textOf(args[1]!, i)
    if (tokens !== known) wanted = tokensOf(tokens)
    known = tokens
    const present = new Set(wanted.length === 0 ? [] : tokensOf(textOf(args[0]!, i)))
    if (wanted.every(token => present.has(token))) isTrue[i >>> 5]! |= 1 << (i & 31)
  }
  return strictTruth(isTrue, args, length)
}

function tokensOf(text: string): string[] {
  return text.split(separators).filter(token => token !== '')
}

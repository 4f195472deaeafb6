/** Functions that use regular expressions. Positions count characters from 1. NULL as flags means no flags. */
import type { Column } from '../../arrow/column.js'
import { invalidInput } from '../../errors.js'
import type { ByteBuilder } from '../kernels/byte-builder.js'
import { likeRows, plainPattern } from '../kernels/like.js'
import { strictTruth, type Truth } from '../kernels/truth.js'
import { utf8 } from '../values/types.js'
import { bitAt, byteRowsOf, columnOf, type Operand, validWords, wordCount } from '../values/vector.js'
import type { Call } from './call.js'
import { checkReadings, growingFrom, growRows, numberOf, strictRows, textOf } from './operands.js'
import { compileRegexp, type Regexp } from './regexp.js'
import { checkFlags, plainText } from './regexp-syntax.js'

/** Compiles the pattern of each row. The last pattern is kept, because consecutive rows often have the same pattern. */
class Patterns {
  readonly #pattern: Operand
  readonly #flags: Operand | undefined
  readonly #hasFlags: Uint32Array | null
  readonly #others: string
  #source = ''
  #letters = ''
  #compiled: Regexp | null = null

  /** `others`: flags that the function interprets itself. They are not flags of the pattern. */
  constructor({ args, length }: Call, flags: Operand | undefined, others = '') {
    const [text, pattern] = args as [Operand, Operand]
    checkReadings(text, length)
    this.#pattern = pattern
    this.#flags = flags
    this.#hasFlags = flags === undefined ? null : validWords(flags.column)
    this.#others = others
  }

  at(row: number): Regexp {
    const source = textOf(this.#pattern, row)
    const letters = this.flagsAt(row)
    if (this.#compiled === null || source !== this.#source || letters !== this.#letters) {
      checkFlags(letters, this.#others)
      this.#compiled = compileRegexp(source, letters.replaceAll('g', ''))
      this.#source = source
      this.#letters = letters
    }
    return this.#compiled
  }

  flagsAt(row: number): string {
    if (this.#flags === undefined) return ''
    const isNull = this.#hasFlags !== null && !bitAt(this.#hasFlags, this.#flags.constant ? 0 : row)
    return isNull ? '' : textOf(this.#flags, row)
  }
}

/** Compute `regexp_like(text, pattern)` or `regexp_like(text, pattern, flags)`. */
export function regexpLike(call: Call): Truth {
  const [text, pattern, flags] = call.args as [Operand, Operand, Operand?]
  const { length } = call
  const strict = { ...call, args: [text, pattern] }
  const plain = flags === undefined ? likePlain(strict) : null
  if (plain !== null) return plain
  const isTrue = new Uint32Array(wordCount(length))
  const { needed } = strictRows(strict)
  const patterns = new Patterns(call, flags)
  for (let i = 0; i < length; i++) {
    if (bitAt(needed, i) && patterns.at(i).test(textOf(text, i))) isTrue[i >>> 5]! |= 1 << (i & 31)
  }
  return strictTruth(isTrue, strict.args, length)
}

/**
 * Evaluate a constant pattern without special characters as LIKE, which is faster. Return null for any other pattern.
 */
function likePlain({ args, length, rows }: Call): Truth | null {
  const [text, pattern] = args as [Operand, Operand]
  if (text.constant || !pattern.constant || pattern.column.nullCount > 0) return null
  const plain = plainText(textOf(pattern, 0))
  if (plain === null) return null
  const shape = plain.atStart ? (plain.atEnd ? 'exact' : 'prefix') : plain.atEnd ? 'suffix' : 'contains'
  const like = plainPattern(shape, new TextEncoder().encode(plain.text))
  return strictTruth(likeRows(like, byteRowsOf(text.column), length, rows), args, length)
}

/**
 * Compute `regexp_match(text, pattern)`: a list of the texts that the groups of the first match matched. Groups that
 * did not take part are left out. If the pattern has no groups, the list has the whole match. The result is NULL if
 * there is no match.
 */
export function regexpMatch(call: Call): Column {
  const { length, type, args } = call
  const [text, pattern, flags] = args as [Operand, Operand, Operand?]
  const { needed } = strictRows({ ...call, args: [text, pattern] })
  const patterns = new Patterns(call, flags)
  const valid = new Uint32Array(wordCount(length))
  const offsets = new Int32Array(length + 1)
  const parts: string[] = []
  for (let i = 0; i < length; i++) {
    const subject = bitAt(needed, i) ? textOf(text, i) : ''
    const found = bitAt(needed, i) ? patterns.at(i).search(subject)(0) : null
    if (found !== null) {
      valid[i >>> 5]! |= 1 << (i & 31)
      for (let group = found.length > 2 ? 2 : 0; group < found.length; group += 2) {
        if (found[group] !== -1) parts.push(subject.slice(found[group], found[group + 1]))
      }
    }
    offsets[i + 1] = parts.length
  }
  const builder = growingFrom([text], parts.length)
  for (const part of parts) {
    builder.text(part)
    builder.endRow()
  }
  return columnOf(type, length, { offsets, children: [builder.finish(utf8, null)] }, valid)
}

/** Maximum length of a replacement in UTF-16 units. */
const maxReplacement = 32_768

/**
 * Maximum number of parts of a replacement (groups, and texts between them), because each match processes all parts.
 */
const maxPieces = 256

/** Compute `regexp_replace(text, pattern, by)`: replace the first match, or all matches with the flag g. */
export function regexpReplace(call: Call): Column {
  const [text, , by, flags] = call.args as [Operand, Operand, Operand, Operand?]
  const patterns = new Patterns(call, flags, 'g')
  let template = ''
  let pieces: readonly Piece[] = []
  return growRows(call, [text, by], (builder, row) => {
    const regexp = patterns.at(row)
    const written = textOf(by, row)
    if (written !== template) pieces = piecesOf(written)
    template = written
    replaceInto(builder, textOf(text, row), regexp, pieces, patterns.flagsAt(row).includes('g'))
  })
}

function replaceInto(
  builder: ByteBuilder,
  text: string,
  regexp: Regexp,
  pieces: readonly Piece[],
  all: boolean,
): void {
  let done = 0
  eachMatch(regexp, text, found => {
    builder.text(text.slice(done, found[0]))
    for (const piece of pieces) builder.text(expand(piece, text, found, regexp))
    done = found[1]!
    return all
  })
  builder.text(text.slice(done))
}

/** Maximum number of times that all searches together read a text, if the pattern may read the text for every match. */
const maxReadings = 1024

/**
 * Call `visit` for each match in order, until `visit` returns false. An empty match directly after the previous match
 * is skipped.
 *
 * Throws `InvalidInput` if the search could take time quadratic in the length of the text.
 */
function eachMatch(regexp: Regexp, text: string, visit: (found: readonly number[]) => boolean): void {
  const search = regexp.search(text)
  let budget = regexp.mayRescan ? maxReadings * (text.length + maxReadings) : Number.POSITIVE_INFINITY
  let from = 0
  let end = -1
  while (from <= text.length) {
    budget -= text.length - from
    if (budget < 0) {
      throw invalidInput(`too many matches of a regular expression in a text of ${text.length} characters`, {
        hint: 'avoid a required part after an unbounded repetition such as .* in an alternative',
      })
    }
    const found = search(from)
    if (found === null) return
    const [start, stop] = found as [number, number]
    if (start < stop || stop !== end) {
      if (!visit(found)) return
      end = stop
    }
    from = start < stop ? stop : stop + ((text.codePointAt(stop) ?? 0) > 0xffff ? 2 : 1)
  }
}

/** A part of a replacement: literal text, or a reference to a group by number or name. */
type Piece = string | { readonly group: number | string }

/**
 * Parse a replacement. `\1`, `$1`, `${1}`, `$name` and `${name}` refer to groups. `$$` is a single $. A name without
 * braces extends over all following ASCII letters, digits and _.
 */
function piecesOf(replacement: string): readonly Piece[] {
  if (replacement.length > maxReplacement) {
    throw invalidInput(`a replacement of ${replacement.length} characters is too long`, {
      hint: `write a replacement of at most ${maxReplacement} characters`,
    })
  }
  const pieces: Piece[] = []
  const reference = /\\{1,2}(\d+)|\$(?:(\$)|(\w+)|\{([^{}]+)\})/g
  let done = 0
  for (const match of replacement.matchAll(reference)) {
    if (match.index > done) pieces.push(replacement.slice(done, match.index))
    const name = match[1] ?? match[3] ?? match[4]
    pieces.push(name === undefined ? '$' : { group: /^\d+$/.test(name) ? Number(name) : name })
    done = match.index + match[0].length
  }
  if (done < replacement.length) pieces.push(replacement.slice(done))
  if (pieces.length > maxPieces) {
    throw invalidInput(`a replacement with ${pieces.length} groups and texts between them is too large`, {
      hint: `write at most ${maxPieces} groups and texts`,
    })
  }
  return pieces
}

function expand(piece: Piece, text: string, found: readonly number[], { groupNames }: Regexp): string {
  if (typeof piece === 'string') return piece
  const named = typeof piece.group === 'string'
  const group = named ? (Object.hasOwn(groupNames, piece.group) ? groupNames[piece.group]! : -1) : piece.group
  const start = found[2 * Number(group)]
  return start === undefined || start === -1 ? '' : text.slice(start, found[2 * Number(group) + 1])
}

/**
 * Compute `regexp_count(text, pattern)` or `regexp_count(text, pattern, start, flags)`. The result is never NULL. It is
 * 0 if the text, pattern or start is NULL.
 */
export function regexpCount(call: Call): Column {
  const { args, length, type } = call
  const [text, pattern, start, flags] = args as [Operand, Operand, Operand?, Operand?]
  const { needed } = strictRows({
    ...call,
    args: start === undefined ? [text, pattern] : [text, pattern, start],
  })
  const patterns = new Patterns(call, flags)
  const values = new BigInt64Array(length)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const subject = textFrom(call, textOf(text, i), start === undefined ? 1 : numberOf(start, i))
    if (subject === null) continue
    let count = 0
    eachMatch(patterns.at(i), subject, () => {
      count++
      return true
    })
    values[i] = BigInt(count)
  }
  return columnOf(type, length, { values }, null)
}

/** Return the part of a text from character `start` on, counted from 1. Return null if the text ends before it. */
function textFrom({ describe }: Call, text: string, start: number): string | null {
  if (start < 1) {
    throw invalidInput(`characters are counted from 1, not ${start}, in ${describe()}`, {
      hint: 'write 1 for the whole text',
    })
  }
  let at = 0
  for (let remaining = start - 1; remaining > 0; remaining--) {
    if (at >= text.length) return null
    at += text.codePointAt(at)! > 0xffff ? 2 : 1
  }
  return text.slice(at)
}

function countCharacters(text: string, end: number): number {
  let count = 0
  for (let at = 0; at < end; count++) at += text.codePointAt(at)! > 0xffff ? 2 : 1
  return count
}

/**
 * Compute `regexp_instr(text, pattern, start, n, flags, group)`: the position of match number n from `start` on, or of
 * a group of this match. The result is 0 if there is no such match or group.
 */
export function regexpPosition(call: Call): Column {
  const { args, length, type, describe } = call
  const [text, pattern, start, nth, flags, group] = args as [Operand, Operand, ...(Operand | undefined)[]]
  const strict = [text, pattern, start, nth, group].filter(arg => arg !== undefined)
  const { valid, needed } = strictRows({ ...call, args: strict })
  const patterns = new Patterns(call, flags)
  const values = new BigInt64Array(length)
  const numberAt = (arg: Operand | undefined, row: number, otherwise: number) =>
    arg === undefined ? otherwise : numberOf(arg, row)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const first = numberAt(start, i, 1)
    const subject = textFrom(call, textOf(text, i), first)
    let remaining = numberAt(nth, i, 1)
    if (remaining < 1) {
      throw invalidInput(`matches are counted from 1, not ${remaining}, in ${describe()}`, {
        hint: 'write 1 for the first match',
      })
    }
    const wanted = numberAt(group, i, 0)
    if (subject === null || subject === '' || textOf(pattern, i) === '') continue
    eachMatch(patterns.at(i), subject, found => {
      remaining--
      const position = found[2 * wanted] ?? -1
      if (remaining === 0 && position !== -1) values[i] = BigInt(first + countCharacters(subject, position))
      return remaining > 0
    })
  }
  return columnOf(type, length, { values }, valid)
}

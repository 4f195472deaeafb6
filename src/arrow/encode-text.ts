/** Encodes many strings into one UTF-8 buffer. */
import { invalidInput, quote, type SheafError, schemaMismatch } from '../errors.js'
import { asBytes } from './layout.js'
import type { Place } from './place.js'

/**
 * Maximum average length, in UTF-16 code units, of the strings of a group that are joined and encoded in one call. For
 * longer strings, joining takes longer than one call per string.
 */
const shortText = 64
const groupSize = 256

/**
 * Encode all strings as UTF-8. Null rows have no bytes. Throws `SchemaValidation` for a string with half of a surrogate
 * pair, which UTF-8 cannot represent. The message names the row and the column.
 */
export function encodeTexts(
  values: readonly (string | null | undefined)[],
  place: Place,
): { values: Uint8Array; offsets: Int32Array } {
  const offsets = new Int32Array(values.length + 1)
  let bytes = Buffer.allocUnsafeSlow(1024)
  let at = 0
  for (let start = 0; start < values.length; start += groupSize) {
    const end = Math.min(values.length, start + groupSize)
    let characters = 0
    for (let i = start; i < end; i++) characters += values[i]?.length ?? 0
    // A UTF-16 code unit takes at most 3 bytes.
    if (at + 3 * characters > bytes.length) bytes = grow(bytes, at, 3 * characters, place, start)
    const joined =
      characters <= shortText * (end - start) && encodeJoined(values, start, end, bytes, at, offsets)
    if (!joined) {
      let next = at
      for (let i = start; i < end; i++) {
        const value = values[i]
        if (value) {
          if (!value.isWellFormed()) throw splitSurrogate(value, place, i)
          next += bytes.write(value, next)
        }
        offsets[i + 1] = next
      }
    }
    at = offsets[end]!
  }
  const used = asBytes(bytes).subarray(0, at)
  return { values: at > 0.75 * bytes.length ? used : used.slice(), offsets }
}

function splitSurrogate(text: string, place: Place, row: number): SheafError {
  const at = text.search(/[\ud800-\udfff]/u)
  return schemaMismatch(
    `row ${place.row(row)}: column ${quote(place.path)} holds half of a surrogate pair at character ${at} of ${quote(text)}`,
    { hint: 'do not split texts inside a character; text.toWellFormed() replaces each half by U+FFFD' },
  )
}

/**
 * Encode the strings of a group as one joined string. Returns false if the result differs from that of encoding each
 * string separately.
 */
function encodeJoined(
  values: readonly (string | null | undefined)[],
  start: number,
  end: number,
  bytes: Buffer,
  at: number,
  offsets: Int32Array,
): boolean {
  const text = values.slice(start, end).join('')
  if (!text.isWellFormed()) return false
  const written = bytes.write(text, at)
  const ascii = written === text.length
  let next = at
  for (let i = start; i < end; i++) {
    const value = values[i]
    if (value) next += ascii ? value.length : Buffer.byteLength(value)
    offsets[i + 1] = next
  }
  // One string may end with half of a surrogate pair, and the next string may start with the other half. The joined
  // string is then well-formed, but the two strings are not. In this case the sum of the separate lengths differs from
  // the joined length.
  return next === at + written
}

function grow(bytes: Buffer, used: number, more: number, place: Place, row: number): Buffer<ArrayBuffer> {
  if (used + more > 0x7fffffff) {
    throw invalidInput(`row ${place.row(row)}: column ${quote(place.path)} has more than 2 GiB of text`, {
      hint: 'send fewer rows at a time',
    })
  }
  const grown = Buffer.allocUnsafeSlow(Math.min(0x7fffffff, Math.max(2 * bytes.length, used + more)))
  bytes.copy(grown, 0, 0, used)
  return grown
}

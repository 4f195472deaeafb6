/** Bounds of texts and byte strings, cut where they are long. */
import { isUtf8 } from 'node:buffer'

/** Texts and bytes are cut to this many bytes; raising the last character may add one. */
export const longestBound = 32

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** The value itself, or where it is long, its beginning: everything that begins so is not less. */
export function boundBelow(value: Uint8Array, isText: boolean): string | Uint8Array {
  const kept = value.slice(0, cutOf(value, isText))
  return isText ? decoder.decode(kept) : kept
}

/** The value itself, or where it is long, the least of that length above all that begins so; null when there is none. */
export function boundAbove(value: Uint8Array, isText: boolean): string | Uint8Array | null {
  const cut = cutOf(value, isText)
  if (cut === value.length) return boundBelow(value, isText)
  if (isText) return textAbove(decoder.decode(value.subarray(0, cut)))
  let end = cut
  while (end > 0 && value[end - 1] === 0xff) end--
  if (end === 0) return null
  const raised = value.slice(0, end)
  raised[end - 1]! += 1
  return raised
}

/** How many of a value's bytes a bound keeps: of a text whole characters only. */
function cutOf(value: Uint8Array, isText: boolean): number {
  let cut = Math.min(value.length, longestBound)
  while (isText && !isUtf8(value.subarray(0, cut))) cut--
  return cut
}

/** The least text that is greater than all texts that begin with `text`; null when there is none. */
export function textAbove(text: string): string | null {
  const characters = [...text]
  while (characters.length > 0) {
    const last = characters.pop()!.codePointAt(0)!
    if (last === 0x10ffff) continue
    // Surrogates are no characters.
    const next = last === 0xd7ff ? 0xe000 : last + 1
    return characters.join('') + String.fromCodePoint(next)
  }
  return null
}

/** Compute bounds of strings and byte strings. Long values are cut. */
import { isUtf8 } from 'node:buffer'

/** Maximum bytes of a value that a bound keeps. An upper bound may be longer, if its last character was incremented. */
export const longestBound = 32

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Return a lower bound of a value: the value itself, or its first bytes if it is long. `isText`: return a string. */
export function boundBelow(value: Uint8Array, isText: boolean): string | Uint8Array {
  const prefix = value.slice(0, cutOf(value, isText))
  return isText ? decoder.decode(prefix) : prefix
}

/**
 * Return an upper bound of a value. It is the value itself, or for a long value a value above all values with the same
 * first bytes. Return null if there is no such value. `isText`: return a string.
 */
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

/** Return the number of bytes of a value that a bound keeps. A bound of a string keeps only whole characters. */
function cutOf(value: Uint8Array, isText: boolean): number {
  let cut = Math.min(value.length, longestBound)
  while (isText && !isUtf8(value.subarray(0, cut))) cut--
  return cut
}

/** Return the smallest string that is greater than all strings with the prefix `text`, or null if there is none. */
export function textAbove(text: string): string | null {
  const characters = [...text]
  while (characters.length > 0) {
    const last = characters.pop()!.codePointAt(0)!
    if (last === 0x10ffff) continue
    // Skip the surrogates, because they are not characters.
    const next = last === 0xd7ff ? 0xe000 : last + 1
    return characters.join('') + String.fromCodePoint(next)
  }
  return null
}

/** Reading JSON from strangers: bounded size, bounded depth, one kind of error. */
import { invalidInput, quote } from '../errors.js'

/** Levels of nesting; more than any request needs. */
const maxDepth = 128

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * The value of a JSON text in UTF-8. Throws InvalidInput: status 413 above `maxBytes`, else 400.
 *
 * Integers above 2^53 - 1 come out rounded, yet never to 2^53 - 1 or less: who wants an integer still sees them (`isRounded`).
 */
export function readJson(bytes: Uint8Array, maxBytes: number): unknown {
  if (bytes.length > maxBytes) {
    throw invalidInput(`the body has ${bytes.length} bytes, more than the limit of ${maxBytes}`, {
      status: 413,
    })
  }
  if (nestsDeeper(bytes)) throw invalidInput(`the body is nested deeper than ${maxDepth} levels`)
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (cause) {
    // What it shows of the text may be half a secret, so that is left out, and with it the cause.
    const reason = cause instanceof Error ? cause.message.replace(/, (\.\.\.)?".*/s, '') : String(cause)
    throw invalidInput(`the body is not valid JSON: ${quote(reason)}`)
  }
}

/** Whether a number may stand for several integers that a text can say. So does every larger one, whole as it is. */
export function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

/** Whether brackets outside strings open more than `maxDepth` levels. Bytes of multi-byte characters are never brackets. */
function nestsDeeper(bytes: Uint8Array): boolean {
  let depth = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (inString) {
      if (byte === 0x5c) i++
      else if (byte === 0x22) inString = false
    } else if (byte === 0x22) inString = true
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > maxDepth) return true
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return false
}

/** Reads JSON from untrusted clients. Limits its size and depth, and throws only InvalidInput. */
import { invalidInput, quote, type SheafError } from '../errors.js'

/** Maximum number of members of all objects together, and of one object. */
interface MostMembers {
  readonly inAll: number
  readonly inOne: number
}

const anyMembers = { inAll: Number.POSITIVE_INFINITY, inOne: Number.POSITIVE_INFINITY }

/** Maximum levels of nesting. No valid request has more levels. */
const maxDepth = 128

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parse a JSON text in UTF-8. Throws InvalidInput. Its status is 413 for more than `maxBytes` bytes and for more
 * members than `most` allows, otherwise 400. The reason for the limit of members is that parsing cannot be divided into
 * steps, and each member takes microseconds.
 *
 * Integers above 2^53 - 1 may be rounded. The rounded number is above 2^53 - 1 too, so `isRounded` detects it.
 */
export function readJson(bytes: Uint8Array, maxBytes: number, most: MostMembers = anyMembers): unknown {
  if (bytes.length > maxBytes) {
    throw invalidInput(`the body has ${bytes.length} bytes, more than the limit of ${maxBytes}`, {
      status: 413,
    })
  }
  checkStructure(bytes, most)
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (cause) {
    // The message of JSON.parse quotes a part of the text, which may contain a secret. So remove the quotation, and set
    // no cause.
    const reason = cause instanceof Error ? cause.message.replace(/, (\.\.\.)?".*/s, '') : String(cause)
    throw invalidInput(`the body is not valid JSON: ${quote(reason)}`)
  }
}

/** Return whether a number may be a rounded integer: whether it is an integer above 2^53 - 1 or below -(2^53 - 1). */
export function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

/** Check brackets and colons outside of strings. Bytes of multi-byte characters are never brackets or colons. */
function checkStructure(bytes: Uint8Array, { inAll, inOne }: MostMembers): void {
  /** By depth: the number of members read so far in the open object. */
  const members = new Uint32Array(maxDepth + 1)
  let count = 0
  let depth = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (inString) {
      if (byte === 0x5c) i++
      else if (byte === 0x22) inString = false
    } else if (byte === 0x22) inString = true
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > maxDepth) throw invalidInput(`the body is nested deeper than ${maxDepth} levels`)
      members[depth] = 0
    } else if (byte === 0x5d || byte === 0x7d) depth = Math.max(0, depth - 1)
    else if (byte === 0x3a) {
      if (++count > inAll) throw tooMany(`${inAll} members in all`)
      if (++members[depth]! > inOne) throw tooMany(`${inOne} members in one object`)
    }
  }
}

function tooMany(what: string): SheafError {
  return invalidInput(`the body has more than ${what}`, {
    status: 413,
    hint: 'divide it into several requests',
  })
}

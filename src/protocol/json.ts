/** Reading JSON from strangers: bounded size, bounded depth, one kind of error. */
import { invalidInput, quote, type SheafError } from '../errors.js'

/** Members of all objects together, and of one. */
export interface MostMembers {
  readonly inAll: number
  readonly inOne: number
}

const anyMembers = { inAll: Number.POSITIVE_INFINITY, inOne: Number.POSITIVE_INFINITY }

/** Levels of nesting; more than any request needs. */
const maxDepth = 128

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * The value of a JSON text in UTF-8. Throws InvalidInput: status 413 above `maxBytes`, or for more members of objects than `most` allows, which
 * take microseconds each and cannot be read in steps; else 400.
 *
 * Integers above 2^53 - 1 come out rounded, yet never to 2^53 - 1 or less: who wants an integer still sees them (`isRounded`).
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
    // What it shows of the text may be half a secret, so that is left out, and with it the cause.
    const reason = cause instanceof Error ? cause.message.replace(/, (\.\.\.)?".*/s, '') : String(cause)
    throw invalidInput(`the body is not valid JSON: ${quote(reason)}`)
  }
}

/** Whether a number may stand for several integers that a text can say. So does every larger one, whole as it is. */
export function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

/** Looks at brackets and colons outside of strings. Bytes of multi-byte characters are neither. */
function checkStructure(bytes: Uint8Array, { inAll, inOne }: MostMembers): void {
  /** Of the objects that are open, by depth. */
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
  return invalidInput(`the body has more than ${what}`, { status: 413, hint: 'send it in parts' })
}

/**
 * The rules for keys. They are the same for every store, so that a root can be moved to another store:
 *
 * - printable ASCII without the characters that Windows forbids in names
 * - no segment is empty or ends in a dot or a space; so `.` and `..` are not allowed
 * - at most 1,024 characters, and at most 255 per segment
 * - not under `_tmp`
 */
import { invalidInput, quote } from '../errors.js'

/** The top-level name under which a store may keep its unfinished writes. */
export const temporaryDirectory = '_tmp'

const keyMax = 1024
const segmentMax = 255
const slash = 0x2f

/** By character code: 1 if a name may contain the character. */
const allowed = new Uint8Array(128).fill(1, 0x20, 0x7f)
for (const character of '/\\:*?"<>|') allowed[character.charCodeAt(0)] = 0

/**
 * Return whether `key` is a valid key. Every call of a store checks its key. So this function is a loop, which is 20
 * times as fast as a regular expression.
 */
export function isKey(key: string): boolean {
  if (key.length > keyMax) return false
  let start = 0
  for (let i = 0; i <= key.length; i++) {
    const code = i === key.length ? slash : key.charCodeAt(i)
    if (code === slash) {
      const last = key[i - 1]
      if (i === start || i - start > segmentMax || last === '.' || last === ' ') return false
      start = i + 1
    } else if (allowed[code] !== 1) {
      return false
    }
  }
  return key !== temporaryDirectory && !key.startsWith(`${temporaryDirectory}/`)
}

/** Throw `InvalidInput` unless `key` is a valid key. */
export function checkKey(key: string): void {
  if (!isKey(key)) {
    throw invalidInput(`${quote(key)} is not a valid key`, {
      hint: 'a key is a relative path of printable ASCII names joined by "/"',
    })
  }
}

/** Throw `InvalidInput` if no valid key can start with `prefix`. */
export function checkPrefix(prefix: string): void {
  if (!isKey(prefix) && !isKey(`${prefix}x`)) {
    throw invalidInput(`${quote(prefix)} is not the beginning of a valid key`)
  }
}

/** Return the part of a key before its last '/', or '' at the top level. */
export function directoryOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('/')))
}

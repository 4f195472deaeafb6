/**
 * What a key may look like, the same for every store, so that a root can move from one to another: printable
 * ASCII without what Windows refuses in a name; no segment that is empty or ends in a dot or a space (which
 * rules out `.` and `..`); at most 1,024 characters, 255 per segment; not under `_tmp`.
 */
import { invalidInput, quote } from '../errors.js'

/** The top-level name a store may keep its unfinished writes under. */
export const temporaryDirectory = '_tmp'

const keyMax = 1024
const segmentMax = 255
const slash = 0x2f

/** 1 for the characters a name may hold. */
const allowed = new Uint8Array(128).fill(1, 0x20, 0x7f)
for (const character of '/\\:*?"<>|') allowed[character.charCodeAt(0)] = 0

/** Whether `key` names a blob. Every call on a store asks this, hence the loop: 20 times a regular expression. */
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

/** Throws invalidInput unless `key` names a blob. */
export function checkKey(key: string): void {
  if (!isKey(key)) {
    throw invalidInput(`${quote(key)} is not a key`, {
      hint: 'a key is a relative path of printable ASCII names joined by "/"',
    })
  }
}

/** Throws invalidInput unless some key can start with `prefix`. */
export function checkPrefix(prefix: string): void {
  if (!isKey(prefix) && !isKey(`${prefix}x`)) {
    throw invalidInput(`${quote(prefix)} is not the beginning of a key`)
  }
}

/** All of a key before its last '/', or '' at the top. */
export function directoryOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('/')))
}

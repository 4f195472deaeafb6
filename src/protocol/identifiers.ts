/**
 * Identifiers of namespaces, tables and transactions. An identifier is an array of names in requests, and one string in
 * paths of URLs.
 */
import { invalidInput, quote } from '../errors.js'

export const defaultDelimiter = '$'

/** A delimiter for identifiers with names that contain `$`. No valid name contains this delimiter. */
const rareDelimiter = '\u001f'

const maxNameBytes = 255

/** Decode a path segment once. Throws InvalidInput for malformed percent-encoding. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw invalidInput(`path segment ${quote(segment)} is not valid percent-encoding`)
  }
}

/**
 * Encode a text as a path segment; the inverse of `decodeSegment`. Throws InvalidInput for texts that a URL cannot
 * contain: half of a surrogate pair, and `.` and `..`, which mean directories even if they are encoded.
 */
export function encodeSegment(text: string): string {
  if (isDots(text)) throw invalidInput(`${quote(text)} means a directory in a URL`)
  try {
    return encodeURIComponent(text)
  } catch {
    throw invalidInput(`${quote(text)} contains half a surrogate pair`)
  }
}

function isDots(text: string): boolean {
  return text === '.' || text === '..'
}

/**
 * Return the names in an identifier string. The delimiter alone is the root, `[]`. Empty names are removed, so `$$t$$`
 * is `['t']`. This is unambiguous, because no object can have an empty name.
 */
export function parseId(text: string, delimiter: string = defaultDelimiter): string[] {
  if (delimiter === '') throw invalidInput('delimiter must be a string that is not empty, got ""')
  return canonicalId(text.split(delimiter))
}

/** Return the string form of an identifier. The root is the delimiter alone. */
export function formatId(id: readonly string[], delimiter: string = defaultDelimiter): string {
  return id.length === 0 ? delimiter : id.join(delimiter)
}

/** Return an identifier without its empty names. */
export function canonicalId(id: readonly string[]): string[] {
  return id.filter(name => name !== '')
}

/** Return a delimiter that no name of `id` contains. */
export function delimiterFor(id: readonly string[]): string {
  return id.some(name => name.includes(defaultDelimiter)) ? rareDelimiter : defaultDelimiter
}

/**
 * Return the identifier of a request that has an identifier in the path (decoded) and in the body. If the names of the
 * body, joined by the delimiter, equal the path, the names of the body are returned, because they may contain the
 * delimiter. Throws InvalidInput if path and body differ.
 */
export function agreeOnId(
  path: string,
  body: readonly string[] | undefined,
  delimiter: string = defaultDelimiter,
): string[] {
  const fromPath = parseId(path, delimiter)
  if (body === undefined) return fromPath
  const fromBody = canonicalId(body)
  if (
    formatId(fromBody, delimiter) === path ||
    formatId(fromBody, delimiter) === formatId(fromPath, delimiter)
  ) {
    return fromBody
  }
  throw invalidInput(`id in the path is ${quote(fromPath)} but id in the body is ${quote(fromBody)}`, {
    hint: 'leave id out of the body, or send the same identifier in both',
  })
}

/**
 * Check the name of a new object. Throws InvalidInput for names that some client cannot send in a URL: empty names,
 * `.`, `..`, names with one of `/ \ ? # %`, with control characters or half of a surrogate pair, and names longer than
 * 255 bytes of UTF-8. `where`: position of the name in the request, for the message.
 */
export function checkName(name: string, where: string): void {
  const problem = nameProblem(name)
  if (problem !== undefined) throw invalidInput(`${where} is not a valid name: ${quote(name)} ${problem}`)
}

function nameProblem(name: string): string | undefined {
  if (name === '') return 'is empty'
  if (isDots(name)) return 'means a directory in a URL'
  const bad = /[/\\?#%]/.exec(name)
  if (bad !== null) return `contains ${quote(bad[0])}`
  if (/[^ -~\xa0-\uffff]/.test(name)) return 'contains a control character'
  if (!name.isWellFormed()) return 'contains half a surrogate pair'
  if (Buffer.byteLength(name) > maxNameBytes) return `is longer than ${maxNameBytes} bytes`
  return undefined
}

/** Check the name of an index. Throws InvalidInput for names that a URL cannot contain. */
export function checkIndexName(name: string, where: string): void {
  if (isDots(name) || !name.isWellFormed() || Buffer.byteLength(name) > maxNameBytes) {
    throw invalidInput(`${where} is not a valid name of an index: ${quote(name)}`)
  }
}

/**
 * Check the name of a tag by the rules of Lance: it consists of letters, digits, `.`, `-` and `_`. It does not contain
 * `..`, does not begin or end with `.`, and does not end with `.lock`. Throws InvalidInput.
 */
export function checkTagName(name: string, where: string): void {
  const fits =
    // biome-ignore lint/complexity/useRegexLiterals: V8 checks literals at once, see primitives/lazy-pattern
    new RegExp(String.raw`^[\p{Alphabetic}\p{N}._-]+$`, 'u').test(name) &&
    !/^\.|\.\.|\.(?:lock)?$/.test(name) &&
    name !== '__proto__' &&
    Buffer.byteLength(name) <= maxNameBytes
  if (!fits) {
    throw invalidInput(`${where} is not a valid tag name: ${quote(name)}`, {
      hint: 'use letters, digits, ".", "-" and "_"; the name must not contain "..", begin or end with ".", or end with ".lock"',
    })
  }
}

/** Return the text of an identifier for messages: its names joined by the default delimiter. The root is `$`. */
export function idText(id: readonly string[]): string {
  return quote(id.length === 0 ? '$' : id.join('$'))
}

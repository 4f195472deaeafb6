/** Parse a subset of JSONPath: keys, indexes and *, as in `$.a.b[0]`, `$['a']`, `$."a b"`, `$[last]`, `$.*`, `$[*]`. */
import { invalidInput, quote, unsupported } from '../../errors.js'
import { JsonKind, type JsonReader } from './json.js'

/** One step of a path. */
type JsonStep =
  | { readonly kind: 'member'; readonly key: string }
  /** Selects an element by its index from 0. A negative index counts from the end. */
  | { readonly kind: 'element'; readonly index: number }
  | { readonly kind: 'members' | 'elements' }

export type JsonPath = readonly JsonStep[]

/**
 * Maximum length of a path in UTF-16 units. A limit is needed because parsing may take quadratic time in the length.
 */
const maxLength = 4096

/** Maximum number of steps of a path. */
const maxSteps = 1000

const step =
  /\s*(?:\.\s*(?:(\*)|([\p{L}\p{N}_$-]+)|"((?:[^"\\]|\\.)*)")|\[\s*(?:(\*)|(-?\d{1,9})|last(?:\s*-\s*(\d{1,9}))?|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*\])/uy

/**
 * Parse a JSON path. Throws `InvalidInput` for an invalid path, and `Unsupported` for filters and other features of
 * JSONPath.
 */
export function parseJsonPath(text: string): JsonPath {
  if (text.length > maxLength) {
    throw invalidInput(`a JSON path of ${text.length} characters is too long`, {
      hint: `a path has at most ${maxLength} characters; json_get takes keys of any length`,
    })
  }
  const path: JsonStep[] = []
  const trimmed = text.trim()
  // The leading $ is optional.
  const source = trimmed.startsWith('$') ? trimmed.slice(1) : /^[.[]/.test(trimmed) ? trimmed : `.${trimmed}`
  step.lastIndex = 0
  while (step.lastIndex < source.length) {
    const at = step.lastIndex
    const match = step.exec(source)
    if (match === null || path.length === maxSteps) throw wrongPath(text, source.slice(at))
    path.push(stepOf(match))
  }
  return path
}

function stepOf(match: RegExpExecArray): JsonStep {
  const [whole, members, name, quoted, elements, index, beforeLast, ...keys] = match
  if (members !== undefined) return { kind: 'members' }
  if (elements !== undefined) return { kind: 'elements' }
  const key = name ?? unescaped(quoted ?? keys[0] ?? keys[1])
  if (key !== undefined) return { kind: 'member', key }
  if (index !== undefined) return { kind: 'element', index: Number(index) }
  return { kind: 'element', index: whole.includes('last') ? -1 - Number(beforeLast ?? 0) : 0 }
}

function unescaped(text: string | undefined): string | undefined {
  return text?.replace(/\\(.)/gsu, '$1')
}

function wrongPath(text: string, rest: string) {
  if (/^\s*(\.\.|\[?\s*\?|\.\s*\w+\s*\()|@|\bto\b/.test(rest)) {
    return unsupported(`the JSON path ${quote(text)} has more than keys, indexes and *`, {
      hint: 'write a path such as $.a.b[0] or $.a[*]',
    })
  }
  return invalidInput(`${quote(text)} is not a JSON path`, { hint: 'write a path such as $.a.b[0]' })
}

/** Return the tokens of all values at a path. A path with * can select several values. */
export function selectJson(reader: JsonReader, path: JsonPath): readonly number[] {
  let found = [0]
  for (const step of path) {
    const next: number[] = []
    reader.visited += found.length
    for (const token of found) {
      const kind = reader.kindOf(token)
      if (kind === JsonKind.Object) {
        if (step.kind === 'member') push(next, reader.member(token, step.key))
        else if (step.kind === 'members') for (const child of reader.children(token)) next.push(child)
      } else if (kind === JsonKind.Array) {
        if (step.kind === 'element') push(next, reader.element(token, step.index))
        else if (step.kind === 'elements') for (const child of reader.children(token)) next.push(child)
      }
    }
    found = next
  }
  return found
}

function push(tokens: number[], token: number): void {
  if (token !== -1) tokens.push(token)
}

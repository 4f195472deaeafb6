/**
 * Compile regular expressions for searches that take time linear in the text, with the algorithm of RE2. Only this file
 * uses the package re2js. It is loaded when the first pattern that needs it is compiled.
 */
import { createRequire } from 'node:module'
import { invalidInput, quote } from '../../errors.js'
import { requirePackage } from '../../require-package.js'
import { checkLength, plainText, toRe2 } from './regexp-syntax.js'

/** A compiled pattern. */
export interface Regexp {
  /** Returns whether the text contains a match. */
  test(text: string): boolean
  /** Starts a search in a text, and returns a function that finds the matches. */
  search(text: string): Search
  /** By name: the number of a named group. */
  readonly groupNames: Readonly<Record<string, number>>
  /** Whether a search for all matches in a text may take more than linear time. */
  readonly mayRescan: boolean
}

/**
 * Returns the leftmost match that begins at or after the UTF-16 unit `from`, or null if there is no match. The array
 * has the start and end of the match, and then of each group. Both are -1 for a group that took no part in the match.
 * `^` and `\b` take the text before `from` into account.
 */
type Search = (from: number) => readonly number[] | null

/** Maximum number of cached patterns. */
const maxCached = 32

const compiledPatterns = new Map<string, Regexp>()

type Package = typeof import('re2js')
let loaded: Package | null = null

function loadPackage(): Package {
  const load = () => createRequire(import.meta.url)('re2js')
  return requirePackage('re2js', 'matches regular expressions', import.meta.url, load)
}

/**
 * Compile a pattern. `flags`: any of the letters `imsxUu`. Compiled patterns are cached. Throws `InvalidInput` for a
 * pattern that is invalid or too large, and `Unsupported` for features that need more than linear time.
 */
export function compileRegexp(pattern: string, flags: string): Regexp {
  checkLength(pattern)
  const key = `${flags}/${pattern}`
  const cached = compiledPatterns.get(key)
  if (cached !== undefined) {
    // Move the pattern to the end of the map, so that the first pattern is the least recently used one.
    compiledPatterns.delete(key)
    compiledPatterns.set(key, cached)
    return cached
  }
  const regexp = compile(pattern, flags)
  if (compiledPatterns.size >= maxCached) compiledPatterns.delete(compiledPatterns.keys().next().value!)
  compiledPatterns.set(key, regexp)
  return regexp
}

function compile(pattern: string, flags: string): Regexp {
  const plain = flags === '' ? plainText(pattern) : null
  if (plain !== null && !plain.atStart && !plain.atEnd) return ofPlainText(plain.text)
  const { source, mayRescan, size } = toRe2(pattern, flags)
  loaded ??= loadPackage()
  const { RE2JS, RE2JSException } = loaded
  try {
    const compiled = RE2JS.compile(source)
    const groupCount = compiled.groupCount()
    return {
      groupNames: compiled.namedGroups(),
      mayRescan,
      test(text) {
        checkWork(text, size, maxSteps)
        return compiled.test(text)
      },
      search(text) {
        checkWork(text, size, maxSteps)
        // Call `test` first, because it is much faster than a search if there is no match.
        if (!compiled.test(text)) return () => null
        const matcher = compiled.matcher(text)
        return from => {
          if (!matcher.find(from)) return null
          const positions: number[] = []
          for (let group = 0; group <= groupCount; group++) {
            positions.push(matcher.start(group), matcher.end(group))
          }
          return positions
        }
      },
    }
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    const why = error.message.replace(/^error parsing regexp: /, '')
    throw invalidInput(`${quote(pattern)} is not a regular expression: ${why}`, { cause: error })
  }
}

/** Maximum of (parts of the pattern * characters of the text), because RE2 may test every part at every character. */
const maxSteps = 2 ** 28

/** The same maximum for a pattern without special characters, which is searched by `indexOf`. */
const maxCompared = 2 ** 32

/** Check the work of a search. Throws `InvalidInput` if the text is too long for a pattern of `size` parts. */
function checkWork(text: string, size: number, limit: number): void {
  if (text.length * size <= limit) return
  throw invalidInput(
    `a regular expression of ${size} parts is too large for a text of ${text.length} characters`,
    { hint: `use a pattern of at most ${Math.floor(limit / text.length)} parts for this text` },
  )
}

/** Create the `Regexp` of a pattern without special characters, which needs no package. `wanted`: the literal text. */
function ofPlainText(wanted: string): Regexp {
  return {
    groupNames: {},
    mayRescan: false,
    test(text) {
      checkWork(text, wanted.length, maxCompared)
      return text.includes(wanted)
    },
    search(text) {
      checkWork(text, wanted.length, maxCompared)
      return from => {
        const start = text.indexOf(wanted, from)
        return start === -1 ? null : [start, start + wanted.length]
      }
    },
  }
}

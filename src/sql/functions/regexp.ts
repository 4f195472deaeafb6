/**
 * Regular expressions in time linear in the text, with RE2's algorithm. Only this file uses the package re2js, which is
 * loaded when the first pattern is compiled.
 */
import { createRequire } from 'node:module'
import { ErrorCode, invalidInput, quote, SheafError } from '../../errors.js'
import { externalHint, requiresOf } from '../../primitives/module-files.js'
import { checkLength, plainText, toRe2 } from './regexp-syntax.js'

/** A compiled pattern. */
export interface Regexp {
  /** Return whether the text contains a match. */
  test(text: string): boolean
  /** Start a search in a text. */
  search(text: string): Search
  readonly groupNames: Readonly<Record<string, number>>
  /** Whether searching for one match after another may take more than linear time. */
  readonly mayRescan: boolean
}

/**
 * Returns the leftmost match that starts at unit `from` or later, or null. The array holds the start and end of the
 * match and of each group; -1 for a group that did not participate. The text before `from` counts for `^` and `\b`.
 */
type Search = (from: number) => readonly number[] | null

/** Maximum number of cached patterns. */
const maxCached = 32

const compiledPatterns = new Map<string, Regexp>()

type Package = typeof import('re2js')
let loaded: Package | null = null

function loadPackage(): Package {
  try {
    // Webpack packs what is required in this form.
    return createRequire(import.meta.url)('re2js') as Package
  } catch {
    return loadFromBundle()
  }
}

/** Load the package if a bundler packed this module, but not the package. */
function loadFromBundle(): Package {
  let cause: unknown
  for (const load of requiresOf(import.meta.url)) {
    try {
      return load('re2js') as Package
    } catch (error) {
      cause = error
    }
  }
  const message = 'cannot load the package re2js, which matches regular expressions'
  throw new SheafError(ErrorCode.ServiceUnavailable, message, { hint: externalHint, cause })
}

/**
 * Compile a pattern with flags of `imsxUu`. Throws `InvalidInput` for an invalid or too large pattern, and
 * `Unsupported` for features that need more than linear time.
 */
export function compileRegexp(pattern: string, flags: string): Regexp {
  checkLength(pattern)
  const key = `${flags}/${pattern}`
  const cached = compiledPatterns.get(key)
  if (cached !== undefined) {
    // The first entry of the map is the least recently used one.
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
        // `test` is much faster than a search if there is no match.
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

/** Maximum parts of the pattern times characters of the text: RE2 may test every part at every character. */
const maxSteps = 2 ** 28

/** The same limit for plain texts, which the engine compares directly. */
const maxCompared = 2 ** 32

/** Throws `InvalidInput` if the text is too long for a pattern of `size` parts. */
function checkWork(text: string, size: number, limit: number): void {
  if (text.length * size <= limit) return
  throw invalidInput(
    `a regular expression of ${size} parts is too large for a text of ${text.length} characters`,
    { hint: `write a shorter one: at most ${Math.floor(limit / text.length)} parts for this text` },
  )
}

/** Create the regular expression of a pattern that is literal text. */
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

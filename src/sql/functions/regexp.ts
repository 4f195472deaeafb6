/**
 * Regular expressions in time linear in the text, by RE2's algorithm. The package is loaded when the first one is
 * needed; no other file knows it.
 */
import { createRequire } from 'node:module'
import { invalidInput, quote } from '../../errors.js'
import { checkLength, plainText, toRe2 } from './regexp-syntax.js'

export interface Regexp {
  /** Whether it matches somewhere. */
  test(text: string): boolean
  /** A search in one text. */
  search(text: string): Search
  readonly groupNames: Readonly<Record<string, number>>
  /** Whether one match after the other may take more than linear time. */
  readonly mayRescan: boolean
}

/**
 * Gives the leftmost match that starts at unit `from` or later: starts and ends of the match and of each group in turn,
 * -1 for a group that took no part; null for none. What stands before `from` counts for `^` and `\b`.
 */
export type Search = (from: number) => readonly number[] | null

/** Compiled patterns that are kept. */
const maxKept = 32

const kept = new Map<string, Regexp>()

type Package = typeof import('re2js')
let loaded: Package | null = null

/**
 * The pattern with some of the flags `imsxUu`. Throws code 13 for what is no pattern or one too large, 0 for what has
 * no linear time.
 */
export function compileRegexp(pattern: string, flags: string): Regexp {
  checkLength(pattern)
  const key = `${flags}/${pattern}`
  const known = kept.get(key)
  if (known !== undefined) {
    // The least recently used one is the first.
    kept.delete(key)
    kept.set(key, known)
    return known
  }
  const regexp = compile(pattern, flags)
  if (kept.size >= maxKept) kept.delete(kept.keys().next().value!)
  kept.set(key, regexp)
  return regexp
}

function compile(pattern: string, flags: string): Regexp {
  const plain = flags === '' ? plainText(pattern) : null
  if (plain !== null && !plain.atStart && !plain.atEnd) return ofPlainText(plain.text)
  const { source, mayRescan, size } = toRe2(pattern, flags)
  loaded ??= createRequire(import.meta.url)('re2js') as Package
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
        // Finding out that there is no match is much faster than finding one.
        if (!compiled.test(text)) return () => null
        const matcher = compiled.matcher(text)
        return from => {
          if (!matcher.find(from)) return null
          const places: number[] = []
          for (let group = 0; group <= groupCount; group++) {
            places.push(matcher.start(group), matcher.end(group))
          }
          return places
        }
      },
    }
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    const why = error.message.replace(/^error parsing regexp: /, '')
    throw invalidInput(`${quote(pattern)} is no regular expression: ${why}`, { cause: error })
  }
}

/** Parts of a pattern times characters of a text, at most: RE2 may look at every part for every character. */
const maxSteps = 2 ** 28

/** The same where the parts are characters that the engine compares. */
const maxCompared = 2 ** 32

/** Throws code 13 for a text that is too long for a pattern of `size` parts. */
function checkWork(text: string, size: number, limit: number): void {
  if (text.length * size <= limit) return
  throw invalidInput(
    `a regular expression of ${size} parts is too large for a text of ${text.length} characters`,
    { hint: `write a shorter one: at most ${Math.floor(limit / text.length)} for this text` },
  )
}

/** A pattern that is nothing but the text it looks for. */
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

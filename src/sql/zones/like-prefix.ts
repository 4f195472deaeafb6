/** Find the prefix that all strings share that match a LIKE pattern. */

/** The common prefix of all matching strings, and a description of the text that may follow it. */
export interface Prefix {
  readonly text: string
  /**
   * - `nothing`: only the prefix itself matches.
   * - `anything`: every string with this prefix matches.
   * - `something`: only some strings with this prefix match.
   */
  readonly rest: 'nothing' | 'anything' | 'something'
}

/** Maximum characters of a prefix. Longer prefixes are not needed, because the bounds of zone maps are shorter. */
const longestPrefix = 64

/** Return the common prefix of all strings that start with `text`. */
export function prefixOfText(text: string): Prefix {
  if (text.length <= longestPrefix) return { text, rest: 'anything' }
  // Drop the last character, because it may be half of a surrogate pair.
  return { text: [...text.slice(0, longestPrefix)].slice(0, -1).join(''), rest: 'something' }
}

/** Return the common prefix of all strings that match a LIKE pattern. */
export function prefixOfPattern(pattern: string, escapeCharacter: string): Prefix {
  let text = ''
  for (let i = 0; i < pattern.length; i++) {
    if (text.length > longestPrefix) return { text, rest: 'something' }
    let character = String.fromCodePoint(pattern.codePointAt(i)!)
    const isEscape = character === escapeCharacter
    if (isEscape && i + character.length < pattern.length) {
      i += character.length
      character = String.fromCodePoint(pattern.codePointAt(i)!)
    } else if (isEscape || character === '_') {
      return { text, rest: 'something' }
    } else if (character === '%') {
      return { text, rest: i === pattern.length - 1 ? 'anything' : 'something' }
    }
    text += character
    i += character.length - 1
  }
  return { text, rest: 'nothing' }
}

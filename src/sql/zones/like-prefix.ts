/** Find the prefix that all strings matching a LIKE pattern share. */

/** The prefix of every matching string, and the text that must follow it. */
export interface Prefix {
  readonly text: string
  readonly rest: 'nothing' | 'anything' | 'something'
}

/** Longer prefixes are not needed, because no bound is this long. */
const longestPrefix = 64

/** Return the prefix of strings that start with `text`. */
export function prefixOfText(text: string): Prefix {
  if (text.length <= longestPrefix) return { text, rest: 'anything' }
  // The last character may be half of a surrogate pair.
  return { text: [...text.slice(0, longestPrefix)].slice(0, -1).join(''), rest: 'something' }
}

/** Return the prefix of strings that match a LIKE pattern. */
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

/** Options of the handles, in words of their own. */
import { invalidInput, quote } from '../errors.js'

/** The word of the wire for an option's value. Throws code 13 for a value that is none of them. */
export function wireWord<const W extends Readonly<Record<string, string>>>(
  option: string,
  value: keyof W & string,
  words: W,
): W[keyof W] {
  if (Object.hasOwn(words, value)) return words[value]!
  const known = Object.keys(words).map(quote).join(', ')
  throw invalidInput(`${option} must be one of ${known}, got ${quote(value)}`)
}

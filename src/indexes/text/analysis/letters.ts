/** Lower case, and strings that are no Unicode. */

/**
 * Lower case by Unicode, whatever the machine's language: `I` is `i` in Turkish, too. A sigma that ends the token is `ς`, as Greeks write it.
 * `İ` is `i`, so it takes no more room than before (Unicode would add a dot above).
 */
export function lowered(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase()
}

/** U+FFFD for each half of a surrogate pair, as UTF-8 has it: the text keeps its length. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd')
}

/** Lower case. */

/**
 * Lower case by Unicode, whatever the machine's language: `I` is `i` in Turkish, too. A sigma that ends the token is `ς`, as Greeks write it.
 * `İ` is `i`, so it takes no more room than before (Unicode would add a dot above).
 */
export function lowered(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase()
}

/** Converts texts to lower case. */

/**
 * Convert a text to lower case by the Unicode rules, for all languages alike: `I` becomes `i` in Turkish too. A final
 * sigma becomes `ς`. Unlike in Unicode, `İ` becomes `i` without a combining dot, so that the length of the text does
 * not change.
 */
export function lowered(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase()
}

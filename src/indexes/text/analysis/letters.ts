/** Converts texts to lower case. */

/**
 * Convert a text to lower case by the Unicode rules, independent of the locale: `I` becomes `i` in Turkish too. A final sigma becomes `ς`.
 * `İ` becomes `i` without the combining dot of Unicode, so that the length stays the same.
 */
export function lowered(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase()
}

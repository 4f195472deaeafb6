/** Converts texts to lower case. */

/**
 * Convert a text to lower case by the Unicode rules, for all languages alike: `I` becomes `i` in Turkish too. A final
 * sigma becomes `ς`. Unlike in Unicode, `İ` becomes `i` without a combining dot, so that the length of the text does
 * not change.
 */
export function lowered(text: string): string {
  let at = 0
  // Most words are in lower case already.
  while (at < text.length && isLower(text.charCodeAt(at))) at++
  if (at === text.length) return text
  return text.replaceAll('İ', 'i').toLowerCase()
}

/** Return whether a UTF-16 unit is an ASCII character other than `A` to `Z`. */
function isLower(unit: number): boolean {
  return unit < 128 && !(unit >= 65 && unit <= 90)
}

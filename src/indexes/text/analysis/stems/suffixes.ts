/**
 * Functions that the Snowball stemmers share. A table contains suffixes; a lookup returns the longest suffix that
 * matches. A rule may require that a suffix is in a region of the word. A region is a number: the index of its first
 * letter. The region ends with the word. The number stays valid when a rule removes a suffix.
 */

interface Suffix<Action extends string> {
  readonly text: string
  readonly action: Action
}

export interface Suffixes<Action extends string> {
  readonly groups: Readonly<Record<Action, string>>
  /** The suffixes by last letter, longest first. Computed at the first use, because a process uses few languages. */
  byLast: Map<number, Suffix<Action>[]> | undefined
}

/** Return a table of suffixes. `groups`: for each action, its suffixes, separated by spaces. */
export function suffixes<Action extends string>(groups: Readonly<Record<Action, string>>): Suffixes<Action> {
  return { groups, byLast: undefined }
}

/**
 * Return the longest suffix in the table with which `word` ends. The suffix must be completely in the region that
 * begins at `from`. `end`: treat the word as if it ended here; default: its length.
 */
export function suffixOf<Action extends string>(
  word: string,
  table: Suffixes<Action>,
  from = 0,
  end = word.length,
): Suffix<Action> | undefined {
  table.byLast ??= byLastLetter(table.groups)
  const bucket = table.byLast.get(word.charCodeAt(end - 1))
  if (bucket === undefined) return undefined
  const room = end - from
  for (let i = 0; i < bucket.length; i += 1) {
    const suffix = bucket[i]!
    if (suffix.text.length <= room && word.endsWith(suffix.text, end)) return suffix
  }
  return undefined
}

function byLastLetter<Action extends string>(
  groups: Readonly<Record<Action, string>>,
): Map<number, Suffix<Action>[]> {
  const table = new Map<number, Suffix<Action>[]>()
  for (const [action, texts] of Object.entries(groups) as [Action, string][])
    for (const text of wordsOf(texts)) {
      const last = text.charCodeAt(text.length - 1)
      const bucket = table.get(last)
      if (bucket === undefined) table.set(last, [{ text, action }])
      else bucket.push({ text, action })
    }
  for (const bucket of table.values()) bucket.sort((a, b) => b.text.length - a.text.length)
  return table
}

export function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter(word => word !== '')
}

/** Return `word` without its last `count` letters. */
export function cut(word: string, count: number): string {
  return word.slice(0, word.length - count)
}

/**
 * Return `word` without the match of `ending`, if the match is in the region that begins at `from`. Otherwise return
 * `word`.
 */
export function without(word: string, ending: RegExp, from: number): string {
  const found = ending.exec(word)
  return found !== null && found.index >= from ? word.slice(0, found.index) : word
}

/** Return whether the word has a letter at `index` that is in `letters`. */
export function isOf(letters: string, word: string, index: number): boolean {
  return index >= 0 && index < word.length && letters.includes(word[index]!)
}

/** Return whether the word has a letter at `index` that is not in `letters`. */
export function isOther(letters: string, word: string, index: number): boolean {
  return index >= 0 && index < word.length && !letters.includes(word[index]!)
}

/**
 * Return the index after the first letter at or after `from` that is in `letters`. Return the end of the word if there
 * is none.
 */
export function past(letters: string, word: string, from: number): number {
  for (let i = from; i < word.length; i += 1) if (letters.includes(word[i]!)) return i + 1
  return word.length
}

/**
 * Return the index after the first letter at or after `from` that is not in `letters`. Return the end of the word if
 * there is none.
 */
export function pastOther(letters: string, word: string, from: number): number {
  for (let i = from; i < word.length; i += 1) if (!letters.includes(word[i]!)) return i + 1
  return word.length
}

/**
 * Return the region after the first consonant that follows a vowel. This is R1 if `from` is 0, and R2 if `from` is R1.
 */
export function regionAfter(vowels: string, word: string, from: number): number {
  return pastOther(vowels, word, past(vowels, word, from))
}

/**
 * Return the region RV of the Romance languages.
 *
 * - If the second letter is a consonant, RV begins after the next vowel.
 * - If the first two letters are vowels, RV begins after the next consonant.
 * - If the word begins with a consonant and a vowel, RV begins after the third letter.
 */
export function romanceRegion(vowels: string, word: string): number {
  if (word.length < 3) return word.length
  if (!vowels.includes(word[1]!)) return past(vowels, word, 2)
  return vowels.includes(word[0]!) ? pastOther(vowels, word, 2) : 3
}

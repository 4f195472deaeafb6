/**
 * Building blocks of the Snowball stemmers: tables of suffixes, of which the longest match counts, and regions of a word in which a
 * suffix must lie. A region is the index at which it begins. The index stays the same while the word gets shorter.
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

/** Return the longest suffix of `word` (up to `end`) in the table that lies completely in the region from `from` on. */
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

/** Return `word` without its ending, if the ending lies in the region from `from` on. */
export function without(word: string, ending: RegExp, from: number): string {
  const found = ending.exec(word)
  return found !== null && found.index >= from ? word.slice(0, found.index) : word
}

/** Whether the word has a letter at `index` that is one of `letters`. */
export function isOf(letters: string, word: string, index: number): boolean {
  return index >= 0 && index < word.length && letters.includes(word[index]!)
}

/** Whether the word has a letter at `index` that is not one of `letters`. */
export function isOther(letters: string, word: string, index: number): boolean {
  return index >= 0 && index < word.length && !letters.includes(word[index]!)
}

/** Return the index after the first of `letters` at or after `from`; the end of the word if there is none. */
export function past(letters: string, word: string, from: number): number {
  for (let i = from; i < word.length; i += 1) if (letters.includes(word[i]!)) return i + 1
  return word.length
}

/** Return the index after the first letter at or after `from` that is not one of `letters`; the end of the word if there is none. */
export function pastOther(letters: string, word: string, from: number): number {
  for (let i = from; i < word.length; i += 1) if (!letters.includes(word[i]!)) return i + 1
  return word.length
}

/** Return the region after the first consonant that follows a vowel: R1, or R2 if `from` is R1. */
export function regionAfter(vowels: string, word: string, from: number): number {
  return pastOther(vowels, word, past(vowels, word, from))
}

/**
 * Return the region RV of the Romance languages. If the second letter is a consonant: after the next vowel. If the first two letters are
 * vowels: after the next consonant. If a consonant and a vowel come first: after the third letter.
 */
export function romanceRegion(vowels: string, word: string): number {
  if (word.length < 3) return word.length
  if (!vowels.includes(word[1]!)) return past(vowels, word, 2)
  return vowels.includes(word[0]!) ? pastOther(vowels, word, 2) : 3
}

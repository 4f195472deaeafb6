/**
 * What the stemmers of Snowball's family are made of: tables of suffixes of which the longest counts, and the regions of a word in which a
 * suffix must lie. A region is the index at which it begins and stays where it is while the word gets shorter behind it.
 */

export interface Suffix<Action extends string> {
  readonly text: string
  readonly action: Action
}

export interface Suffixes<Action extends string> {
  readonly groups: Readonly<Record<Action, string>>
  /** By their last letter, longest first; made when first asked for, since few of all languages are. */
  byLast: Map<number, Suffix<Action>[]> | undefined
}

/** A table of suffixes (words between spaces) under the names of what is done about them. */
export function suffixes<Action extends string>(groups: Readonly<Record<Action, string>>): Suffixes<Action> {
  return { groups, byLast: undefined }
}

/** The longest suffix in the table that `word`, up to `end`, has wholly in the region that begins at `from`. */
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

/** `word` without its last `count` letters. */
export function cut(word: string, count: number): string {
  return word.slice(0, word.length - count)
}

/** `word` without its ending if that lies in the region that begins at `from`. */
export function without(word: string, ending: RegExp, from: number): string {
  const found = ending.exec(word)
  return found !== null && found.index >= from ? word.slice(0, found.index) : word
}

/** Whether the letter at `index` is one of `letters`; there is none before the first and after the last. */
export function isOf(letters: string, word: string, index: number): boolean {
  return index >= 0 && index < word.length && letters.includes(word[index]!)
}

/** Whether there is a letter at `index` that is none of `letters`. */
export function isOther(letters: string, word: string, index: number): boolean {
  return index >= 0 && index < word.length && !letters.includes(word[index]!)
}

/** Just behind the first of `letters` at or after `from`; the end of the word where there is none. */
export function past(letters: string, word: string, from: number): number {
  for (let i = from; i < word.length; i += 1) if (letters.includes(word[i]!)) return i + 1
  return word.length
}

/** Just behind the first letter at or after `from` that is none of `letters`; the end of the word where there is none. */
export function pastOther(letters: string, word: string, from: number): number {
  for (let i = from; i < word.length; i += 1) if (!letters.includes(word[i]!)) return i + 1
  return word.length
}

/** The region behind the first consonant that follows a vowel: R1, and R2 when asked from there. */
export function regionAfter(vowels: string, word: string, from: number): number {
  return pastOther(vowels, word, past(vowels, word, from))
}

/**
 * RV of the Romance languages. A consonant second: behind the next vowel; two vowels first: behind the next consonant; a consonant and a
 * vowel: behind the third letter.
 */
export function romanceRegion(vowels: string, word: string): number {
  if (word.length < 3) return word.length
  if (!vowels.includes(word[1]!)) return past(vowels, word, 2)
  return vowels.includes(word[0]!) ? pastOther(vowels, word, 2) : 3
}

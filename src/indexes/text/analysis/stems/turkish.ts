/**
 * Provides the stemmer for Turkish, an algorithm by Eryiğit, Adalı and Çilden
 * (https://snowballstem.org/algorithms/turkish/stemmer.html). Suffixes form chains, which the stemmer removes from the
 * right. A function with a parameter `end` treats the word as if it ended there. Unless its comment says otherwise,
 * such a function returns the start of its suffix or chain, or -1 if the word does not end with it.
 */
import { isOf, isOther, suffixes, suffixOf } from './suffixes.js'

type Mark = (word: string, end: number) => number

const vowels = 'aeıioöuü'
const highVowels = 'ıiuü'
/** Vowel harmony. For each vowel: the vowels of which one must precede it in the word. */
const harmony: Readonly<Record<string, string>> = {
  a: 'aıou',
  e: 'eiöü',
  ı: 'aı',
  i: 'ei',
  o: 'ou',
  ö: 'öü',
  u: 'ou',
  ü: 'öü',
}

function harmonious(word: string, end: number): boolean {
  let at = end - 1
  while (at >= 0 && !vowels.includes(word[at]!)) at -= 1
  if (at < 0) return false
  const before = harmony[word[at]!]!
  for (let i = at - 1; i >= 0; i -= 1) if (before.includes(word[i]!)) return true
  return false
}

/**
 * Return the start of a suffix with its joining letter. If the letter before the suffix is `letter`, it belongs to the
 * suffix. Return -1 if the letter before the suffix does not follow a vowel. `end`: the start of the suffix without the
 * joining letter.
 */
function joinedBy(letter: string, word: string, end: number): number {
  if (word[end - 1] === letter && isOf(vowels, word, end - 2)) return end - 1
  return word[end - 1] !== letter && isOf(vowels, word, end - 2) ? end : -1
}

function joinedByVowel(word: string, end: number): number {
  if (isOf(highVowels, word, end - 1)) return isOther(vowels, word, end - 2) ? end - 1 : -1
  return isOther(vowels, word, end - 2) ? end : -1
}

/**
 * Return a function that finds the longest of the suffixes `texts`. The word must have vowel harmony, except with
 * `free`. `joint`: the joining letter of the suffix (`joinedBy`).
 */
function mark(texts: string, options: { readonly free?: true; readonly joint?: string } = {}): Mark {
  const table = suffixes({ cut: texts })
  return (word, end) => {
    const text = suffixOf(word, table, 0, end)?.text
    if (text === undefined || (options.free !== true && !harmonious(word, end))) return -1
    return options.joint === undefined ? end - text.length : joinedBy(options.joint, word, end - text.length)
  }
}

const possessive = mark('mız miz muz müz nız niz nuz nüz m n', { free: true })
const markPossessives: Mark = (word, end) => {
  const at = possessive(word, end)
  return at === -1 ? -1 : joinedByVowel(word, at)
}
const markSU = mark('ı i u ü', { joint: 's' })
const markLArI = mark('leri ları', { free: true })
const markYU = mark('ı i u ü', { joint: 'y' })
const markNU = mark('nı ni nu nü')
const markNUn = mark('ın in un ün', { joint: 'n' })
const markYA = mark('a e', { joint: 'y' })
const markNA = mark('na ne')
const markDA = mark('da de ta te')
const markNdA = mark('nda nde')
const markDAn = mark('dan den tan ten')
const markNdAn = mark('ndan nden')
const markYlA = mark('la le', { joint: 'y' })
const markKi = mark('ki', { free: true })
const markNcA = mark('ca ce', { joint: 'n' })
const markYUm = mark('ım im um üm', { joint: 'y' })
const markSUn = mark('sın sin sun sün')
const markYUz = mark('ız iz uz üz', { joint: 'y' })
const markSUnUz = mark('sınız siniz sunuz sünüz', { free: true })
const markLAr = mark('ler lar')
const markNUz = mark('nız niz nuz nüz')
const markDUr = mark('tır tir tur tür dır dir dur dür')
const markCAsInA = mark('casına cesine', { free: true })
const markYDU = mark(
  'tım tim tum tüm dım dim dum düm tın tin tun tün dın din dun dün tık tik tuk tük dık dik duk dük tı ti tu tü dı di du dü',
  { joint: 'y' },
)
const markYsA = mark('sam san sak sem sen sek sa se', { free: true, joint: 'y' })
const markYmUş = mark('mış miş muş müş', { joint: 'y' })
const markYken = mark('ken', { free: true, joint: 'y' })

function first(word: string, end: number, ...marks: readonly Mark[]): number {
  for (const one of marks) {
    const at = one(word, end)
    if (at !== -1) return at
  }
  return -1
}

/** Find the suffix `last` before the first of `marks` that matches, or at the end if none matches. */
function thenLast(word: string, end: number, last: Mark, ...marks: readonly Mark[]): number {
  const at = first(word, end, ...marks)
  return last(word, at === -1 ? end : at)
}

/**
 * Return the start of the suffixes that turn a noun into a verb (`end`), and whether noun suffixes may precede them
 * (`goesOn`).
 */
function nominalVerb(word: string): { readonly end: number; readonly goesOn: boolean } {
  const whole = word.length
  const simple = first(word, whole, markYmUş, markYDU, markYsA, markYken)
  if (simple !== -1) return { end: simple, goesOn: true }
  const adverb = markCAsInA(word, whole)
  if (adverb !== -1) {
    const at = thenLast(word, adverb, markYmUş, markSUnUz, markLAr, markYUm, markSUn, markYUz)
    if (at !== -1) return { end: at, goesOn: true }
  }
  const many = markLAr(word, whole)
  if (many !== -1) {
    const at = first(word, many, markDUr, markYDU, markYsA, markYmUş)
    return { end: at === -1 ? many : at, goesOn: false }
  }
  const you = markNUz(word, whole)
  if (you !== -1) {
    const at = first(word, you, markYDU, markYsA)
    if (at !== -1) return { end: at, goesOn: true }
  }
  const person = first(word, whole, markSUnUz, markYUz, markSUn, markYUm)
  if (person !== -1) {
    const at = markYmUş(word, person)
    return { end: at === -1 ? person : at, goesOn: true }
  }
  const is = markDUr(word, whole)
  if (is === -1) return { end: whole, goesOn: true }
  const at = thenLast(word, is, markYmUş, markSUnUz, markLAr, markYUm, markSUn, markYUz)
  return { end: at === -1 ? is : at, goesOn: true }
}

/**
 * Return the start of a plural suffix, or of a chain with -ki before this suffix. Return `end` if there is no plural
 * suffix.
 */
function pluralBeforeKi(word: string, end: number): number {
  const many = markLAr(word, end)
  if (many === -1) return end
  const at = beforeKi(word, many)
  return at === -1 ? many : at
}

function owned(word: string, end: number): number {
  const at = first(word, end, markPossessives, markSU)
  return at === -1 ? -1 : pluralBeforeKi(word, at)
}

function beforeKi(word: string, end: number): number {
  const ki = markKi(word, end)
  if (ki === -1) return -1
  const locative = markDA(word, ki)
  if (locative !== -1) {
    const many = markLAr(word, locative)
    if (many !== -1) {
      const at = beforeKi(word, many)
      return at === -1 ? many : at
    }
    const mine = markPossessives(word, locative)
    return mine === -1 ? locative : pluralBeforeKi(word, mine)
  }
  const genitive = markNUn(word, ki)
  if (genitive !== -1) {
    const at = first(word, genitive, markLArI, owned, beforeKi)
    return at === -1 ? genitive : at
  }
  const theirs = markNdA(word, ki)
  if (theirs === -1) return -1
  return first(word, theirs, markLArI, ownedByThird, beforeKi)
}

function ownedByThird(word: string, end: number): number {
  const at = markSU(word, end)
  return at === -1 ? -1 : pluralBeforeKi(word, at)
}

function withoutNounSuffixes(word: string): string {
  const inTheir =
    markLAr(word, word.length) === -1 && markNcA(word, word.length) === -1
      ? first(word, word.length, markNdA, markNA)
      : -1
  // Remove only the chain up to -ki, and keep the suffix after it: insanlar-ınki-ne becomes insanlar-ne.
  if (inTheir !== -1 && first(word, inTheir, markLArI, ownedByThird) === -1) {
    const at = beforeKi(word, inTheir)
    if (at !== -1) return word.slice(0, at) + word.slice(inTheir)
  }
  return word.slice(0, nounSuffixes(word))
}

/** Return the start of the suffixes of a noun. Return the length of the word if it has none. */
function nounSuffixes(word: string): number {
  const whole = word.length
  const many = markLAr(word, whole)
  if (many !== -1) return or(beforeKi(word, many), many)
  const like = markNcA(word, whole)
  if (like !== -1) return or(first(word, like, markLArI, owned, pluralOnly), like)
  const inTheir = first(word, whole, markNdA, markNA)
  if (inTheir !== -1) {
    const at = first(word, inTheir, markLArI, ownedByThird)
    if (at !== -1) return at
  }
  const fromTheir = first(word, whole, markNdAn, markNU)
  if (fromTheir !== -1) {
    const at = first(word, fromTheir, ownedByThird, markLArI)
    if (at !== -1) return at
  }
  const from = markDAn(word, whole)
  if (from !== -1) {
    const mine = markPossessives(word, from)
    if (mine !== -1) return pluralBeforeKi(word, mine)
    const plural = markLAr(word, from)
    return plural === -1 ? or(beforeKi(word, from), from) : or(beforeKi(word, plural), plural)
  }
  const of = first(word, whole, markNUn, markYlA)
  if (of !== -1) {
    const plural = markLAr(word, of)
    if (plural === -1) return or(first(word, of, owned, beforeKi), of)
    // Remove the plural suffix even if neither a chain with -ki nor a possessive precedes it.
    return or(first(word, plural, beforeKi, owned), plural)
  }
  const theirs = markLArI(word, whole)
  if (theirs !== -1) return theirs
  const ki = beforeKi(word, whole)
  if (ki !== -1) return ki
  const inside = first(word, whole, markDA, markYU, markYA)
  if (inside !== -1) {
    const mine = markPossessives(word, inside)
    const plural = mine === -1 ? markLAr(word, inside) : or(markLAr(word, mine), mine)
    return plural === -1 ? inside : or(beforeKi(word, plural), plural)
  }
  return or(owned(word, whole), whole)
}

function or(at: number, otherwise: number): number {
  return at === -1 ? otherwise : at
}

function pluralOnly(word: string, end: number): number {
  const many = markLAr(word, end)
  return many === -1 ? -1 : or(beforeKi(word, many), many)
}

export function stemTurkish(text: string): string {
  const word = withoutApostrophes(text)
  if (!/[aeıioöuü].*[aeıioöuü]/su.test(word)) return word
  const verb = nominalVerb(word)
  const noun = word.slice(0, verb.end)
  return verb.goesOn ? finished(withoutNounSuffixes(noun)) : noun
}

/** Remove leading apostrophes, and everything from the next apostrophe on: after a name it separates suffixes. */
function withoutApostrophes(text: string): string {
  const word = text.replace(/^'+/, '')
  const index = word.indexOf("'", 2)
  return index === -1 ? word : word.slice(0, index)
}

const hardened: Readonly<Record<string, string>> = { b: 'p', c: 'ç', d: 't', ğ: 'k' }

/**
 * Correct the end of a stem. If the stem ends in d or g, a vowel was removed with the suffix, because hardly any word
 * ends in these letters: append it. If it ends in b, c, d or ğ, replace this letter by its hard form.
 */
function finished(stem: string): string {
  if (stem === 'ad' || stem === 'soyad') return stem
  let word = stem
  if (/[dg]$/.test(word)) {
    const vowel = /[aeıioöuü](?=[^aeıioöuü]*$)/u.exec(word)?.[0]
    if (vowel !== undefined)
      word += 'aı'.includes(vowel) ? 'ı' : 'ei'.includes(vowel) ? 'i' : 'ou'.includes(vowel) ? 'u' : 'ü'
  }
  const last = hardened[word.at(-1) ?? '']
  return last === undefined ? word : word.slice(0, -1) + last
}

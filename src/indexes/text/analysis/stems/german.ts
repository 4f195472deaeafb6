/** Provides the stemmer for German (https://snowballstem.org/algorithms/german/stemmer.html). */
import { cut, isOf, past, pastOther, suffixes, suffixOf } from './suffixes.js'

const vowels = 'aeiouyäöü'
const betweenVowels = /([aeiouyäöü])([uy])(?=[aeiouyäöü])/g
const spellings = /ß|ae|oe|ue|qu/g
const spelled: Readonly<Record<string, string>> = { ß: 'ss', ae: 'ä', oe: 'ö', ue: 'ü', qu: 'qu' }
const plain: Readonly<Record<string, string>> = { Y: 'y', U: 'u', ä: 'a', ö: 'o', ü: 'u' }

const step1 = suffixes({ em: 'em', cut: 'ern er erin erinnen', e: 'e en es', s: 's', l: 'ln lns' })
const step2 = suffixes({ cut: 'en er est', st: 'st', et: 'et' })
const step3 = suffixes({ end: 'end ung', ig: 'ig ik isch', lich: 'lich heit', keit: 'keit' })
/**
 * Ends of the stems before an -et that stays. The -et of Internet, Planet and Ticket belongs to the word. Untergeordnet
 * gets the same stem as its other forms without this rule.
 */
const keepsEt = /(?:geordn|intern|plan|tick|tr)$/

export function stemGerman(text: string): string {
  let word = text
    .replace(betweenVowels, (_, vowel: string, letter: string) => vowel + letter.toUpperCase())
    .replace(spellings, letters => spelled[letters]!)
  let r1 = word.length
  let r2 = word.length
  if (word.length >= 3) {
    const natural = pastOther(vowels, word, past(vowels, word, 0))
    r1 = Math.max(3, natural)
    r2 = pastOther(vowels, word, past(vowels, word, natural))
  }
  word = inflected(word, r1)
  word = graded(word, r1)
  word = derived(word, r1, r2)
  const ending = /'(?:s|sch)?$/.exec(word)
  if (ending !== null && ending.index >= 2) word = word.slice(0, ending.index)
  return word.replace(/[YUäöü]/g, letter => plain[letter]!)
}

function inflected(word: string, r1: number): string {
  const found = suffixOf(word, step1)
  if (found === undefined || word.length - found.text.length < r1) return word
  const stem = cut(word, found.text.length)
  switch (found.action) {
    case 'em':
      return stem.endsWith('syst') ? word : stem
    case 'e':
      return stem.endsWith('niss') ? cut(stem, 1) : stem
    case 's':
      return isOf('bdfghklmnrt', stem, stem.length - 1) ? stem : word
    case 'l':
      return `${stem}l`
    default:
      return stem
  }
}

function graded(word: string, r1: number): string {
  const found = suffixOf(word, step2)
  if (found === undefined || word.length - found.text.length < r1) return word
  const stem = cut(word, found.text.length)
  switch (found.action) {
    case 'st':
      return stem.length > 3 && isOf('bdfghklmnt', stem, stem.length - 1) ? stem : word
    case 'et':
      return isOf('dfgklmnrstUzä', stem, stem.length - 1) && !keepsEt.test(stem) ? stem : word
    default:
      return stem
  }
}

function derived(word: string, r1: number, r2: number): string {
  const found = suffixOf(word, step3)
  if (found === undefined || word.length - found.text.length < r2) return word
  const stem = cut(word, found.text.length)
  switch (found.action) {
    case 'end':
      return stem.endsWith('ig') && !stem.endsWith('eig') && stem.length - 2 >= r2 ? cut(stem, 2) : stem
    case 'ig':
      return stem.endsWith('e') ? word : stem
    case 'lich':
      return /e[rn]$/.test(stem) && stem.length - 2 >= r1 ? cut(stem, 2) : stem
    default: {
      const before = /(?:lich|ig)$/.exec(stem)
      return before !== null && before.index >= r2 ? stem.slice(0, before.index) : stem
    }
  }
}

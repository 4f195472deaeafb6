/**
 * Provides the stemmer for Hungarian (https://snowballstem.org/algorithms/hungarian/stemmer.html). A removed suffix
 * shortens the vowel before it: á to a, é to e.
 */
import { cut, isOf, past, pastOther, type Suffixes, suffixes, suffixOf } from './suffixes.js'

const vowels = 'aeiouáéíóöőúüű'
const double = /(?:bb|ccs?|dd|ff|ggy?|jj|kk|lly?|mm|nny?|pp|rr|ssz?|tty?|vv|zzs?)$/

/** A table of suffixes. The action is the letter that replaces the suffix, if any. */
type Table = Suffixes<'' | 'a' | 'e'>

const instrumental = suffixes({ '': 'al el' })
const translative = suffixes({ '': 'á é' })
const cases = suffixes({
  '': `ban ben ba be ra re nak nek val vel tól től ról ről ból ből hoz hez höz nál nél ig at et ot öt ért képp képpen kor ul ül vá vé
    onként enként anként ként en on an ön n t`,
})
/** Tables that are applied one after the other. Each removes at most one suffix. */
const endings: readonly Table[] = [
  suffixes({ '': '', e: 'én', a: 'án ánként' }),
  suffixes({ '': 'astul estül stul stül', a: 'ástul', e: 'éstül' }),
]
const laterEndings: readonly Table[] = [
  suffixes({ '': 'oké öké aké eké ké éi é', e: 'éké ééi éé', a: 'áké áéi' }),
  suffixes({
    '': 'ünk unk nk juk jük uk ük em om am m od ed ad öd d ja je a e o',
    a: 'ánk ájuk ám ád á',
    e: 'énk éjük ém éd é',
  }),
  suffixes({
    '': `jaim jeim aim eim im jaid jeid aid eid id jai jei ai ei i jaink jeink eink aink ink jaitok jeitek aitok eitek itek jeik jaik
      aik eik ik`,
    a: 'áim áid ái áink áitok áik',
    e: 'éim éid éi éink éitek éik',
  }),
  suffixes({ '': 'ök ak ok ek k', a: 'ák', e: 'ék' }),
]

export function stemHungarian(text: string): string {
  const r1 = isOf(vowels, text, 0) ? pastOther(vowels, text, 1) : past(vowels, text, 0)
  let word = withoutDouble(text, instrumental, r1)
  word = withoutCase(word, r1)
  for (const table of endings) word = replaced(word, table, r1)
  word = withoutDouble(word, translative, r1)
  for (const table of laterEndings) word = replaced(word, table, r1)
  return word
}

function withoutDouble(word: string, table: Suffixes<''>, r1: number): string {
  const found = suffixOf(word, table)
  if (found === undefined || word.length - found.text.length < r1) return word
  const stem = cut(word, found.text.length)
  return double.test(stem) ? cut(stem, 2) + stem.at(-1)! : word
}

function withoutCase(word: string, r1: number): string {
  const found = suffixOf(word, cases)
  if (found === undefined || word.length - found.text.length < r1) return word
  const stem = cut(word, found.text.length)
  if (stem.length - 1 < r1) return stem
  if (stem.endsWith('á')) return `${cut(stem, 1)}a`
  return stem.endsWith('é') ? `${cut(stem, 1)}e` : stem
}

function replaced(word: string, table: Table, r1: number): string {
  const found = suffixOf(word, table)
  return found === undefined || word.length - found.text.length < r1
    ? word
    : cut(word, found.text.length) + found.action
}

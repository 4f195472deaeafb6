/** Provides the stemmers for Danish, Norwegian and Swedish (https://snowballstem.org/algorithms/scandinavian.html). */
import { cut, isOf, isOther, past, pastOther, type Suffixes, suffixes, suffixOf } from './suffixes.js'

const danishVowels = 'aeiouyæåø'
const danishMain = suffixes({
  cut: `hed ethed ered e erede ende erende ene erne ere en heden eren er heder erer heds es endes erendes enes ernes eres ens
    hedens erens ers ets erets et eret`,
  s: 's',
})
const danishOther = suffixes({ cut: 'ig lig elig els', t: 'løst' })
const danishPairs = suffixes({ cut: 'gd dt gt kt' })

export function stemDanish(text: string): string {
  if (text.length < 3) return text
  const r1 = regionOf(text, danishVowels)
  let word = mainCut(text, danishMain, r1, stem => isOf("abcdfghjklmnoprtvyzå'", stem, stem.length - 1))
  word = withoutPair(word, danishPairs, r1)
  if (word.endsWith('igst')) word = cut(word, 2)
  const other = suffixOf(word, danishOther, r1)
  if (other?.action === 't') word = cut(word, 1)
  else if (other !== undefined) word = withoutPair(cut(word, other.text.length), danishPairs, r1)
  const last = word.length - 1
  if (last >= r1 && isOf('bdfgklmnprst', word, last) && word[last - 1] === word[last]) word = cut(word, 1)
  return withoutApostrophe(word)
}

const norwegianVowels = 'aeêioòóôuyæåø'
const norwegianMain = suffixes({
  cut: `a e ede ande ende ane ene hetene en heten ar er heter as es edes endes enes hetenes ens hetens ets et het ast`,
  ers: 'ers',
  s: 's',
  er: 'erte ert',
})
const norwegianPairs = suffixes({ cut: 'dt vt' })
const norwegianOther = suffixes({ cut: 'leg eleg ig eig lig elig els lov elov slov hetslov' })
/**
 * Ends of the stems before -ers. `keep`: -ers belongs to the word and stays. `cut`: exceptions, whose -ers is removed.
 */
const keepsErs = suffixes({ keep: 'amm ast ind kap kk lt nk omm pp v øst', cut: 'giv hav skap' })

export function stemNorwegian(text: string): string {
  if (text.length < 3) return text
  const r1 = regionOf(text, norwegianVowels)
  let word = text
  const found = suffixOf(word, norwegianMain, r1)
  if (found !== undefined) {
    const stem = cut(word, found.text.length)
    if (found.action === 'cut') word = stem
    else if (found.action === 'er') word = `${stem}er`
    else if (found.action === 'ers') word = suffixOf(stem, keepsErs)?.action === 'keep' ? word : stem
    else if (norwegianS(stem)) word = stem
  }
  word = withoutPair(word, norwegianPairs, r1)
  const other = suffixOf(word, norwegianOther, r1)
  if (other !== undefined) word = cut(word, other.text.length)
  return withoutApostrophe(word)
}

function norwegianS(stem: string): boolean {
  const last = stem.length - 1
  if (isOf('bcdfghjlmnoptvyz', stem, last)) return true
  if (stem[last] === 'r') return stem[last - 1] !== 'e'
  return stem[last] === 'k' && isOther(norwegianVowels, stem, last - 1)
}

const swedishVowels = 'aeiouyäåö'
const swedishMain = suffixes({
  cut: `a arna erna heterna orna ad e ade ande arne are aste en anden aren heten ern ar er heter or as arnas ernas ornas es ades
    andes ens arens hetens erns at andet het ast`,
  s: 's',
  et: 'et',
})
const swedishPairs = suffixes({ cut: 'dd gd nn dt gt kt tt' })
const swedishOther = suffixes({ cut: 'lig ig els', öst: 'öst', t: 'fullt' })
/** Ends of the stems before an -et that belongs to the word and stays: -het, -itet, alfabet, komet. */
const keepsEt = /(?:h|iet|uit|fab|cit|dit|alit|ilit|mit|nit|pit|rit|sit|tit|ivit|kvit|xit|kom|rak|pak|stak)$/

export function stemSwedish(text: string): string {
  if (text.length < 3) return text
  const r1 = Math.max(3, behindConsonant(text, swedishVowels))
  let word = text
  const found = suffixOf(word, swedishMain, r1)
  if (found !== undefined) {
    const stem = cut(word, found.text.length)
    if (found.action === 'cut') word = stem
    else if (found.action === 'et') word = losesEt(stem) ? stem : word
    else if (stem.endsWith('et') && losesEt(cut(stem, 2))) word = cut(stem, 2)
    else if (isOf('bcdfghjklmnoprtvy', stem, stem.length - 1)) word = stem
  }
  word = withoutPair(word, swedishPairs, r1)
  const other = suffixOf(word, swedishOther, r1)
  if (other?.action === 'cut') return cut(word, other.text.length)
  if (other?.action === 't') return cut(word, 1)
  return other !== undefined && isOf('iklnprtuv', word, word.length - 4) ? cut(word, 1) : word
}

function losesEt(stem: string): boolean {
  const last = stem.length - 1
  return (
    last > 1 &&
    isOther(swedishVowels, stem, last) &&
    isOf(swedishVowels, stem, last - 1) &&
    !keepsEt.test(stem)
  )
}

/**
 * Return R1 of Danish and Norwegian. It begins after an apostrophe (pc'en). Without apostrophe it begins after the
 * first consonant that follows a vowel. At least three letters precede it.
 */
function regionOf(word: string, vowels: string): number {
  return Math.max(3, behindApostrophe(word) ?? behindConsonant(word, vowels))
}

function behindApostrophe(word: string): number | undefined {
  const index = word.indexOf("'")
  return index === -1 ? undefined : index + 1
}

function behindConsonant(word: string, vowels: string): number {
  return pastOther(vowels, word, past(vowels, word, 0))
}

function mainCut(
  word: string,
  table: Suffixes<'cut' | 's'>,
  r1: number,
  losesS: (stem: string) => boolean,
): string {
  const found = suffixOf(word, table, r1)
  if (found === undefined) return word
  const stem = cut(word, found.text.length)
  return found.action === 'cut' || losesS(stem) ? stem : word
}

function withoutPair(word: string, pairs: Suffixes<'cut'>, r1: number): string {
  return suffixOf(word, pairs, r1) === undefined ? word : cut(word, 1)
}

function withoutApostrophe(word: string): string {
  return word.endsWith("'") ? cut(word, 1) : word
}

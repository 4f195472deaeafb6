/** Provides the stemmer for Finnish (https://snowballstem.org/algorithms/finnish/stemmer.html). */
import { cut, isOf, isOther, regionAfter, suffixes, suffixOf } from './suffixes.js'

const vowels = 'aeiouyäö'
const consonants = 'bcdfghjklmnpqrstvwxz'
const longVowel = /(?:aa|ee|ii|oo|uu|ää|öö)$/
const vowelI = /(?:[aeiouäö]i|')$/

const particles = suffixes({ afterEnd: 'kin kaan kään ko kö han hän pa pä', sti: 'sti' })
const possessives = suffixes({ si: 'si', ni: 'ni', cut: 'nsa nsä mme nne', an: 'an', än: 'än', en: 'en' })
const beforePossessive = {
  an: /(?:ta|ssa|sta|lla|lta|na)$/,
  än: /(?:tä|ssä|stä|llä|ltä|nä)$/,
  en: /(?:lle|ine)$/,
}
const cases = suffixes({
  hVn: 'hän hön han hen hin hon hun',
  afterVowelI: 'siin den tten',
  seen: 'seen',
  n: 'n',
  a: 'a ä',
  tta: 'tta ttä',
  cut: 'ta tä ssa ssä sta stä lla llä lta ltä lle na nä ksi ine',
})
const comparatives = suffixes({
  notAfterPo: 'mpi mpa mpä mmi mma mmä',
  cut: 'impi impa impä immi imma immä eja ejä',
})

export function stemFinnish(text: string): string {
  const r1 = regionAfter(vowels, text, 0)
  const r2 = regionAfter(vowels, text, r1)
  let word = withoutParticle(text, r1, r2)
  word = withoutPossessive(word, r1)
  const inCase = word
  word = withoutCase(word, r1)
  const hadCase = word !== inCase
  const comparative = suffixOf(word, comparatives, r2)
  if (comparative !== undefined) {
    const stem = cut(word, comparative.text.length)
    if (comparative.action === 'cut' || !stem.endsWith('po')) word = stem
  }
  if (hadCase) word = /[ij]$/.test(word) && word.length > r1 ? cut(word, 1) : word
  else word = withoutT(word, r1, r2)
  return word.length < r1 ? word : tidied(word, r1)
}

function withoutParticle(word: string, r1: number, r2: number): string {
  const found = suffixOf(word, particles, r1)
  if (found === undefined) return word
  const stem = cut(word, found.text.length)
  const cuts = found.action === 'sti' ? stem.length >= r2 : isOf(`${vowels}nt`, stem, stem.length - 1)
  return cuts ? stem : word
}

function withoutPossessive(word: string, r1: number): string {
  const found = suffixOf(word, possessives, r1)
  if (found === undefined) return word
  const stem = cut(word, found.text.length)
  switch (found.action) {
    case 'cut':
      return stem
    case 'si':
      return stem.endsWith('k') ? word : stem
    case 'ni':
      return stem.endsWith('kse') ? `${cut(stem, 1)}i` : stem
    default:
      return beforePossessive[found.action].test(stem) ? stem : word
  }
}

function withoutCase(word: string, r1: number): string {
  const found = suffixOf(word, cases, r1)
  if (found === undefined) return word
  const stem = cut(word, found.text.length)
  const last = stem.length - 1
  switch (found.action) {
    case 'hVn': {
      // Remove -hVn only after the vowel of the ending or an apostrophe. Otherwise remove only -n.
      const alike = found.text[1] === 'ö' ? "öø'" : `${found.text[1]!}'`
      return last >= r1 && isOf(alike, stem, last) ? stem : withoutN(cut(word, 1))
    }
    case 'afterVowelI':
      return endsIn(stem, vowelI, r1) ? stem : withoutN(cut(word, 1))
    case 'seen':
      return endsIn(stem, longVowel, r1) ? stem : withoutN(cut(word, 1))
    case 'n':
      return withoutN(stem)
    case 'a':
      return isOf(vowels, stem, last) && isOf(consonants, stem, last - 1) ? stem : word
    case 'tta':
      return stem.endsWith('e') ? stem : word
    default:
      return stem
  }
}

function endsIn(stem: string, ending: RegExp, r1: number): boolean {
  const found = ending.exec(stem)
  return found !== null && found.index >= r1
}

function withoutN(stem: string): string {
  return longVowel.test(stem) || stem.endsWith('ie') ? cut(stem, 1) : stem
}

function withoutT(word: string, r1: number, r2: number): string {
  const stem = cut(word, 1)
  const last = stem.length - 1
  if (!word.endsWith('t') || last < r1 || !isOf(vowels, stem, last)) return word
  if (stem.endsWith('imma') && stem.length - 4 >= r2) return cut(stem, 4)
  if (stem.endsWith('mma') && stem.length - 3 >= r2 && !stem.endsWith('pomma')) return cut(stem, 3)
  return stem
}

function tidied(text: string, r1: number): string {
  let word = text
  if (endsIn(word, longVowel, r1)) word = cut(word, 1)
  if (word.length - 2 >= r1 && /[aäei]$/.test(word) && isOf(consonants, word, word.length - 2))
    word = cut(word, 1)
  if (word.length - 2 >= r1 && /[ou]j$/.test(word)) word = cut(word, 1)
  if (word.length - 2 >= r1 && word.endsWith('jo')) word = cut(word, 1)
  // If the last consonant of the word is doubled, remove one of the two, also if vowels follow.
  let at = word.length - 1
  while (at >= 0 && !isOther(vowels, word, at)) at -= 1
  if (isOf(consonants, word, at) && word[at - 1] === word[at]) word = word.slice(0, at) + word.slice(at + 1)
  return word.endsWith("'") ? cut(word, 1) : word
}

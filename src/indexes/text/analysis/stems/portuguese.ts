/**
 * Provides the stemmer for Portuguese (https://snowballstem.org/algorithms/portuguese/stemmer.html). A nasal vowel is
 * written as the vowel and ~, a consonant.
 */
import { cut, regionAfter, romanceRegion, suffixes, suffixOf, without } from './suffixes.js'

const vowels = 'aeiouáéíóúâêô'

interface Regions {
  readonly rv: number
  readonly r1: number
  readonly r2: number
}

const standard = suffixes({
  cut: `eza ezas ico ica icos icas ismo ismos ável ível ista istas oso osa osos osas amento amentos imento imentos adora ador aça~o
    adoras adores aço~es ante antes ância`,
  log: 'logia logias',
  u: 'uça~o uço~es',
  ente: 'ência ências',
  amente: 'amente',
  mente: 'mente',
  idade: 'idade idades',
  iva: 'iva ivo ivas ivos',
  ira: 'ira iras',
})
const verbs = suffixes({
  cut: `ada ida ia aria eria iria ará ara erá era irá ava asse esse isse aste este iste ei arei erei irei am iam ariam eriam iriam
    aram eram iram avam em arem erem irem assem essem issem ado ido ando endo indo ara~o era~o ira~o ar er ir as adas idas ias
    arias erias irias arás aras erás eras irás avas es ardes erdes irdes ares eres ires asses esses isses astes estes istes is ais
    eis íeis aríeis eríeis iríeis áreis areis éreis ereis íreis ireis ásseis ésseis ísseis áveis ados idos ámos amos íamos aríamos
    eríamos iríamos áramos éramos íramos ávamos emos aremos eremos iremos ássemos êssemos íssemos imos armos ermos irmos eu iu ou
    ira iras`,
})
const residual = suffixes({ cut: 'os a i o á í ó' })

export function stemPortuguese(text: string): string {
  const marked = text.replaceAll('ã', 'a~').replaceAll('õ', 'o~')
  const r1 = regionAfter(vowels, marked, 0)
  const regions = { rv: romanceRegion(vowels, marked), r1, r2: regionAfter(vowels, marked, r1) }
  const inflected = withoutStandard(marked, regions) ?? withoutVerb(marked, regions.rv)
  let word = inflected === undefined ? withoutResidue(marked, regions.rv) : softened(inflected, regions.rv)
  word = withoutForm(word, regions.rv)
  return word.replaceAll('a~', 'ã').replaceAll('o~', 'õ')
}

function withoutStandard(word: string, { rv, r1, r2 }: Regions): string | undefined {
  const found = suffixOf(word, standard)
  if (found === undefined) return undefined
  const stem = cut(word, found.text.length)
  const region = found.action === 'amente' ? r1 : found.action === 'ira' ? rv : r2
  if (stem.length < region) return undefined
  switch (found.action) {
    case 'cut':
      return stem
    case 'amente': {
      const adverb = without(stem, /(?:iv|os|ic|ad)$/, r2)
      return adverb !== stem && stem.endsWith('iv') ? without(adverb, /at$/, r2) : adverb
    }
    case 'mente':
      return without(stem, /(?:ante|avel|ível)$/, r2)
    case 'idade':
      return without(stem, /(?:abil|ic|iv)$/, r2)
    case 'iva':
      return without(stem, /at$/, r2)
    case 'ira':
      return stem.endsWith('e') ? `${stem}ir` : undefined
    default:
      return stem + found.action
  }
}

function withoutVerb(word: string, rv: number): string | undefined {
  const found = suffixOf(word, verbs, rv)
  return found === undefined ? undefined : cut(word, found.text.length)
}

function softened(word: string, rv: number): string {
  return word.endsWith('ci') && word.length - 1 >= rv ? cut(word, 1) : word
}

function withoutResidue(word: string, rv: number): string {
  const found = suffixOf(word, residual)
  return found === undefined || word.length - found.text.length < rv ? word : cut(word, found.text.length)
}

function withoutForm(word: string, rv: number): string {
  if (word.endsWith('ç')) return `${cut(word, 1)}c`
  if (!/[eéê]$/.test(word) || word.length - 1 < rv) return word
  const stem = cut(word, 1)
  return /(?:gu|ci)$/.test(stem) && stem.length - 1 >= rv ? cut(stem, 1) : stem
}

/** Provides the stemmer for Spanish (https://snowballstem.org/algorithms/spanish/stemmer.html). */
import { cut, regionAfter, romanceRegion, suffixes, suffixOf, without } from './suffixes.js'

const vowels = 'aeiouáéíóúü'
const plain: Readonly<Record<string, string>> = { á: 'a', é: 'e', í: 'i', ó: 'o', ú: 'u' }

interface Regions {
  readonly rv: number
  readonly r1: number
  readonly r2: number
}

const pronouns = suffixes({ cut: 'me se sela selo selas selos la le lo las les los nos' })
const beforePronoun = suffixes({ accent: 'iéndo ándo ár ér ír', cut: 'ando iendo ar er ir', yendo: 'yendo' })
const standard = suffixes({
  cut: `anza anzas ico ica icos icas ismo ismos able ables ible ibles ista istas oso osa osos osas amiento amientos imiento imientos`,
  ic: `adora ador ación adoras adores aciones ante antes ancia ancias acion`,
  log: 'logía logías',
  u: 'ución uciones ucion',
  ente: 'encia encias',
  amente: 'amente',
  mente: 'mente',
  idad: 'idad idades',
  iva: 'iva ivo ivas ivos',
})
const yVerbs = suffixes({ cut: 'ya ye yan yen yeron yendo yo yó yas yes yais yamos' })
const verbs = suffixes({
  gu: 'en es éis emos',
  cut: `arían arías arán arás aríais aría aréis aríamos aremos ará aré erían erías erán erás eríais ería eréis eríamos eremos erá
    eré irían irías irán irás iríais iría iréis iríamos iremos irá iré aba ada ida ía ara iera ad ed id ase iese aste iste an
    aban ían aran ieran asen iesen aron ieron ado ido ando iendo ió ar er ir as abas adas idas ías aras ieras ases ieses ís áis
    abais íais arais ierais aseis ieseis asteis isteis ados idos amos ábamos íamos imos áramos iéramos iésemos ásemos`,
})
const residual = suffixes({ cut: 'os a o á í ó', gu: 'e é' })

export function stemSpanish(text: string): string {
  const r1 = regionAfter(vowels, text, 0)
  const regions = { rv: romanceRegion(vowels, text), r1, r2: regionAfter(vowels, text, r1) }
  let word = withoutPronoun(text, regions.rv)
  word = withoutStandard(word, regions) ?? withoutVerb(word, regions.rv)
  word = withoutResidue(word, regions.rv)
  return word.replace(/[áéíóú]/g, letter => plain[letter]!)
}

function withoutPronoun(word: string, rv: number): string {
  const pronoun = suffixOf(word, pronouns)
  if (pronoun === undefined) return word
  const stem = cut(word, pronoun.text.length)
  const found = suffixOf(stem, beforePronoun)
  if (found === undefined || stem.length - found.text.length < rv) return word
  if (found.action === 'cut') return stem
  const rest = cut(stem, found.text.length)
  if (found.action === 'yendo') return rest.endsWith('u') ? stem : word
  return rest + found.text.replace(/[áéí]/, letter => plain[letter]!)
}

function withoutStandard(word: string, { r1, r2 }: Regions): string | undefined {
  const found = suffixOf(word, standard)
  if (found === undefined) return undefined
  const stem = cut(word, found.text.length)
  if (stem.length < (found.action === 'amente' ? r1 : r2)) return undefined
  switch (found.action) {
    case 'cut':
      return stem
    case 'ic':
      return without(stem, /ic$/, r2)
    case 'amente': {
      const adverb = without(stem, /(?:iv|os|ic|ad)$/, r2)
      return adverb !== stem && stem.endsWith('iv') ? without(adverb, /at$/, r2) : adverb
    }
    case 'mente':
      return without(stem, /(?:ante|able|ible)$/, r2)
    case 'idad':
      return without(stem, /(?:abil|ic|iv)$/, r2)
    case 'iva':
      return without(stem, /at$/, r2)
    default:
      return stem + found.action
  }
}

function withoutVerb(word: string, rv: number): string {
  const yVerb = suffixOf(word, yVerbs, rv)
  if (yVerb !== undefined && word[word.length - yVerb.text.length - 1] === 'u')
    return cut(word, yVerb.text.length)
  const found = suffixOf(word, verbs, rv)
  if (found === undefined) return word
  const stem = cut(word, found.text.length)
  return found.action === 'gu' && stem.endsWith('gu') ? cut(stem, 1) : stem
}

function withoutResidue(word: string, rv: number): string {
  const found = suffixOf(word, residual)
  if (found === undefined || word.length - found.text.length < rv) return word
  const stem = cut(word, found.text.length)
  return found.action === 'gu' && stem.endsWith('gu') && stem.length - 1 >= rv ? cut(stem, 1) : stem
}

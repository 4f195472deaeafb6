/** Provides the stemmer for Italian (https://snowballstem.org/algorithms/italian/stemmer.html). */
import { cut, isOf, regionAfter, romanceRegion, suffixes, suffixOf, without } from './suffixes.js'

const vowels = 'aeiouàèìòù'
const elision = /^(?:[dlmstv]|all|dall|dell|gl|nell|quell|quest|sull|tutt|un)'(?=.)/su
const betweenVowels = /([aeiouàèìòù])([ui])(?=[aeiouàèìòù])/g
const grave: Readonly<Record<string, string>> = { á: 'à', é: 'è', í: 'ì', ó: 'ò', ú: 'ù', qu: 'qU' }

interface Regions {
  readonly rv: number
  readonly r1: number
  readonly r2: number
}

const pronouns = suffixes({
  cut: `ci gli la le li lo mi ne si ti vi sene gliela gliele glieli glielo gliene mela mele meli melo mene tela tele teli telo tene
    cela cele celi celo cene vela vele veli velo vene`,
})
const beforePronoun = suffixes({ cut: 'ando endo', e: 'ar er ir' })
const standard = suffixes({
  cut: `anza anze ico ici ica ice iche ichi ismo ismi abile abili ibile ibili ista iste isti istà istè istì oso osi osa ose mente
    atrice atrici ante anti`,
  ic: 'azione azioni atore atori',
  log: 'logia logie',
  u: 'uzione uzioni usione usioni',
  ente: 'enza enze',
  amento: 'amento amenti imento imenti',
  amente: 'amente',
  ità: 'ità',
  ivo: 'ivo ivi iva ive',
})
const verbs = suffixes({
  cut: `ammo ando ano are arono asse assero assi assimo ata ate ati ato ava avamo avano avate avi avo emmo enda ende endi endo erà
    erai eranno ere erebbe erebbero erei eremmo eremo ereste eresti erete erò erono essero ete eva evamo evano evate evi evo Yamo
    iamo immo irà irai iranno ire irebbe irebbero irei iremmo iremo ireste iresti irete irò irono isca iscano isce isci isco
    iscono issero ita ite iti ito iva ivamo ivano ivate ivi ivo ono uta ute uti uto ar ir`,
})

export function stemItalian(text: string): string {
  const marked = text
    .replace(elision, '')
    .replace(/[áéíóú]|qu/g, letters => grave[letters]!)
    .replace(betweenVowels, (_, vowel: string, letter: string) => vowel + letter.toUpperCase())
  const r1 = regionAfter(vowels, marked, 0)
  const regions = { rv: rvOf(marked), r1, r2: regionAfter(vowels, marked, r1) }
  let word = withoutPronoun(marked, regions.rv)
  word = withoutStandard(word, regions) ?? withoutVerb(word, regions.rv)
  word = withoutVowel(word, regions.rv)
  return word.replaceAll('I', 'i').replaceAll('U', 'u')
}

/** Return the region RV. Words that begin with divan are an exception, so that divano does not get the stem of diva. */
function rvOf(word: string): number {
  return word.startsWith('divan') ? 5 : romanceRegion(vowels, word)
}

function withoutPronoun(word: string, rv: number): string {
  const pronoun = suffixOf(word, pronouns)
  if (pronoun === undefined) return word
  const stem = cut(word, pronoun.text.length)
  const found = suffixOf(stem, beforePronoun)
  if (found === undefined || stem.length - found.text.length < rv) return word
  return found.action === 'cut' ? stem : `${stem}e`
}

function withoutStandard(word: string, { rv, r1, r2 }: Regions): string | undefined {
  const found = suffixOf(word, standard)
  if (found === undefined) return undefined
  const stem = cut(word, found.text.length)
  const region = found.action === 'amente' ? r1 : found.action === 'amento' ? rv : r2
  if (stem.length < region) return undefined
  switch (found.action) {
    case 'cut':
    case 'amento':
      return stem
    case 'ic':
      return without(stem, /ic$/, r2)
    case 'amente': {
      const adverb = without(stem, /(?:iv|os|ic|abil)$/, r2)
      return adverb !== stem && stem.endsWith('iv') ? without(adverb, /at$/, r2) : adverb
    }
    case 'ità':
      return without(stem, /(?:abil|ic|iv)$/, r2)
    case 'ivo': {
      const active = without(stem, /at$/, r2)
      return active === stem ? stem : without(active, /ic$/, r2)
    }
    default:
      return stem + found.action
  }
}

function withoutVerb(word: string, rv: number): string {
  const found = suffixOf(word, verbs, rv)
  return found === undefined ? word : cut(word, found.text.length)
}

function withoutVowel(text: string, rv: number): string {
  let word = text
  if (isOf('aeioàèìò', word, word.length - 1) && word.length - 1 >= rv) {
    word = cut(word, 1)
    if (word.endsWith('i') && word.length - 1 >= rv) word = cut(word, 1)
  }
  return /[cg]h$/.test(word) && word.length - 2 >= rv ? cut(word, 1) : word
}

/** Provides the stemmer for Russian (https://snowballstem.org/algorithms/russian/stemmer.html). ё counts as е. */
import { cut, isOf, past, pastOther, regionAfter, type Suffixes, suffixes, suffixOf } from './suffixes.js'

const vowels = 'аеиоуыэюя'

/** A table of suffixes. A suffix with the action `afterA` is removed only after а or я. */
type Table = Suffixes<'afterA' | 'cut'>

const gerunds: Table = suffixes({ afterA: 'в вши вшись', cut: 'ив ивши ившись ыв ывши ывшись' })
const adjectives: Table = suffixes({
  cut: 'ее ие ые ое ими ыми ей ий ый ой ем им ым ом его ого ему ому их ых ую юю ая яя ою ею',
  afterA: '',
})
const participles: Table = suffixes({ afterA: 'ем нн вш ющ щ', cut: 'ивш ывш ующ' })
const verbs: Table = suffixes({
  afterA: 'ла на ете йте ли й л ем н ло но ет ют ны ть ешь нно',
  cut: `ила ыла ена ейте уйте ите или ыли ей уй ил ыл им ым ен ило ыло ено ят ует уют ит ыт ены ить ыть ишь ую ю`,
})
const nouns: Table = suffixes({
  cut: `а ев ов ие ье е иями ями ами еи ии и ией ей ой ий й иям ям ием ем ам ом о у ах иях ях ы ь ию ью ю ия ья я`,
  afterA: '',
})

export function stemRussian(text: string): string {
  const full = text.replaceAll('ё', 'е')
  const rv = past(vowels, full, 0)
  const r2 = regionAfter(vowels, full, pastOther(vowels, full, rv))
  let word = inflected(full, rv)
  if (word.endsWith('и') && word.length > rv) word = cut(word, 1)
  const noun = /ость?$/.exec(word)
  if (noun !== null && noun.index >= Math.max(rv, r2)) word = word.slice(0, noun.index)
  const superlative = /ейше?$/.exec(word)
  if (superlative !== null && superlative.index >= rv) word = word.slice(0, superlative.index)
  else if (word.endsWith('ь') && word.length > rv) return cut(word, 1)
  return word.endsWith('нн') && word.length - 2 >= rv ? cut(word, 1) : word
}

function inflected(word: string, rv: number): string {
  const gerund = without(word, gerunds, rv)
  if (gerund !== undefined) return gerund
  const active = /с[яь]$/.test(word) && word.length - 2 >= rv ? cut(word, 2) : word
  const adjective = without(active, adjectives, rv)
  if (adjective !== undefined) return without(adjective, participles, rv) ?? adjective
  return without(active, verbs, rv) ?? without(active, nouns, rv) ?? active
}

function without(word: string, table: Table, rv: number): string | undefined {
  const found = suffixOf(word, table, rv)
  if (found === undefined) return undefined
  const stem = cut(word, found.text.length)
  return found.action === 'cut' || (stem.length > rv && isOf('ая', stem, stem.length - 1)) ? stem : undefined
}

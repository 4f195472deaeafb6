/** Provides the stemmer for French (https://snowballstem.org/algorithms/french/stemmer.html). */
import { cut, isOf, isOther, past, regionAfter, suffixes, suffixOf } from './suffixes.js'

const vowels = 'aeiouyâàëéêèïîôûù'
const elision = /^(?:[cdjlmnst]|qu)'(?=.)/su
/** Letters to mark: vowels that count as consonants become capitals, ë becomes He, and ï becomes Hi. */
const toMark = /([aeiouyâàëéêèïîôûù])(?:[ui](?=[aeiouyâàëéêèïîôûù])|y)|ë|ï|y(?=[aeiouyâàëéêèïîôûù])|qu/g
const marks: Readonly<Record<string, string>> = { I: 'i', U: 'u', Y: 'y', He: 'ë', Hi: 'ï', H: '' }

interface Regions {
  readonly rv: number
  readonly r1: number
  readonly r2: number
}

const standard = suffixes({
  cut: 'ance iqUe isme able iste eux ances iqUes ismes ables istes',
  ation: 'atrice ateur ation atrices ateurs ations',
  logie: 'logie logies',
  usion: 'usion ution usions utions',
  ence: 'ence ences',
  ement: 'ement ements',
  ité: 'ité ités',
  if: 'if ive ifs ives',
  eau: 'eaux',
  aux: 'aux',
  oux: 'oux',
  euse: 'euse euses',
  issement: 'issement issements',
  amment: 'amment',
  emment: 'emment',
  ment: 'ment ments',
})
const beforeEment = suffixes({ iv: 'iv', eus: 'eus', cut: 'abl iqU', i: 'ièr Ièr' })
const beforeIté = suffixes({ abil: 'abil', ic: 'ic', cut: 'iv' })
const iVerbs = suffixes({
  cut: `îmes ît îtes i ie ies ir ira irai iraIent irais irait iras irent irez iriez irions irons iront is issaIent issais issait
    issant issante issantes issants isse issent isses issez issiez issions issons it`,
})
const verbs = suffixes({
  ions: 'ions',
  cut: `é ée ées és èrent er era erai eraIent erais erait eras erez eriez erions erons eront ez iez eais`,
  afterE: `âmes ât âtes a ai aIent ait ant ante antes ants as asse assent asses assiez assions`,
  ais: 'ais aise aises',
})
const keepsAis = /(?:^.?al|auv|épl)$/su
const residual = suffixes({ ion: 'ion', i: 'ier ière Ier Ière', cut: 'e' })

export function stemFrench(text: string): string {
  const whole = text.replace(elision, '').replace(toMark, marked)
  const r1 = regionAfter(vowels, whole, 0)
  let word = inflected(whole, { rv: rvOf(whole), r1, r2: regionAfter(vowels, whole, r1) })
  if (/(?:enn|onn|ett|ell|eill)$/.test(word)) word = cut(word, 1)
  word = word.replace(/[éè](?=[^aeiouyâàëéêèïîôûù]+$)/u, 'e')
  return word.replace(/[IUY]|H[ei]?/g, mark => marks[mark]!)
}

function marked(found: string, vowel: string | undefined): string {
  if (vowel !== undefined)
    return (vowel === 'ë' || vowel === 'ï' ? apart(vowel) : vowel) + found[1]!.toUpperCase()
  if (found === 'qu') return 'qU'
  return found === 'y' ? 'Y' : apart(found)
}

function apart(letter: string): string {
  return letter === 'ë' ? 'He' : 'Hi'
}

function rvOf(word: string): number {
  if (word.length >= 3 && isOf(vowels, word, 0) && isOf(vowels, word, 1)) return 3
  if (/^(?:par|col|tap|ni[aeiouyâàëéêèïîôûù])/.test(word)) return 3
  return past(vowels, word, 1)
}

function inflected(text: string, regions: Regions): string {
  const standardForm = withoutStandard(text, regions)
  // If only -ment was removed from a participle, the rest may still have the ending of a verb.
  const form = standardForm.found ? standardForm.word : withoutVerb(standardForm.word, regions)
  if (form !== undefined) {
    if (form.endsWith('Y')) return `${cut(form, 1)}i`
    return form.endsWith('ç') ? `${cut(form, 1)}c` : form
  }
  return withoutResidue(standardForm.word, regions)
}

function withoutStandard(word: string, { rv, r1, r2 }: Regions): { word: string; found: boolean } {
  const found = suffixOf(word, standard)
  if (found === undefined) return { word, found: false }
  const stem = cut(word, found.text.length)
  const at = stem.length
  const took = (next: string) => ({ word: next, found: true })
  const left = { word, found: false }
  switch (found.action) {
    case 'cut':
      return at < r2 ? left : took(stem)
    case 'ation':
      return at < r2 ? left : took(withoutIc(stem, r2))
    case 'logie':
      return at < r2 ? left : took(`${stem}log`)
    case 'usion':
      return at < r2 ? left : took(`${stem}u`)
    case 'ence':
      return at < r2 ? left : took(`${stem}ent`)
    case 'ement':
      return at < rv ? left : took(withoutBeforeEment(stem, { rv, r1, r2 }))
    case 'ité':
      return at < r2 ? left : took(withoutBeforeIté(stem, r2))
    case 'if':
      if (at < r2) return left
      return took(stem.endsWith('at') && at - 2 >= r2 ? withoutIc(cut(stem, 2), r2) : stem)
    case 'eau':
      return took(cut(word, 1))
    case 'aux':
      return at < r1 ? left : took(`${stem}al`)
    case 'oux':
      return isOf('bhjlnp', stem, at - 1) ? took(cut(word, 1)) : left
    case 'euse':
      if (at >= r2) return took(stem)
      return at < r1 ? left : took(`${stem}eux`)
    case 'issement':
      return at >= r1 && isOther(vowels, stem, at - 1) ? took(stem) : left
    case 'amment':
      return at < rv ? left : { word: `${stem}ant`, found: false }
    case 'emment':
      return at < rv ? left : { word: `${stem}ent`, found: false }
    default:
      return isOf(vowels, stem, at - 1) && at - 1 >= rv ? { word: stem, found: false } : left
  }
}

function withoutIc(stem: string, r2: number): string {
  if (!stem.endsWith('ic')) return stem
  return stem.length - 2 >= r2 ? cut(stem, 2) : `${cut(stem, 2)}iqU`
}

function withoutBeforeEment(stem: string, { rv, r1, r2 }: Regions): string {
  const found = suffixOf(stem, beforeEment)
  if (found === undefined) return stem
  const rest = cut(stem, found.text.length)
  switch (found.action) {
    case 'iv':
      if (rest.length < r2) return stem
      return rest.endsWith('at') && rest.length - 2 >= r2 ? cut(rest, 2) : rest
    case 'eus':
      if (rest.length >= r2) return rest
      return rest.length >= r1 ? `${rest}eux` : stem
    case 'i':
      return rest.length >= rv ? `${rest}i` : stem
    default:
      return rest.length >= r2 ? rest : stem
  }
}

function withoutBeforeIté(stem: string, r2: number): string {
  const found = suffixOf(stem, beforeIté)
  if (found === undefined) return stem
  const rest = cut(stem, found.text.length)
  if (rest.length >= r2) return rest
  if (found.action === 'abil') return `${rest}abl`
  return found.action === 'ic' ? `${rest}iqU` : stem
}

function withoutVerb(word: string, { rv, r2 }: Regions): string | undefined {
  const iVerb = suffixOf(word, iVerbs, rv)
  if (iVerb !== undefined) {
    const stem = cut(word, iVerb.text.length)
    if (stem.length > rv && isOther(`${vowels}H`, stem, stem.length - 1)) return stem
  }
  const found = suffixOf(word, verbs, rv)
  if (found === undefined) return undefined
  const stem = cut(word, found.text.length)
  switch (found.action) {
    case 'ions':
      return stem.length >= r2 ? stem : undefined
    case 'afterE':
      return stem.endsWith('e') && stem.length - 1 >= rv ? cut(stem, 1) : stem
    case 'ais':
      return keepsAis.test(stem) ? undefined : stem
    default:
      return stem
  }
}

function withoutResidue(text: string, { rv, r2 }: Regions): string {
  let word = text
  if (word.endsWith('s')) {
    const stem = cut(word, 1)
    if (stem.endsWith('Hi') || isOther('aiouès', stem, stem.length - 1)) word = stem
  }
  const found = suffixOf(word, residual, rv)
  if (found === undefined) return word
  const stem = cut(word, found.text.length)
  if (found.action === 'cut') return stem
  if (found.action === 'i') return `${stem}i`
  return stem.length >= r2 && stem.length > rv && isOf('st', stem, stem.length - 1) ? stem : word
}

/**
 * Provides the stemmer for Dutch, an algorithm by Kraaij and Pohlmann
 * (https://snowballstem.org/algorithms/dutch/stemmer.html). Unlike the other stemmers, it also removes the prefix ge-.
 * It doubles the last vowel of a stem if the spelling requires it: bomen becomes boom.
 */
import { cut, isOf, isOther, suffixes, suffixOf } from './suffixes.js'

const aiou = 'aäáàâiïíìîoöóòôuüúùû'
const e = 'eëéèê'
const aeiou = aiou + e
const vowels = `${aeiou}y`
/**
 * Matches leading consonants, all vowels that follow, and one consonant. The lookahead with `\1` prevents backtracking
 * into the vowels, so that the j of ij never counts as the consonant.
 */
const measured =
  /^[^aäáàâiïíìîoöóòôuüúùûeëéèêy]*(?=((?:ij|[aäáàâiïíìîoöóòôuüúùûeëéèêy])+))\1[^aäáàâiïíìîoöóòôuüúùûeëéèêy]/u

const firstVowels = /^[^aäáàâiïíìîoöóòôuüúùûeëéèêy]*(?=((?:ij|[aäáàâiïíìîoöóòôuüúùûeëéèêy])+))\1./su

const step1 = suffixes({ cut: "'s", s: 's', ie: 'ies', es: 'es', é: 'és', aus: 'aus', en: 'en', nd: 'nde' })
const step2 = suffixes({
  je: 'je',
  g: 'ge',
  lijk: 'lijke',
  isch: 'ische',
  de: 'de',
  t: 'te',
  s: 'se',
  r: 're',
  le: 'le',
  ene: 'ene',
  ieve: 'ieve',
})
const step3 = suffixes({
  eer: 'atie',
  lengthen: 'iteit',
  '': 'heid sel ster',
  rder: 'rder',
  ing: 'ing isme erij',
  arij: 'arij',
  f: 'fie',
  g: 'gie',
  t: 'tst',
  d: 'dst',
})
const step4 = suffixes({
  ie: 'ioneel',
  eer: 'atief',
  '': 'baar achtig achtiger achtigst',
  n: 'naar',
  l: 'laar',
  r: 'raar',
  teer: 'tant',
  lijk: 'lijker lijkst',
  lengthen: 'eriger erigst erig end',
})
const step4Ig = suffixes({ cut: 'iger igst ig' })
const doubled = /(?:([b-df-hj-np-tvwxz])\1|[vz])$/

interface Regions {
  readonly r1: number
  readonly r2: number
}

export function stemDutch(text: string): string {
  let regions = regionsOf(text)
  const first = plural(text, regions.r1)
  const second = diminutive(first ?? text, regions.r1)
  const third = noun(second ?? first ?? text, regions)
  const fourth = adjective(third ?? second ?? first ?? text, regions.r1)
  let stemmed = (fourth ?? third ?? second ?? first) !== undefined
  let word = fourth ?? third ?? second ?? first ?? text
  for (const lost of [withoutPrefix, withoutInfix]) {
    const bare = lost(word)
    if (bare === undefined) continue
    stemmed = true
    regions = regionsOf(bare)
    word = participle(bare, regions.r1)
  }
  if (/[kfp]t$/.test(word)) {
    stemmed = true
    word = cut(word, 1)
  }
  return stemmed ? undoubled(word) : word
}

/**
 * Return the regions. R1 begins after the first vowels and one consonant, R2 after the next vowels and one consonant.
 * `ij` counts as a vowel.
 */
function regionsOf(word: string): Regions {
  const first = measured.exec(word)
  if (first === null) return { r1: word.length, r2: word.length }
  const r1 = first[0].length
  const second = measured.exec(word.slice(r1))
  return { r1, r2: second === null ? word.length : r1 + second[0].length }
}

function endsWithVowel(word: string): boolean {
  return isOf(vowels, word, word.length - 1) || word.endsWith('ij')
}

function endsWithConsonant(word: string): boolean {
  return isOther(vowels, word, word.length - 1) && !word.endsWith('ij')
}

function lengthened(word: string): string {
  const last = word.length - 1
  if (!isOther(`${vowels}wx`, word, last)) return word
  const end = word[last]!
  const stem = cut(word, 1)
  if (stem.endsWith('eë')) return `${stem}e${end}`
  if (stem.endsWith('ië')) return `${cut(stem, 1)}ee${end}`
  const at = stem.length - 1
  if (isOf(aeiou, stem, at - 1)) return word
  if (isOf('aäáàâoöóòôuüúùû', stem, at)) return stem + stem[at]! + end
  if (!isOf('eéèê', stem, at)) return word
  // An e is usually doubled only if no syllable precedes: lek becomes leek, but kamel stays.
  if (at > 0) {
    const before = at - 2
    if (isOf(aiou, stem, before) || (before === 0 && isOf(e, stem, 0))) return word
    if (isOf(aiou, stem, before - 1) && isOther(aeiou, stem, before - 2)) return word
  }
  return stem + stem[at]! + end
}

function plural(word: string, r1: number): string | undefined {
  const found = suffixOf(word, step1)
  if (found === undefined) return undefined
  const stem = cut(word, found.text.length)
  const at = stem.length
  switch (found.action) {
    case 'cut':
      return stem
    case 's':
      return at >= r1 && !(stem.endsWith('t') && at - 1 >= r1) && endsWithConsonant(stem) ? stem : undefined
    case 'ie':
      return at >= r1 ? `${stem}ie` : undefined
    case 'es': {
      const before = cut(stem, 2)
      if (/[ae]r$/.test(stem) && before.length >= r1 && endsWithConsonant(before))
        return stem.endsWith('ar') ? lengthened(stem) : stem
      return at >= r1 && endsWithConsonant(stem) ? `${stem}e` : undefined
    }
    case 'é':
      return at >= r1 ? `${stem}é` : undefined
    case 'aus':
      return at >= r1 && endsWithVowel(stem) ? `${stem}au` : undefined
    case 'nd':
      return `${stem}nd`
    default:
      return withoutEn(stem, r1)
  }
}

function withoutEn(stem: string, r1: number): string | undefined {
  const at = stem.length
  if (stem.endsWith('hed') && at - 3 >= r1) return `${cut(stem, 3)}heid`
  if (stem.endsWith('nd')) return stem
  if (stem.endsWith('d') && at - 1 >= r1 && endsWithConsonant(cut(stem, 1))) return cut(stem, 1)
  if (/[ij]$/.test(stem) && endsWithVowel(cut(stem, 1))) return stem
  return at >= r1 && endsWithConsonant(stem) ? lengthened(stem) : undefined
}

function diminutive(word: string, r1: number): string | undefined {
  const found = suffixOf(word, step2)
  if (found === undefined) return undefined
  const stem = cut(word, found.text.length)
  if (found.action === 'je') return withoutJe(stem, r1)
  if (stem.length < r1) return undefined
  switch (found.action) {
    case 'de':
      return endsWithConsonant(stem) ? stem : undefined
    case 'le':
      return lengthened(`${stem}l`)
    case 'ene':
      return endsWithConsonant(stem) ? lengthened(`${stem}en`) : undefined
    case 'ieve':
      return endsWithConsonant(stem) ? `${stem}ief` : undefined
    default:
      return stem + found.action
  }
}

function withoutJe(stem: string, r1: number): string | undefined {
  const at = stem.length
  if (stem.endsWith("'t")) return cut(stem, 2)
  if (stem.endsWith('et') && at - 2 >= r1 && endsWithConsonant(cut(stem, 2))) return cut(stem, 2)
  if (stem.endsWith('rnt')) return cut(stem, 1)
  if (
    stem.endsWith('t') &&
    at - 1 >= r1 &&
    at > 1 &&
    (isOf(vowels, stem, at - 3) || cut(stem, 2).endsWith('ij'))
  )
    return cut(stem, 1)
  if (stem.endsWith('ink')) return `${cut(stem, 1)}g`
  if (stem.endsWith('mp')) return cut(stem, 1)
  if (stem.endsWith("'") && at - 1 >= r1) return cut(stem, 1)
  return at >= r1 && endsWithConsonant(stem) ? stem : undefined
}

function noun(word: string, { r1, r2 }: Regions): string | undefined {
  const found = suffixOf(word, step3)
  if (found === undefined) return undefined
  const stem = cut(word, found.text.length)
  const at = stem.length
  switch (found.action) {
    case 'rder':
      return `${stem}r`
    case 'ing':
      // Otherwise schilderij would get the stem of schild.
      if (stem.endsWith('ild')) return `${stem}er`
      return at >= r1 ? lengthened(stem) : undefined
    case 'lengthen':
      return at >= r1 ? lengthened(stem) : undefined
    case 'arij':
      return at >= r1 && endsWithConsonant(stem) ? `${stem}aar` : undefined
    case 'f':
    case 'g':
      return at >= r2 ? lengthened(stem + found.action) : undefined
    case 't':
    case 'd':
      return at >= r1 && endsWithConsonant(stem) ? stem + found.action : undefined
    default:
      return at >= r1 ? stem + found.action : undefined
  }
}

function adjective(word: string, r1: number): string | undefined {
  const found = suffixOf(word, step4)
  if (found !== undefined && word.length - found.text.length >= r1) {
    const stem = cut(word, found.text.length)
    switch (found.action) {
      case 'n':
      case 'l':
      case 'r':
        if (endsWithVowel(stem)) return stem + found.action
        break
      case 'lengthen':
        if (endsWithConsonant(stem)) return lengthened(stem)
        break
      default:
        return stem + found.action
    }
  }
  const ig = suffixOf(word, step4Ig)
  if (ig === undefined) return undefined
  const stem = cut(word, ig.text.length)
  // Otherwise innig would get the stem of in.
  return stem.length >= r1 && stem !== 'inn' && endsWithConsonant(stem) ? lengthened(stem) : undefined
}

function withoutPrefix(word: string): string | undefined {
  if (!word.startsWith('ge')) return undefined
  const rest = word.slice(2)
  // In geeft, geval, gevaar and gevaren, ge- is not a prefix.
  return hasSyllable(rest) && !/^(?:eft|val(?!i)|vaa|vare)/.test(rest) ? plainFirst(rest) : undefined
}

function withoutInfix(word: string): string | undefined {
  const index = word.indexOf('ge', 1)
  if (index === -1) return undefined
  const rest = word.slice(index + 2)
  return hasSyllable(rest) ? word.slice(0, index) + plainFirst(rest) : undefined
}

/** Return whether `rest` has at least three letters, and a letter after its first vowels. */
function hasSyllable(rest: string): boolean {
  return rest.length >= 3 && firstVowels.test(rest)
}

function plainFirst(word: string): string {
  if (word.startsWith('ë')) return `e${word.slice(1)}`
  return word.startsWith('ï') ? `i${word.slice(1)}` : word
}

function participle(word: string, r1: number): string {
  const stem = cut(word, 1)
  if (!/[dt]$/.test(word) || stem.length < r1 || !endsWithConsonant(stem)) return word
  if (word.endsWith('t')) return (stem.endsWith('h') && stem.length - 1 >= r1) || stem === 'en' ? word : stem
  if (stem.endsWith('n') && stem.length - 1 >= r1) return word
  // Otherwise geïnd would get the stem of in. It must get the stem of innen.
  return stem === 'in' ? 'inn' : stem
}

function undoubled(word: string): string {
  const found = doubled.exec(word)
  if (found === null || word === 'inn') return word
  if (found[0] === 'v') return `${cut(word, 1)}f`
  return found[0] === 'z' ? `${cut(word, 1)}s` : cut(word, 1)
}

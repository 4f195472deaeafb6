/**
 * Provides the stemmer for English, the algorithm Porter 2 (https://snowballstem.org/algorithms/english/stemmer.html).
 */
import { cut, isOf, isOther, regionAfter, suffixes, suffixOf, wordsOf } from './suffixes.js'

const vowels = 'aeiouy'
const vowelsAndWxY = 'aeiouywxY'

/** Stems of words that do not follow the rules. The last words are their own stems. */
const exceptions: ReadonlyMap<string, string> = new Map([
  ['skis', 'ski'],
  ['skies', 'sky'],
  ['idly', 'idl'],
  ['gently', 'gentl'],
  ['ugly', 'ugli'],
  ['early', 'earli'],
  ['only', 'onli'],
  ['singly', 'singl'],
  ...wordsOf('sky news howe atlas cosmos bias andes').map(word => [word, word] as const),
])

/** Prefixes after which R1 begins, so that words with different meanings (universe, university) do not share a stem. */
const r1Prefix = /^(?:gener|commun|arsen|past|univers|later|emerg|organ|inter)/

const step1a = suffixes({ sses: 'sses', ie: 'ied ies', s: 's', keep: 'us ss' })
const step1b = suffixes({ eed: 'eed eedly', ed: 'ed edly ingly', ing: 'ing' })
const afterStep1b = suffixes({ addE: 'at bl iz', undouble: 'bb dd ff gg mm nn pp rr tt' })
const beforeEed = /^(?:proc|exc|succ)$/
const beforeIng = /^(?:inn|out|cann|herr|earr|even)$/
const step2 = suffixes({
  tion: 'tional',
  ence: 'enci',
  ance: 'anci',
  able: 'abli',
  ent: 'entli',
  ize: 'izer ization',
  ate: 'ational ation ator',
  al: 'alism aliti alli',
  ful: 'fulness fulli',
  ous: 'ousli ousness',
  ive: 'iveness iviti',
  ble: 'biliti bli',
  og: 'ogist',
  less: 'lessli',
  ogi: 'ogi',
  li: 'li',
})
const step3 = suffixes({
  tion: 'tional',
  ate: 'ational',
  al: 'alize',
  ic: 'icate iciti ical',
  '': 'ful ness',
  ative: 'ative',
})
const step4 = suffixes({
  cut: 'al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize',
  ion: 'ion',
})

export function stemEnglish(text: string): string {
  if (text.length < 3) return text
  const exception = exceptions.get(text)
  if (exception !== undefined) return exception
  let word = text.charCodeAt(0) === 39 ? text.slice(1) : text
  const plain = word
  if (word.includes('y')) word = consonantalY(word)
  const marked = word !== plain
  const r1 = r1Prefix.exec(word)?.[0].length ?? regionAfter(vowels, word, 0)
  const r2 = regionAfter(vowels, word, r1)
  word = plural(word)
  word = pastTense(word, r1)
  if (/[yY]$/.test(word) && word.length > 2 && isOther(vowels, word, word.length - 2))
    word = `${cut(word, 1)}i`
  word = derived(word, r1, r2)
  return marked ? word.replaceAll('Y', 'y') : word
}

/** Write Y for each y that counts as a consonant, because it begins the word or follows a vowel. */
function consonantalY(word: string): string {
  let marked = word
  for (let i = word.indexOf('y'); i !== -1; i = word.indexOf('y', i + 1))
    if (i === 0 || isOf(vowels, marked, i - 1)) marked = `${marked.slice(0, i)}Y${marked.slice(i + 1)}`
  return marked
}

function plural(text: string): string {
  const word = text.includes("'") ? text.replace(/'(?:s'?)?$/, '') : text
  const found = suffixOf(word, step1a)
  switch (found?.action) {
    case 'sses':
      return cut(word, 2)
    case 'ie':
      return cut(word, word.length > 4 ? 2 : 1)
    case 's':
      return hasVowel(word, word.length - 2) ? cut(word, 1) : word
    default:
      return word
  }
}

function pastTense(word: string, r1: number): string {
  const found = suffixOf(word, step1b)
  if (found === undefined) return word
  const stem = cut(word, found.text.length)
  if (found.action === 'eed') return stem.length < r1 || beforeEed.test(stem) ? word : `${stem}ee`
  if (found.action === 'ing') {
    if (stem.length === 2 && stem[1] === 'y' && isOther(vowels, stem, 0)) return `${stem[0]!}ie`
    if (beforeIng.test(stem)) return word
  }
  if (!hasVowel(stem, stem.length)) return word
  switch (suffixOf(stem, afterStep1b)?.action) {
    case 'addE':
      return `${stem}e`
    case 'undouble':
      return stem.length === 3 && 'aeo'.includes(stem[0]!) ? stem : cut(stem, 1)
    default:
      return stem.length === r1 && endsShort(stem) ? `${stem}e` : stem
  }
}

function derived(text: string, r1: number, r2: number): string {
  let word = text
  const second = suffixOf(word, step2)
  if (second !== undefined && word.length - second.text.length >= r1) {
    const stem = cut(word, second.text.length)
    if (second.action === 'ogi') word = stem.endsWith('l') ? cut(word, 1) : word
    else if (second.action === 'li') word = isOf('cdeghkmnrt', stem, stem.length - 1) ? stem : word
    else word = stem + second.action
  }
  const third = suffixOf(word, step3)
  if (third !== undefined && word.length - third.text.length >= r1) {
    const stem = cut(word, third.text.length)
    if (third.action !== 'ative') word = stem + third.action
    else if (stem.length >= r2) word = stem
  }
  const fourth = suffixOf(word, step4)
  if (fourth !== undefined && word.length - fourth.text.length >= r2) {
    const stem = cut(word, fourth.text.length)
    if (fourth.action === 'cut' || isOf('st', stem, stem.length - 1)) word = stem
  }
  const stem = cut(word, 1)
  if (word.endsWith('e')) return stem.length >= r2 || (stem.length >= r1 && !endsShort(stem)) ? stem : word
  return word.endsWith('ll') && stem.length >= r2 ? stem : word
}

function hasVowel(word: string, end: number): boolean {
  for (let i = 0; i < end; i += 1) if (vowels.includes(word[i]!)) return true
  return false
}

/** Return whether the last syllable is short, as in hop, ow and past. */
function endsShort(word: string): boolean {
  const last = word.length - 1
  if (!isOf(vowels, word, last - 1)) return word.endsWith('past')
  if (last === 1) return isOther(vowels, word, 1)
  return (isOther(vowelsAndWxY, word, last) && isOther(vowels, word, last - 2)) || word.endsWith('past')
}

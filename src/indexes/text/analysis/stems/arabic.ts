/**
 * Provides the stemmer for Arabic, an algorithm by Chelli and Aries
 * (https://snowballstem.org/algorithms/arabic/stemmer.html).
 */
import { cut, type Suffixes, suffixes, suffixOf } from './suffixes.js'

/** Vowel marks, and tatweel, the stroke that only makes a word longer. */
const unwritten = /[\u064b-\u0652\u0640]/g
/**
 * Presentation forms: characters for the shape of a letter at the beginning, in the middle or at the end of a word, and
 * ligatures.
 */
const shaped = /[\ufe80-\ufefc]/g
const digits = /[\u0660-\u0669]/g

/** A table of suffixes. The action is the minimum number of letters of a word from which the suffix is removed. */
type Table = Suffixes<string>

const nounOwner: Table = suffixes({ 4: 'ي ك ه', 5: 'نا كم ها هن هم', 6: 'كما هما' })
const nounN: Table = suffixes({ 6: 'ن' })
const nounWeak: Table = suffixes({ 5: 'ا ي و' })
const nounMany: Table = suffixes({ 5: 'ات' })
const nounT: Table = suffixes({ 4: 'ت' })
const nounFeminine: Table = suffixes({ 4: 'ة' })
const nounFrom: Table = suffixes({ 3: 'ي' })
const verbObject: Table = suffixes({ 4: 'ه ك', 5: 'ني نا ها هم هن كم كن', 6: 'هما كما كمو' })
const verbSubject: Table = suffixes({ 4: 'ت ا ن ي', 5: 'نا تا تن', 6: 'ان ون ين تما' })
const verbMany: Table = suffixes({ 5: 'وا تم' })
const verbManyBefore: Table = suffixes({ 4: 'و', 6: 'تمو' })

export function stemArabic(text: string): string {
  const article = /^(?:[بك]?ال|لل)/.exec(text)?.[0]
  const isDefined = article !== undefined && text.length > article.length + 1
  let word = text
    .replace(unwritten, '')
    .replace(digits, digit => String(digit.charCodeAt(0) - 0x660))
    .replace(shaped, letter => letter.normalize('NFKC'))
  const verb = isDefined ? undefined : withoutVerbSuffix(word)
  word = verb ?? withoutNounSuffix(word, isDefined)
  return withoutPrefix(word, !isDefined)
    .replace(/[أإآؤئ]$/, 'ء')
    .replace(/[أإآ]/g, 'ا')
    .replaceAll('ؤ', 'و')
    .replaceAll('ئ', 'ي')
}

function withoutOne(word: string, table: Table): string | undefined {
  const found = suffixOf(word, table)
  return found === undefined || word.length < Number(found.action) ? undefined : cut(word, found.text.length)
}

function withoutVerbSuffix(text: string): string | undefined {
  let word = text
  let objects = 0
  for (let next = withoutOne(word, verbObject); next !== undefined; next = withoutOne(word, verbObject)) {
    word = next
    objects += 1
  }
  if (objects > 0) {
    const subject = withoutOne(word, verbSubject) ?? withoutOne(word, verbManyBefore)
    if (subject !== undefined || word !== '') return subject ?? word
  }
  return withoutOne(word, verbMany) ?? withoutOne(word, verbSubject)
}

function withoutNounSuffix(text: string, isDefined: boolean): string {
  const word = withoutNounEnding(text, isDefined) ?? text
  return withoutOne(word, nounFrom) ?? (word.endsWith('ى') ? `${cut(word, 1)}ي` : word)
}

function withoutNounEnding(word: string, isDefined: boolean): string | undefined {
  const feminine = withoutOne(word, nounFeminine)
  if (feminine !== undefined) return feminine
  const bare = isDefined ? undefined : withoutOne(word, nounOwner)
  if (bare !== undefined) return withoutNumber(bare) ?? bare
  const n = withoutOne(word, nounN)
  if (n !== undefined) {
    const number = withoutNumber(n)
    if (number !== undefined) return number
  }
  const rest = n ?? word
  return (isDefined ? undefined : withoutOne(rest, nounWeak)) ?? withoutOne(rest, nounMany) ?? n
}

function withoutNumber(word: string): string | undefined {
  return withoutOne(word, nounWeak) ?? withoutOne(word, nounMany) ?? withoutOne(word, nounT)
}

function withoutPrefix(text: string, mayBeVerb: boolean): string {
  if (text.length > 3 && /^أ[أآؤاإ]/.test(text)) {
    const first = text[1] === 'ؤ' ? 'أ' : text[1]!
    return first + withoutParticle(text.slice(2), 1, mayBeVerb)
  }
  return withoutParticle(text, 0, mayBeVerb)
}

/** Remove prefixes. `before`: number of letters before `text`; the length limits count these letters too. */
function withoutParticle(text: string, before: number, mayBeVerb: boolean): string {
  const rest = before + text.length > 3 && /^[فو](?!ا)/.test(text) ? text.slice(1) : text
  const length = before + rest.length
  const article = /^(?:[بك]?ال|لل)/.exec(rest)?.[0]
  if (article !== undefined && length > article.length + 2) return rest.slice(article.length)
  if (rest.startsWith('با')) return rest
  if (length > 3 && /^(?:ب|كك)/.test(rest)) return rest.slice(1)
  if (!mayBeVerb || length <= 4) return rest
  if (/^س[يتنأ]/.test(rest)) return rest[1]! + (length > 5 ? withAstOf(rest.slice(2)) : rest.slice(2))
  return withAstOf(rest)
}

function withAstOf(word: string): string {
  return /^[ينت]ست/.test(word) ? `ا${word.slice(1)}` : word
}

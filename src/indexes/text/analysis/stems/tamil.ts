/**
 * Provides the stemmer for Tamil, an algorithm by Rajalingam (https://snowballstem.org/algorithms/tamil/stemmer.html).
 * Removing a suffix often leaves the pulli (்), the mark of a consonant without a vowel.
 */
import { cut, type Suffixes, suffixes, suffixOf } from './suffixes.js'

const pulli = '்'
/** Vowel signs that a suffix must not follow. */
const signBefore = /[ாிீெேுூை]$/
const hard = /[கசடதபற]$/
const vaFirst: Readonly<Record<string, string>> = { வோ: 'ஓ', வொ: 'ஒ', வு: 'உ', வூ: 'ஊ' }

type Actions = 'cut' | 'pulli' | 'notAfterSign'

const endings = suffixes({
  cut: 'ந் ந்த ந்த் வ ய வ்',
  ய்: 'ய்',
  ள்: 'ட்ப் ட்க்',
  ல்: 'ன்ற் ற்க்',
  டு: 'ட்ட்',
  த்த்: 'த்த்',
  pulli: 'ுக் ுக்க்',
  னு: 'னு',
  ங்: 'ங்',
})
const attached: Suffixes<Actions> = suffixes({
  pulli: 'ுடன் ில்லை ிடம் ின்றி ாகி ாகிய ென்று ுள்ள ுடைய ுடை ெனும் ென',
  notAfterSign: 'ல்ல',
  cut: `படு பட்ட பட்டு பட்டது பட்டண குரிய பற்றி விடு விட்டு படிதான படி தான ெல்லாம்`,
})
const caseEndings = suffixes({
  cut: 'னை கண் முன் மேல் மேற் கீழ்',
  pulli: 'ொடு ோடு ில் ிற் ின்று ிருந்து விட ால் ுடை ாமல் ுள்',
  'ின்': 'ின்',
  'ிடம்': 'ிடம்',
  ல்: 'ல்',
  து: 'து',
  'ீ': 'ீ',
})
const tenses = suffixes({
  cut: `கொண்டிர் படு மார் மின் னன் னான் னாள் னார் னள் வள் னர் வர் ன ப க த ய பன் பள் பர் ிற்று பம் னம் தும் றும் கும் னென் னை வை`,
  வன்: 'வன்',
  து: 'து',
  'ான்': 'ான்',
  pulli: 'ாள் ார் ேன் ா ாம் ெம் ேம் ோம் டும் ாய் னிர் ீர் ீயர்',
  கு: 'கு',
})
const prefixes = { question: /^எ[கசதவநபமயஙஞ]்/, pronoun: /^[அஇஉ][கசதவநபமயஙஞ]்/ }
const present = /(?:ாநின்ற்?|கின்ற்?|கிற்?)$/
const hardEnding = /(?:[கசடதபற]்)?[கசடதபற]்$/
const softEnding = /்[யரலவழளஞணநமன]்$/

export function stemTamil(text: string): string {
  let word = withEndingFixed(text, false) ?? text
  if (word.length <= 4) return word
  word = withoutPrefix(withoutPrefix(word, prefixes.question), prefixes.pronoun)
  if (word.length > 4) word = withEndingsFixed(/[ோோ]$/.test(word) ? cut(word, 1) + pulli : word, false)
  if (word.length > 4 && word.endsWith('ும்')) {
    word = cut(word, 3) + pulli
    word = withEndingFixed(word, false) ?? word
  }
  word = withoutAttached(word)
  const inCase = withoutCase(word)
  // Some of the later rules apply only if a case ending was removed.
  const hadCase = inCase !== undefined
  word = withoutPlural(inCase ?? word)
  if (word.length > 4 && /[பவ]ி$/.test(word)) word = cut(word, 2)
  for (;;) {
    const next = withoutTense(word, hadCase)
    word = next.word
    if (!next.found) return word
  }
}

function withoutPrefix(word: string, prefix: RegExp): string {
  const rest = word.replace(prefix, '')
  return rest === word ? word : rest.replace(/^வ[ோொுூ]/, first => vaFirst[first]!)
}

function withEndingsFixed(text: string, hadCase: boolean): string {
  let word = text
  for (;;) {
    const next = withEndingFixed(word, hadCase)
    if (next === undefined) return word
    word = next
  }
}

/**
 * Correct the ending of a word from which a suffix was removed, so that a word may end like this. Return undefined if
 * no rule changes the ending.
 */
function withEndingFixed(word: string, hadCase: boolean): string | undefined {
  if (word.length <= 3) return undefined
  const found = suffixOf(word, endings)
  if (found !== undefined) {
    const stem = cut(word, found.text.length)
    switch (found.action) {
      case 'cut':
        return stem
      case 'pulli':
        return stem + pulli
      case 'ய்':
        if (/[ைிீ]$/.test(stem)) return stem
        break
      case 'த்த்':
        if (hadCase && !stem.endsWith('ை')) return `${stem}ம்`
        break
      case 'னு':
        if (!signBefore.test(stem)) return stem
        break
      case 'ங்':
        return /[ை்]$/.test(stem) ? stem : `${stem}ம்`
      default:
        return stem + found.action
    }
  }
  if (!word.endsWith(pulli)) return undefined
  const bare = word.replace(hardEnding, '')
  if (bare !== word) return bare
  if (softEnding.test(word)) return cut(word, 2)
  return /[ாிீெேுூை்]்$/.test(word) ? cut(word, 1) : undefined
}

function withoutAttached(word: string): string {
  const found = word.length > 4 ? suffixOf(word, attached) : undefined
  if (found === undefined) return word
  const stem = cut(word, found.text.length)
  if (found.action === 'notAfterSign' && signBefore.test(stem)) return word
  return withEndingsFixed(found.action === 'cut' ? stem : stem + pulli, false)
}

function withoutCase(word: string): string | undefined {
  if (word.length <= 4) return undefined
  const bare = withoutCaseEnding(word)
  if (bare === undefined) return undefined
  return withEndingsFixed(bare.endsWith('ின்') ? cut(bare, 3) + pulli : bare, true)
}

function withoutCaseEnding(word: string): string | undefined {
  const found = suffixOf(word, caseEndings)
  if (found !== undefined) {
    const stem = cut(word, found.text.length)
    switch (found.action) {
      case 'cut':
        return stem
      case 'pulli':
        return stem + pulli
      case 'ின்':
        if (!stem.endsWith('ம')) return stem + pulli
        break
      case 'ிடம்':
        if (word.length >= 7) return stem + pulli
        break
      case 'ல்':
        if (!signBefore.test(stem)) return stem + pulli
        break
      case 'து':
        if (!signBefore.test(stem)) return stem
        break
      default:
        return `${stem}ி`
    }
  }
  if (!word.endsWith('ை')) return undefined
  const stem = cut(word, 1)
  return hard.test(stem) && !stem.endsWith(pulli, stem.length - 1) ? undefined : stem + pulli
}

function withoutPlural(word: string): string {
  if (!word.endsWith('கள்')) return word
  const stem = cut(word, 3)
  if (stem.endsWith('ுங்')) return hard.test(cut(stem, 3)) ? stem : cut(stem, 3) + pulli
  if (stem.endsWith('ற்')) return `${cut(stem, 2)}ல்`
  return stem.endsWith('ட்') ? `${cut(stem, 2)}ள்` : stem
}

function withoutTense(text: string, hadCase: boolean): { readonly word: string; readonly found: boolean } {
  if (text.length <= 4) return { word: text, found: false }
  const bare = withoutTenseEnding(text)
  const word = bare ?? text
  const other = word.replace(present, '')
  return { word: withEndingsFixed(other, hadCase), found: bare !== undefined || other !== word }
}

function withoutTenseEnding(word: string): string | undefined {
  const found = suffixOf(word, tenses)
  if (found === undefined) return undefined
  const stem = cut(word, found.text.length)
  switch (found.action) {
    case 'cut':
      return stem
    case 'pulli':
      return stem + pulli
    case 'வன்':
      return /[அஆஇஈஉஊஎஏஐஒஓஔ]$/.test(stem) ? undefined : stem
    case 'து':
      return signBefore.test(stem) ? undefined : stem
    case 'ான்':
      return stem.endsWith('ச') ? undefined : stem + pulli
    default:
      return stem.endsWith(pulli) ? stem : undefined
  }
}

/**
 * Words to stems, by the stemmers of Snowball 3 (https://snowballstem.org), one of Sheaf's own for each language: the published vocabularies
 * come out of them as they should, word for word.
 */
import type { Language } from '../../../protocol/index-shapes.js'
import { stemArabic } from './stems/arabic.js'
import { stemDutch } from './stems/dutch.js'
import { stemEnglish } from './stems/english.js'
import { stemFinnish } from './stems/finnish.js'
import { stemFrench } from './stems/french.js'
import { stemGerman } from './stems/german.js'
import { stemGreek } from './stems/greek.js'
import { stemHungarian } from './stems/hungarian.js'
import { stemItalian } from './stems/italian.js'
import { stemPortuguese } from './stems/portuguese.js'
import { stemRomanian } from './stems/romanian.js'
import { stemRussian } from './stems/russian.js'
import { stemDanish, stemNorwegian, stemSwedish } from './stems/scandinavian.js'
import { stemSpanish } from './stems/spanish.js'
import { stemTamil } from './stems/tamil.js'
import { stemTurkish } from './stems/turkish.js'

/** Changes whenever a stemmer gives a word another stem. */
export const stemIdentity = 'snowball-3.1/1'

const stemmers: Readonly<Record<Language, (word: string) => string>> = {
  Arabic: stemArabic,
  Danish: stemDanish,
  Dutch: stemDutch,
  English: stemEnglish,
  Finnish: stemFinnish,
  French: stemFrench,
  German: stemGerman,
  Greek: stemGreek,
  Hungarian: stemHungarian,
  Italian: stemItalian,
  Norwegian: stemNorwegian,
  Portuguese: stemPortuguese,
  Romanian: stemRomanian,
  Russian: stemRussian,
  Spanish: stemSpanish,
  Swedish: stemSwedish,
  Tamil: stemTamil,
  Turkish: stemTurkish,
}

/** In UTF-16 units. No language has longer words, and the time that stemmers take may grow with the square of the length. */
const longestWord = 250

/**
 * The function that gives the stem of a word, which should be in lower case: of capitals the rules know little. It takes any string, also one
 * that is no word of the language, and gives one that may be empty. What is longer than any word comes back as it is.
 */
export function stemmerOf(language: Language): (word: string) => string {
  const stem = stemmers[language]
  return word => (word.length > longestWord ? word : stem(word))
}

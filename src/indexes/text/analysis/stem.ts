/**
 * Returns the stemmers of all languages. They are Sheaf's own implementations of the Snowball 3 algorithms
 * (https://snowballstem.org). For the published vocabularies, they return exactly the published stems.
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

/** The version of the stemmers. Change it whenever a stemmer returns another stem for any word. */
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

/**
 * Maximum length of a word that is stemmed, in UTF-16 units. Real words are not longer, and the time of a stemmer may
 * grow quadratically with the length.
 */
const longestWord = 250

/**
 * Return the stemmer of a language: a function from a word to its stem. Words should be in lower case, because the
 * rules do not match most capitals. The function accepts any string, and may return an empty string. It returns strings
 * of more than 250 UTF-16 units unchanged.
 */
export function stemmerOf(language: Language): (word: string) => string {
  const stem = stemmers[language]
  return word => (word.length > longestWord ? word : stem(word))
}

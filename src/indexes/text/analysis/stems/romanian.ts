/** Provides the stemmer for Romanian (https://snowballstem.org/algorithms/romanian/stemmer.html). */
import { cut, isOf, isOther, regionAfter, romanceRegion, suffixes, suffixOf } from './suffixes.js'

const vowels = 'aeiouâîă'
const betweenVowels = /([aeiouâîă])([ui])(?=[aeiouâîă])/g

const articles = suffixes({
  '': 'ul ului',
  a: 'aua',
  e: 'ea ele elor',
  i: 'ii iua iei iile iilor ilor',
  ile: 'ile',
  at: 'atei',
  ați: 'ație ația',
})
const combined = suffixes({
  abil: 'abilitate abilitati abilităi abilități',
  ibil: 'ibilitate',
  iv: 'ivitate ivitati ivităi ivități',
  ic: 'icitate icitati icităi icități icator icatori iciv iciva icive icivi icivă ical icala icale icali icală',
  at: 'ativ ativa ative ativi ativă ațiune atoare ator atori ătoare ător ători',
  it: 'itiv itiva itive itivi itivă ițiune itoare itor itori',
})
const standard = suffixes({
  cut: `at ata ată ati ate ut uta ută uti ute it ita ită iti ite ic ica ice ici ică abil abila abile abili abilă ibil ibila ibile
    ibili ibilă oasa oasă oase os osi oși ant anta ante anti antă ator atori itate itati ităi ități iv iva ive ivi ivă`,
  iune: 'iune iuni',
  ist: 'ism isme ist ista iste isti istă iști',
})
const verbs = suffixes({
  afterConsonant: `are ere ire âre ind ând indu ându eze ească ez ezi ează esc ești ește ăsc ăști ăște am ai au eam eai ea eați eau
    iam iai ia iați iau ui ași arăm arăți ară uși urăm urăți ură iși irăm irăți iră âi âși ârăm ârăți âră asem aseși ase aserăm
    aserăți aseră isem iseși ise iserăm iserăți iseră âsem âseși âse âserăm âserăți âseră usem useși use userăm userăți useră`,
  cut: `ăm ați em eți im iți âm âți seși serăm serăți seră sei se sesem seseși sese seserăm seserăți seseră`,
})

export function stemRomanian(text: string): string {
  // Letters with a cedilla are an older spelling of the letters with a comma.
  const marked = text
    .replaceAll('ş', 'ș')
    .replaceAll('ţ', 'ț')
    .replace(betweenVowels, (_, vowel: string, letter: string) => vowel + letter.toUpperCase())
  const rv = romanceRegion(vowels, marked)
  const r1 = regionAfter(vowels, marked, 0)
  const r2 = regionAfter(vowels, marked, r1)
  const bare = withoutArticle(marked, r1)
  const joined = withoutCombined(bare, r1)
  const single = withoutStandard(joined, r2)
  let word = single === undefined && joined === bare ? withoutVerb(bare, rv) : (single ?? joined)
  const vowel = /(?:ie|[aeiă])$/.exec(word)
  if (vowel !== null && vowel.index >= rv) word = word.slice(0, vowel.index)
  return word.replaceAll('I', 'i').replaceAll('U', 'u')
}

function withoutArticle(word: string, r1: number): string {
  const found = suffixOf(word, articles)
  if (found === undefined || word.length - found.text.length < r1) return word
  const stem = cut(word, found.text.length)
  if (found.action === 'ile') return stem.endsWith('ab') ? word : `${stem}i`
  return stem + found.action
}

/**
 * Replace combined suffixes by simpler suffixes until none is left. The loop ends, because each replacement is shorter.
 */
function withoutCombined(text: string, r1: number): string {
  let word = text
  for (;;) {
    const found = suffixOf(word, combined)
    if (found === undefined || word.length - found.text.length < r1) return word
    word = cut(word, found.text.length) + found.action
  }
}

function withoutStandard(word: string, r2: number): string | undefined {
  const found = suffixOf(word, standard)
  if (found === undefined || word.length - found.text.length < r2) return undefined
  const stem = cut(word, found.text.length)
  if (found.action === 'cut') return stem
  if (found.action === 'ist') return `${stem}ist`
  return stem.endsWith('ț') ? `${cut(stem, 1)}t` : undefined
}

function withoutVerb(word: string, rv: number): string {
  const found = suffixOf(word, verbs, rv)
  if (found === undefined) return word
  const stem = cut(word, found.text.length)
  if (found.action === 'cut') return stem
  const last = stem.length - 1
  return last >= rv && (isOther(vowels, stem, last) || isOf('u', stem, last)) ? stem : word
}

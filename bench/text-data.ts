/** Short texts to search, and words to search them for. */
import { existsSync, readFileSync } from 'node:fs'
import { stopWordsOf } from '../src/indexes/text/analysis/stop-words.js'
import { seededRandom } from './random.js'

export interface TextData {
  readonly name: string
  readonly documents: readonly string[]
}

const dictionary = '/usr/share/wordnet'

/** Texts of WordNet, if they are wanted and here; else so many made from a seed. */
export function textsOf({
  wordNet,
  documents,
}: {
  readonly wordNet: boolean
  readonly documents: number
}): TextData {
  return (wordNet ? glosses() : null) ?? zipfTexts(documents)
}

/** What WordNet says of each set of synonyms, where Debian's package wordnet-base is installed: 117,659 texts of about 15 words. */
function glosses(): TextData | null {
  const files = ['noun', 'verb', 'adj', 'adv'].map(part => `${dictionary}/data.${part}`)
  if (!files.every(path => existsSync(path))) return null
  const lines = files.flatMap(path => readFileSync(path, 'utf8').split('\n'))
  return { name: 'WordNet', documents: lines.filter(line => /^\d{8} /.test(line)).map(glossOf) }
}

/** `offset file type count (word sense)* ... | gloss`, the count in base 16. */
function glossOf(line: string): string {
  const [data, gloss] = line.split(' | ') as [string, string]
  const [, , , count, ...rest] = data.split(' ')
  const words = Array.from({ length: Number.parseInt(count!, 16) }, (_, i) =>
    rest[2 * i]!.replaceAll('_', ' '),
  )
  return `${words.join(', ')}: ${gloss.trim()}`
}

/** Words that texts of a seed are made of. */
export const vocabulary = 60_000

/** Texts of 5 to 25 words. */
function zipfTexts(count: number): TextData {
  const random = seededRandom(1)
  const documents = Array.from({ length: count }, () => zipfText(5 + Math.floor(20 * random()), random))
  return { name: 'texts from a seed', documents }
}

/** A text of so many words; the word of rank `n` is about `1 / n` as frequent as the first. */
export function zipfText(length: number, random: () => number): string {
  return Array.from({ length }, () => wordOf(Math.floor(vocabulary ** random()))).join(' ')
}

/** A word that can be said, another for each rank. */
export function wordOf(rank: number): string {
  let word = ''
  for (let rest = rank + 100; rest > 0; rest = Math.floor(rest / 100)) {
    word += 'bdfgklmnprstvzchjwqxy'[rest % 20]! + 'aeiou'[Math.floor((rest % 100) / 20)]!
  }
  return word
}

export interface TextQueries {
  /** One word, and three, of a document each. */
  readonly words1: readonly string[]
  readonly words3: readonly string[]
  /** Two that stand beside each other in one. */
  readonly phrases2: readonly string[]
  /** One with one letter replaced. */
  readonly misspelt: readonly string[]
}

/** `count` queries of each kind, of documents drawn evenly: frequent words come as often as they are said. None has a stop word. */
export function textQueries({ documents }: TextData, count: number): TextQueries {
  const random = seededRandom(2)
  const stopWords = stopWordsOf('English')
  const isAsked = (word: string) => /^[a-z]{3,}$/.test(word) && !stopWords.has(word)
  const below = (limit: number) => Math.floor(random() * limit)
  const drawn = (queryOf: (text: string) => string | null) => {
    const queries = new Set<string>()
    while (queries.size < count) {
      const query = queryOf(documents[below(documents.length)]!.toLowerCase())
      if (query !== null) queries.add(query)
    }
    return [...queries]
  }
  const words = (text: string, wanted: number) => {
    const all = [...new Set(text.split(/[^a-z]+/).filter(isAsked))]
    if (all.length < wanted) return null
    return Array.from({ length: wanted }, () => all.splice(below(all.length), 1)[0]!)
  }
  return {
    words1: drawn(text => words(text, 1)?.[0] ?? null),
    words3: drawn(text => words(text, 3)?.join(' ') ?? null),
    phrases2: drawn(text => {
      const all = text.split(' ')
      const at = below(all.length - 1)
      return isAsked(all[at]!) && isAsked(all[at + 1] ?? '') ? `${all[at]} ${all[at + 1]}` : null
    }),
    misspelt: drawn(text => {
      const word = words(text, 1)?.[0] ?? ''
      if (word.length < 5) return null
      const at = 1 + below(word.length - 1)
      return word.slice(0, at) + (word[at] === 'e' ? 'o' : 'e') + word.slice(at + 1)
    }),
  }
}

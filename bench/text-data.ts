/** Loads or generates short texts, and queries for them. */
import { existsSync, readFileSync } from 'node:fs'
import { stopWordsOf } from '../src/indexes/text/analysis/stop-words.js'
import { seededRandom } from './random.js'

export interface TextData {
  readonly name: string
  readonly documents: readonly string[]
}

const dictionary = '/usr/share/wordnet'

/**
 * Return the texts of WordNet if `wordNet` is set and they are on this machine. Otherwise generate `documents` texts
 * from a seed.
 */
export function textsOf({
  wordNet,
  documents,
}: {
  readonly wordNet: boolean
  readonly documents: number
}): TextData {
  return (wordNet ? glosses() : null) ?? zipfTexts(documents)
}

/** Load the definitions of WordNet (117,659 texts of about 15 words) if Debian's package wordnet-base is installed. */
function glosses(): TextData | null {
  const files = ['noun', 'verb', 'adj', 'adv'].map(part => `${dictionary}/data.${part}`)
  if (!files.every(path => existsSync(path))) return null
  const lines = files.flatMap(path => readFileSync(path, 'utf8').split('\n'))
  return { name: 'WordNet', documents: lines.filter(line => /^\d{8} /.test(line)).map(glossOf) }
}

/** Convert a line `offset file type count (word sense)* ... | gloss` to a text. `count` is in base 16. */
function glossOf(line: string): string {
  const [data, gloss] = line.split(' | ') as [string, string]
  const [, , , count, ...rest] = data.split(' ')
  const words = Array.from({ length: Number.parseInt(count!, 16) }, (_, i) =>
    rest[2 * i]!.replaceAll('_', ' '),
  )
  return `${words.join(', ')}: ${gloss.trim()}`
}

/** Number of different words in generated texts. */
export const vocabulary = 60_000

/** Generate texts of 5 to 24 words. */
function zipfTexts(count: number): TextData {
  const random = seededRandom(1)
  const documents = Array.from({ length: count }, () => zipfText(5 + Math.floor(20 * random()), random))
  return { name: 'texts from a seed', documents }
}

/** Generate a text of `length` words. The word of rank `n` is about `1 / n` as frequent as the first word. */
export function zipfText(length: number, random: () => number): string {
  return Array.from({ length }, () => wordOf(Math.floor(vocabulary ** random()))).join(' ')
}

/** Return a pronounceable word, a different one for each rank. */
export function wordOf(rank: number): string {
  let word = ''
  for (let rest = rank + 100; rest > 0; rest = Math.floor(rest / 100)) {
    word += 'bdfgklmnprstvzchjwqxy'[rest % 20]! + 'aeiou'[Math.floor((rest % 100) / 20)]!
  }
  return word
}

export interface TextQueries {
  /** One word of a document per query. `words3`: three words of a document per query. */
  readonly words1: readonly string[]
  readonly words3: readonly string[]
  /** Two adjacent words of a document per query. */
  readonly phrases2: readonly string[]
  /** One word of a document per query, with one letter replaced. */
  readonly misspelt: readonly string[]
}

/**
 * Return `count` queries of each kind, from random documents. So frequent words are frequent in queries, too. Queries
 * have no stop words.
 */
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

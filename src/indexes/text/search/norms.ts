import { type Corpus, lengthNorm } from '../query.js'

/** Rows with fewer terms find what their length does to a score in a table. */
export const tableLengths = 256

/** `lengthNorm`, worked out before for short rows. */
export class Norms {
  readonly corpus: Corpus
  readonly table = new Float64Array(tableLengths)

  constructor(corpus: Corpus) {
    this.corpus = corpus
    for (let length = 0; length < tableLengths; length++) this.table[length] = lengthNorm(length, corpus)
  }

  of(length: number): number {
    return length < tableLengths ? this.table[length]! : lengthNorm(length, this.corpus)
  }
}

/** Of the last search: mostly all have the same corpus. */
let known: Norms | null = null

export function normsOf(corpus: Corpus): Norms {
  if (known?.corpus.averageLength !== corpus.averageLength) known = new Norms(corpus)
  return known
}

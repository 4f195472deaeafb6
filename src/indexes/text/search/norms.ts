/** Caches BM25 length normalizations. */
import { type Corpus, lengthNorm } from '../query.js'

/** Length of the table: it has the normalizations of rows with fewer terms than this. */
export const tableLengths = 256

/** Computes `lengthNorm` for one corpus. The results for short rows are precomputed. */
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

/** Norms of the previous search, cached because consecutive searches usually have the same corpus. */
let last: Norms | null = null

/** Return the length normalizations for a corpus. */
export function normsOf(corpus: Corpus): Norms {
  if (last?.corpus.averageLength !== corpus.averageLength) last = new Norms(corpus)
  return last
}

/**
 * Where full-text search means to answer differently from LanceDB 0.37 and 0.39. Everything not listed gives the same rows with
 * the same scores, up to the rounding of float32.
 *
 * - Stems: those of today's Snowball, where LanceDB's engine has an older generation. Of the words of the tests none differs but in Romanian.
 * - Lists: a phrase does not go on from one element into the next.
 * - Rows that no index covers: they count in the one corpus by which all rows are scored, and near words are found in them as in others.
 *   LanceDB scores what is in the index by that alone, and finds only the words themselves in other rows.
 * - Deleted rows: in the number of rows and their average length they do not count. LanceDB counts them until its index is made anew. In how
 *   many rows have a word both count them until then.
 * - Without an index: every row is read. LanceDB refuses.
 * - `fuzziness` is 2 at most, LanceDB takes more; null is as much as the length of the word bears, to LanceDB none.
 * - N-grams that a query has twice count twice, as words do; LanceDB counts words so, but n-grams once.
 * - With `blockSize` 256 LanceDB rounds the lengths of texts, and so the scores.
 * - `operator` of a MultiMatchQuery never arrives: the clients do not send it.
 * - 0.37 leaves the scores of the other parts out where all of two must match; 0.39 and Sheaf add them.
 */
import type { FullTextQuery } from '@lancedb/lancedb'
import type { Lancedb } from './peers.js'

export interface Difference {
  readonly query: (lancedb: Lancedb) => FullTextQuery
  /** Ids of rows in ascending order, or what the refusal says. */
  readonly ours: readonly number[] | RegExp
  readonly theirs: readonly number[] | RegExp
}

/** With indexes of `body` and `tags` that keep positions. */
export const differingRows = [
  { id: 0, body: 'river stone cloud', tags: ['river stone', 'cloud'] },
  { id: 1, body: 'stone river', tags: ['cloud', 'stone'] },
  { id: 2, body: 'river wheat wheat stone wheat wheat cloud', tags: ['wheat'] },
]

export const differences: Readonly<Record<string, Difference>> = {
  'a phrase in two elements of a list': {
    query: ({ PhraseQuery }) => new PhraseQuery('stone cloud', 'tags'),
    ours: [],
    theirs: [0],
  },
  'edits by length': {
    query: ({ MatchQuery }) => new MatchQuery('wheet', 'body', { fuzziness: null as unknown as number }),
    ours: [2],
    theirs: [],
  },
  'three edits': {
    query: ({ MatchQuery }) => new MatchQuery('wheat', 'body', { fuzziness: 3 }),
    ours: /at most 2 edits/,
    theirs: [2],
  },
}

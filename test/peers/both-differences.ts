/** Where Sheaf means to answer differently from LanceDB in a directory. */
import type { Difference, Differences } from './both.js'

const accepts = { ours: 'accepted', theirs: 'refused' } as const
const refuses = { ours: 'refused', theirs: 'accepted' } as const

/** What changes no row makes no version. */
function noVersion(version: number): Difference {
  return { why: 'what changes no row makes no version', ours: version, theirs: version + 1 }
}

export const differences: Differences = {
  'odd names: with a space': { why: 'names are any text that fits in a path', engine: true, ...accepts },
  'a dropped table: read on': {
    why: 'LanceDB reads on from what the handle has in memory',
    ours: { refused: '/not found|no such|NotFound/i' },
    theirs: { answered: 4 },
  },
  'statistics: lengths': {
    why: 'deleted rows do not count; LanceDB tells how many rows were written',
    ours: [1, 1, 1, 1],
    theirs: [2, 2, 2, 2],
  },
  'embeddings and other metadata: metadata of rows': {
    why: 'rows come with the metadata of their table, as since LanceDB 0.39',
    release: '0.37',
    ours: ['embedding_functions'],
    theirs: [],
  },

  'updating: its version': noVersion(7),
  'deleting: its version': noVersion(2),
  'merging: only what is new, only what is there: its version': noVersion(3),

  'filters: CASE WHEN id < 2 THEN true ELSE false END': {
    why: 'LanceDB knows no CASE in filters',
    ours: [[0], [1]],
    theirs: {
      refused:
        "Failed to execute query stream: GenericFailure, Invalid input, Expression 'CASE WHEN id < 2 THEN true ELSE false END' is not supported SQL in lance",
    },
  },
  'columns: constants': { why: 'LanceDB wants a column of the table among those it computes', ...accepts },
  'rows taken: none': {
    why: 'the older client asks for _rowid IN (), which is no SQL',
    release: '0.37',
    ...refuses,
  },

  'names, and one instead of another: not to be replaced': {
    why: 'the older client does not send that an index is not to be replaced',
    release: '0.37',
    ours: { answered: 'undefined' },
    theirs: { refused: '/mine.*already|already.*mine/' },
  },
  'names, and one instead of another: of another column': {
    why: 'the older client does not send that an index is not to be replaced',
    release: '0.37',
    ours: { answered: 'undefined' },
    theirs: { refused: '/mine/' },
  },

  'namespaces are made, listed and dropped: once more': {
    why: 'a namespace that exists is fine where that is asked for; the mode does not arrive at LanceDB',
    engine: true,
    ...accepts,
  },
  'namespaces are made, listed and dropped: list in none': {
    why: 'LanceDB lists what is in a namespace that is not there',
    engine: true,
    ...refuses,
  },
  'tables in namespaces: in no namespace': {
    why: 'LanceDB makes tables in namespaces that are not there',
    engine: true,
    ...refuses,
  },
  'tables in namespaces: names at the root': {
    why: 'without a namespace the remote client asks for the tables of all of them, by their identifiers',
    ours: ['a$b$t', 'a$e'],
    theirs: [],
  },
}

/**
 * The shapes of read sessions: one version of a table, divided into slices that any number of readers read, on any server of the root. An
 * extension of Sheaf.
 */
import { selection } from './query-shapes.js'
import { onBranch, onTable, sqlParameters, version } from './request-fields.js'
import { schema } from './schema-shapes.js'
import {
  array,
  boolean,
  integer,
  object,
  optional,
  optionalEvenEmpty,
  record,
  required,
  string,
  tuple,
} from './shape.js'

const token = string('nonEmpty')

/**
 * Key in the metadata of a message of a slice: how many live rows the version has up to the last row of the message. A reader continues
 * there.
 */
export const afterKey = 'sheaf:after'

/** The most slices of a session. */
export const slicesMax = 10_000

export const createSessionRequest = object(
  {
    ...onTable,
    ...onBranch,
    version: optional(version, 'Version to read; absent: the version of `tag`, else the latest.'),
    tag: optional(string('nonEmpty'), 'Tag whose current version is read.'),
    filter: optional(string('nonBlank'), 'SQL predicate.'),
    ...sqlParameters,
    columns: optionalEvenEmpty(
      selection,
      'Columns to return. Absent, `{}`, or both members empty: all columns; an empty array: none.',
    ),
    with_row_id: optional(boolean, 'Whether to return `_rowid`; default false.'),
    slices: optional(
      integer(1, slicesMax),
      'Most slices; absent: one for every 64 MiB. Small tables have fewer.',
    ),
    files: optional(
      boolean,
      'Whether to return the files with the rows of each slice, for readers that can read the disk of the server. Excludes `filter`, expressions and `with_row_id`; default false.',
    ),
  },
  {
    hints: { where: 'filter', predicate: 'filter', select: 'columns', num_slices: 'slices' },
    check: ({ version, tag, files, filter, with_row_id }) => {
      if (version !== undefined && tag !== undefined) return 'has version and tag: give one of them'
      if (files !== true) return undefined
      if (filter !== undefined)
        return 'has files and filter: files contain all rows, so filter the rows after reading'
      return with_row_id === true ? 'has files and with_row_id: files contain no row ids' : undefined
    },
  },
)

const fileRange = object({
  rows: required(integer(0), 'Live rows of the range.'),
  token: optional(
    token,
    'Token to read a range that cannot be read from files: its rows are in the log, or among too many deleted rows.',
  ),
  first: optional(integer(0), 'Position of the first row in each of the files.'),
  count: optional(integer(0), 'Number of positions from there on, deleted rows included.'),
  deleted: optional(
    array(tuple(integer(0), integer(1))),
    'Deleted rows: first position and count of each run, ascending.',
  ),
  files: optional(
    array(
      object({
        path: required(string('nonEmpty'), 'Path or URI of an Arrow IPC file.'),
        columns: required(
          record(integer(0)),
          'Position of each column in the file, by its name in `schema`.',
        ),
      }),
    ),
    'Files with the columns. A column in none of them is null.',
  ),
})

export const createSessionReply = object({
  session: required(token, 'Token of the session, valid on every server of the root; needed to close it.'),
  version: required(version, 'Version that is read.'),
  schema: required(schema, 'Columns of the rows.'),
  slices: required(
    array(
      object({
        token: required(token, 'Token to read the slice, valid on every server of the root.'),
        num_rows: required(integer(0), 'Most rows; fewer with a filter.'),
        num_bytes: required(integer(0), 'Approximate stored bytes of the columns that are read.'),
        ranges: optional(array(fileRange), 'Where the rows are, in row order; only with `files`.'),
      }),
    ),
    'Slices in row order, without overlap; none if no row can pass the filter.',
  ),
})

export const readSliceRequest = object({
  ...onTable,
  ...onBranch,
  token: required(token, 'Token of the slice.'),
  after: optional(
    string('nonEmpty'),
    'Where to continue: `sheaf:after` in the metadata of the last message that was read; absent: at the beginning.',
  ),
  max_bytes: optional(
    integer(1),
    'End after the message with which the rows reach this many bytes; absent: after the last row of the slice. Continue with `after` until an answer has no rows.',
  ),
})

export const closeSessionRequest = object({
  ...onTable,
  ...onBranch,
  session: required(token, 'Token of the session.'),
})

export const closeSessionReply = object({})

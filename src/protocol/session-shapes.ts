/**
 * Read sessions: one version of a table, cut into slices that any number of readers read, on any server of the root. An extension of
 * Sheaf.
 */
import { selection } from './query-shapes.js'
import { onBranch, onTable, sqlParameters, version } from './request-fields.js'
import { schema } from './schema-shapes.js'
import {
  array,
  boolean,
  type Infer,
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

/** In the metadata of a message of a slice: the living rows of the version up to its last one, where a reader goes on. */
export const afterKey = 'sheaf:after'

/** Slices of a session at most. */
export const slicesMax = 10_000

export const createSessionRequest = object(
  {
    ...onTable,
    ...onBranch,
    version: optional(version, 'Version to read; absent: that of `tag`, else the latest.'),
    tag: optional(string('nonEmpty'), 'Read the version that this tag names now.'),
    filter: optional(string('nonBlank'), 'SQL predicate.'),
    ...sqlParameters,
    columns: optionalEvenEmpty(
      selection,
      'What to return; absent, `{}` or empty in both of its members: all columns; an empty array: none.',
    ),
    with_row_id: optional(boolean, 'Whether to return `_rowid`; default false.'),
    slices: optional(
      integer(1, slicesMax),
      'Slices at most; absent: one for every 64 MiB. There are fewer where there are fewer rows.',
    ),
    files: optional(
      boolean,
      'Whether to say in which files the rows of each slice lie, for readers that see the disk of the server. Excludes `filter`, expressions and `with_row_id`; default false.',
    ),
  },
  {
    hints: { where: 'filter', predicate: 'filter', select: 'columns', num_slices: 'slices' },
    check: ({ version, tag, files, filter, with_row_id }) => {
      if (version !== undefined && tag !== undefined)
        return 'has version and tag: one of them says what to read'
      if (files !== true) return undefined
      if (filter !== undefined)
        return 'has files and filter: files hold all rows, so filter what you read of them'
      return with_row_id === true ? 'has files and with_row_id: files hold no row ids' : undefined
    },
  },
)

const fileRange = object({
  rows: required(integer(0), 'Rows of the range.'),
  token: optional(
    token,
    'Reads the range, whose rows are in no file: in the log, or among too many that are deleted.',
  ),
  first: optional(integer(0), 'Position of the first row in each of the files.'),
  count: optional(integer(0), 'Positions from there on, deleted rows included.'),
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
    'Files with the columns; a column that none of them has is null.',
  ),
})

export const createSessionReply = object({
  session: required(token, 'Names the session, on every server of the root; closes it.'),
  version: required(version, 'Version that is read.'),
  schema: required(schema, 'Columns of the answers.'),
  slices: required(
    array(
      object({
        token: required(token, 'Reads the slice, on every server of the root.'),
        num_rows: required(integer(0), 'Rows at most; those of a filter are fewer.'),
        num_bytes: required(integer(0), 'Bytes of the columns that are read, as they are stored; about.'),
        ranges: optional(
          array(fileRange),
          'Where the rows lie, in row order; only where `files` is asked for.',
        ),
      }),
    ),
    'Slices in row order, no row in two of them; none where no row can pass the filter.',
  ),
})

export const readSliceRequest = object({
  ...onTable,
  ...onBranch,
  token: required(token, 'The slice.'),
  after: optional(
    string('nonEmpty'),
    'Where to go on: `sheaf:after` of the last message that was read, which stands in its metadata; absent: at the beginning.',
  ),
  max_bytes: optional(
    integer(1),
    'End after the message with which the rows have so many bytes; absent: with the last row of the slice. Read on with `after`, until an answer has no rows.',
  ),
})
export type ReadSliceRequest = Infer<typeof readSliceRequest>

export const closeSessionRequest = object({
  ...onTable,
  ...onBranch,
  session: required(token, 'The session.'),
})

export const closeSessionReply = object({})

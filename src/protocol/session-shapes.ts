/**
 * The shapes of read sessions. A read session divides one version of a table into slices. Any number of readers can
 * read the slices, on any server of the root. Read sessions are an extension of Sheaf.
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
 * Key in the metadata of each message of a slice. The value is the number of live rows of the version up to the last
 * row of the message. A reader uses the value as `after` to continue after this message.
 */
export const afterKey = 'sheaf:after'

/** Maximum number of slices of a session. */
export const slicesMax = 10_000

export const createSessionRequest = object(
  {
    ...onTable,
    ...onBranch,
    version: optional(
      version,
      'Version to read; absent: the version of `tag`, or without a tag the latest version.',
    ),
    tag: optional(string('nonEmpty'), 'Tag whose current version is read.'),
    filter: optional(string('nonBlank'), 'SQL predicate: the rows to read.'),
    ...sqlParameters,
    columns: optionalEvenEmpty(
      selection,
      'Columns to return. Absent, `{}`, or both members empty: all columns; an empty array: no columns.',
    ),
    with_row_id: optional(boolean, 'Whether to return `_rowid`; default false.'),
    slices: optional(
      integer(1, slicesMax),
      'Maximum slices; absent: one slice per 64 MiB. Small tables have fewer slices.',
    ),
    files: optional(
      boolean,
      'Whether to return the files with the rows of each slice, for readers that can read the disk of the server; default false. Not together with `filter`, expressions or `with_row_id`.',
    ),
  },
  {
    hints: { where: 'filter', predicate: 'filter', select: 'columns', num_slices: 'slices' },
    check: ({ version, tag, files, filter, with_row_id }) => {
      if (version !== undefined && tag !== undefined) return 'must not have both version and tag'
      if (files !== true) return undefined
      if (filter !== undefined)
        return 'must not have both files and filter, because files contain all rows: filter the rows after reading'
      return with_row_id === true
        ? 'must not have both files and with_row_id, because files contain no row ids'
        : undefined
    },
  },
)

const fileRange = object({
  rows: required(integer(0), 'Live rows of the range.'),
  token: optional(
    token,
    'Token for reading a range that cannot be read from files, because its rows are in the log, or between too many deleted rows.',
  ),
  first: optional(integer(0), 'Position of the first row in each of the files.'),
  count: optional(integer(0), 'Number of rows in each of the files from `first` on, including deleted rows.'),
  deleted: optional(
    array(tuple(integer(0), integer(1))),
    'Deleted rows as pairs: position of the first row, and number of consecutive rows. Ascending.',
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
    'Files with the columns. A column that no file has is null in all rows.',
  ),
})

export const createSessionReply = object({
  session: required(token, 'Token for closing the session, valid on every server of the root.'),
  version: required(version, 'Version that the session reads.'),
  schema: required(schema, 'Columns of the rows.'),
  slices: required(
    array(
      object({
        token: required(token, 'Token for reading the slice, valid on every server of the root.'),
        num_rows: required(integer(0), 'Maximum rows. With a filter, the slice may have fewer rows.'),
        num_bytes: required(integer(0), 'Approximate stored bytes of the columns that are read.'),
        ranges: optional(array(fileRange), 'Ranges of files with the rows, in row order; only with `files`.'),
      }),
    ),
    'Slices in row order, without overlap. Empty if min/max statistics show that no row passes the filter.',
  ),
})

export const readSliceRequest = object({
  ...onTable,
  ...onBranch,
  token: required(token, 'Token of the slice.'),
  after: optional(
    string('nonEmpty'),
    'Position after which to continue: `sheaf:after` in the metadata of the last message that was read. Absent: read from the beginning.',
  ),
  max_bytes: optional(
    integer(1),
    'Bytes of rows after which the reply ends; absent: after the last row of the slice. To get the rest, continue with `after` until a reply has no rows.',
  ),
})

export const closeSessionRequest = object({
  ...onTable,
  ...onBranch,
  session: required(token, 'Token of the session.'),
})

export const closeSessionReply = object({})

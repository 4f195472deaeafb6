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
  required,
  string,
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
  },
  {
    hints: { where: 'filter', predicate: 'filter', select: 'columns', num_slices: 'slices' },
    check: ({ version, tag }) =>
      version !== undefined && tag !== undefined
        ? 'has version and tag: one of them says what to read'
        : undefined,
  },
)

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

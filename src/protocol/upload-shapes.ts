/**
 * The shapes of uploads in parts. Many calls, from any number of processes, send the rows of one write, and one commit
 * makes all rows visible. The routes are the routes of LanceDB's client. A part is an insert with the id of the upload.
 */
import { commitVersion, onBranch, onTable, transaction } from './request-fields.js'
import { mergeFields } from './row-shapes.js'
import { schema } from './schema-shapes.js'
import {
  array,
  enumeration,
  type Infer,
  integer,
  object,
  optional,
  optionalEvenEmpty,
  required,
  string,
} from './shape.js'

const uploadId = string('nonEmpty')
const partId = string('nonEmpty')

export const createUploadRequest = object(
  {
    ...onTable,
    ...onBranch,
    mode: optional(
      enumeration(['Append', 'Overwrite', 'Merge']),
      'Effect of the commit: add, replace all rows, or merge. Absent: the mode of the parts, by default Append.',
    ),
    ...mergeFields,
    on: optional(mergeFields.on.shape, 'For a merge: key columns. Their values identify a row.'),
  },
  {
    check: ({ mode, id: _, identity: __, context: ___, branch: ____, ...merge }) => {
      const [given] = Object.keys(merge)
      if (mode === 'Merge')
        return merge.on === undefined ? 'needs on: the key columns, which identify a row' : undefined
      return given === undefined ? undefined : `has ${given}, which needs mode Merge`
    },
  },
)

export const createUploadReply = object({
  upload_id: required(uploadId, 'Id of the upload, valid on every server of the root.'),
  ...transaction,
})

export const uploadRequest = object({
  ...onTable,
  ...onBranch,
  upload_id: required(uploadId, 'Id of the upload.'),
})

export const describeUploadReply = object({
  mode: optional(
    enumeration(['Append', 'Overwrite', 'Merge']),
    'Mode of the upload; absent: no part has set a mode yet.',
  ),
  schema: required(schema, 'Columns that the table had when the upload began. All parts have these columns.'),
  num_rows: required(integer(0), 'Number of rows of all parts together.'),
  num_bytes: required(integer(0), 'Bytes of the files of all parts together.'),
  parts: required(
    array(
      object({
        part: required(partId, 'Name of the part.'),
        num_rows: required(integer(0), 'Number of rows of the part.'),
        num_bytes: required(integer(0), 'Bytes of the files of the part.'),
      }),
    ),
    'The parts, in the order in which their names first appeared.',
  ),
})

export const completeUploadRequest = object({
  ...onTable,
  ...onBranch,
  upload_id: required(uploadId, 'Id of the upload.'),
  parts: optionalEvenEmpty(
    array(partId, { min: 1, distinct: name => name }),
    'Names of the parts to commit, in this order; an empty list is refused. Absent: all parts, in the order in which their names first appeared.',
  ),
})
export type CompleteUploadRequest = Infer<typeof completeUploadRequest>

export const completeUploadReply = object({
  ...commitVersion,
  num_parts: required(integer(0), 'Committed parts.'),
  num_inserted_rows: required(integer(0), 'Added rows.'),
  num_updated_rows: required(integer(0), 'Rows that a merge replaced.'),
  num_deleted_rows: required(integer(0), 'Rows that a merge deleted.'),
  ...transaction,
})
export type CompleteUploadReply = Infer<typeof completeUploadReply>

export const abortUploadReply = object(transaction)

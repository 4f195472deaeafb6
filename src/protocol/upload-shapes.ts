/**
 * The shapes of uploads in parts: many calls bring the rows of one write, from any number of processes, and one commit makes them visible.
 * The routes are those of LanceDB's client. Each part is an insert that names its upload.
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
      'Add the rows, replace all rows by them, or merge them; absent: the mode of the parts, by default Append.',
    ),
    ...mergeFields,
    on: optional(mergeFields.on.shape, 'For a merge: columns whose values identify a row.'),
  },
  {
    check: ({ mode, id: _, identity: __, context: ___, branch: ____, ...merge }) => {
      const [given] = Object.keys(merge)
      if (mode === 'Merge')
        return merge.on === undefined ? 'needs on: the columns that identify a row' : undefined
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
  mode: optional(enumeration(['Append', 'Overwrite', 'Merge']), 'Mode; absent: no part has set it yet.'),
  schema: required(schema, 'Columns of the table when the upload began; all parts have them.'),
  num_rows: required(integer(0), 'Rows of all parts.'),
  num_bytes: required(integer(0), 'Bytes of the files of all parts.'),
  parts: required(
    array(
      object({
        part: required(partId, 'Name of the part.'),
        num_rows: required(integer(0), 'Rows.'),
        num_bytes: required(integer(0), 'Bytes of its files.'),
      }),
    ),
    'The parts, in the order in which their names first came.',
  ),
})

export const completeUploadRequest = object({
  ...onTable,
  ...onBranch,
  upload_id: required(uploadId, 'Id of the upload.'),
  parts: optionalEvenEmpty(
    array(partId, { min: 1, distinct: name => name }),
    'Parts to commit, in this order; others are left out. An empty list is refused. Absent: all, in the order in which their names first came.',
  ),
})
export type CompleteUploadRequest = Infer<typeof completeUploadRequest>

export const completeUploadReply = object({
  ...commitVersion,
  num_parts: required(integer(0), 'Parts that were committed.'),
  num_inserted_rows: required(integer(0), 'Rows added.'),
  num_updated_rows: required(integer(0), 'Rows replaced by a merge.'),
  num_deleted_rows: required(integer(0), 'Rows deleted by a merge.'),
  ...transaction,
})
export type CompleteUploadReply = Infer<typeof completeUploadReply>

export const abortUploadReply = object(transaction)

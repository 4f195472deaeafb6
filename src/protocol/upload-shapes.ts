/**
 * Uploads in parts: many calls bring the rows of one write, from any number of processes, and one commit makes them visible. The routes
 * are those of LanceDB's client; each part travels as an insert that names its upload.
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

export const uploadId = string('nonEmpty')
const partId = string('nonEmpty')

export const createUploadRequest = object(
  {
    ...onTable,
    ...onBranch,
    mode: optional(
      enumeration(['Append', 'Overwrite', 'Merge']),
      'Add the rows, replace all rows by them, or merge them; absent: what the parts say, which is Append if they say nothing.',
    ),
    ...mergeFields,
    on: optional(mergeFields.on.shape, 'Of a merge: columns whose values identify a row.'),
  },
  {
    check: ({ mode, id: _, identity: __, context: ___, branch: ____, ...merge }) => {
      const [given] = Object.keys(merge)
      if (mode === 'Merge')
        return merge.on === undefined ? 'needs on: the columns that identify a row' : undefined
      return given === undefined ? undefined : `has ${given}, which only an upload with mode Merge takes`
    },
  },
)

export const createUploadReply = object({
  upload_id: required(uploadId, 'Names the upload, on every server of the root.'),
  ...transaction,
})

export const uploadRequest = object({
  ...onTable,
  ...onBranch,
  upload_id: required(uploadId, 'The upload.'),
})

export const describeUploadReply = object({
  mode: optional(enumeration(['Append', 'Overwrite', 'Merge']), 'Absent: no part has said it yet.'),
  schema: required(schema, 'Columns of the table when the upload began, which all parts have.'),
  num_rows: required(integer(0), 'Rows of all parts.'),
  num_bytes: required(integer(0), 'Bytes of the files of all parts.'),
  parts: required(
    array(
      object({
        part: required(partId, 'What its writer called it.'),
        num_rows: required(integer(0), 'Rows.'),
        num_bytes: required(integer(0), 'Bytes of its files.'),
      }),
    ),
    'The parts there are, in the order in which their names came first.',
  ),
})

export const completeUploadRequest = object({
  ...onTable,
  ...onBranch,
  upload_id: required(uploadId, 'The upload.'),
  parts: optionalEvenEmpty(
    array(partId, { min: 1, distinct: name => name }),
    'Parts to commit, in that order; others are left out. An empty list is refused. Absent: all, in the order in which their names came first.',
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

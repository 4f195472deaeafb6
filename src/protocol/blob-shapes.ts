/** The shape of requests for the bytes of blobs by row id. */
import { atVersion, onBranch, onTable } from './request-fields.js'
import { array, extension, integer, object, optional, required, saturatingInteger, string } from './shape.js'

export const fetchBlobsRequest = object({
  ...onTable,
  ...onBranch,
  ...atVersion,
  column: required(string('nonEmpty'), 'Blob column. For a field inside a struct: its path.'),
  row_ids: required(
    array(saturatingInteger(0)),
    'Row ids: values of `_rowid`. The reply has one row for each id, in this order.',
  ),
  offset: extension(optional(integer(0), 'First byte of each blob to return; default 0.')),
  length: extension(optional(integer(0), 'Maximum bytes to return of each blob; absent: all.')),
})

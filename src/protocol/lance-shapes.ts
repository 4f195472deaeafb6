/** The shapes of requests that LanceDB's clients send, and that are not in the Lance Namespace specification. */
import { atVersion, onBranch, onTable } from './request-fields.js'
import { array, boolean, json, nullable, object, optional, required, string, withoutEffect } from './shape.js'

export const prewarmIndexRequest = object({
  ...onTable,
  ...onBranch,
  index_name: required(string('nonEmpty'), 'Name of the index.'),
})

export const prewarmRequest = object({
  ...onTable,
  ...onBranch,
  columns: optional(array(string('nonEmpty')), 'Columns that will be read; absent: all columns.'),
})

export const lsmRequest = object({ ...onTable, ...onBranch, ...atVersion })

export const lsmStatsRequest = object({
  ...onTable,
  ...onBranch,
  ...atVersion,
  include_generation_rows: withoutEffect(
    boolean,
    'Whether to count rows of generations. Without effect: Sheaf has no generations.',
  ),
})

export const lsmWriteSpecReply = object({
  lsm_write_spec: required(nullable(json), 'Always null, because rows are written to the table itself.'),
})

export const lsmStatsReply = object({
  lsm_stats: required(nullable(json), 'Always null, because no rows wait outside of the table.'),
})

/**
 * The shapes of row operations: create, insert, merge, update, delete, count. These requests do not contain the rows,
 * which are sent as Arrow data in the body.
 */
import { invalidInput, quote } from '../errors.js'
import {
  atVersion,
  caller,
  commitVersion,
  newId,
  onBranch,
  onTable,
  properties,
  sqlParameters,
  stringMap,
  tableUuid,
  transaction,
  version,
} from './request-fields.js'
import {
  accept,
  array,
  boolean,
  container,
  enumeration,
  integer,
  object,
  optional,
  optionalEvenEmpty,
  required,
  string,
  tuple,
  withoutEffect,
} from './shape.js'

const rowCount = integer(0)

export const createTableRequest = object({
  ...caller,
  id: required(newId, 'Path of the new table; its namespace must exist.'),
  mode: optional(
    enumeration(['Create', 'ExistOk', 'Overwrite']),
    'Behavior if the table exists: fail (default), keep the table, or replace its rows and schema.',
  ),
  ...properties,
  storage_options: withoutEffect(
    stringMap,
    'Options of the object store. Without effect: the data of the table is in the root.',
  ),
})

export const createTableReply = object({
  location: optional(string(), 'Location of the table data.'),
  version: required(version, 'Version that this call committed.'),
  storage_options: optional(stringMap, 'Options for opening the data.'),
  ...properties,
  ...tableUuid,
  ...transaction,
})

export const insertRequest = object(
  {
    ...onTable,
    ...onBranch,
    mode: optional(enumeration(['Append', 'Overwrite']), 'Add rows (default), or replace all rows.'),
    upload_id: optional(
      string('nonEmpty'),
      'Id of the upload of which the rows become a part. The rows are committed when the upload is completed.',
    ),
    upload_part_id: optional(
      string('nonEmpty'),
      'Name of the part, at most 128 characters. The part replaces a part with the same name in the upload.',
    ),
  },
  {
    check: ({ upload_id, upload_part_id }) => {
      if ((upload_id === undefined) === (upload_part_id === undefined)) return undefined
      const [given, missing] =
        upload_id === undefined ? ['upload_part_id', 'upload_id'] : ['upload_id', 'upload_part_id']
      return `has ${given}, which needs ${missing}`
    },
  },
)

export const insertReply = object({
  num_inserted_rows: required(rowCount, 'Number of rows in the body.'),
  version: required(
    version,
    'Version that this call committed. For a part of an upload: the newest version, which does not have the rows of the part.',
  ),
  ...transaction,
})

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Return the milliseconds of a duration such as `30s`, `1.5m`, `500ms`. Throws InvalidInput. */
export function durationMs(text: string): number {
  const match = /^(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h)$/.exec(text)
  if (match === null) throw invalidInput(`${quote(text)} is not a duration such as 30s, 5m or 500ms`)
  return Number(match[1]) * units[match[2]!]!
}

const duration = string('any', (text, where) => {
  try {
    durationMs(text)
  } catch {
    throw invalidInput(`${where} must be a duration such as 30s, 5m or 500ms, got ${quote(text)}`)
  }
})

/** The fields of a merge: of a request with the rows, and of a request that begins an upload in parts. */
export const mergeFields = {
  on: required(
    accept(array(string('nonEmpty'), { min: 1, distinct: name => name }), 'one name', value =>
      typeof value === 'string' ? [value] : value,
    ),
    'Key columns: their values identify a row.',
  ),
  when_matched_update_all: optional(boolean, 'Whether to replace matched rows; default false.'),
  when_matched_update_all_filt: optional(
    string('nonBlank'),
    'SQL predicate over `source.x` and `target.x`: the matched rows to replace.',
  ),
  when_not_matched_insert_all: optional(boolean, 'Whether to insert rows without match; default false.'),
  when_not_matched_by_source_delete: optional(
    boolean,
    'Whether to delete rows of the table without a match in the body; default false.',
  ),
  when_not_matched_by_source_delete_filt: optional(
    string('nonBlank'),
    'SQL predicate: the rows without a match to delete.',
  ),
  ...sqlParameters,
}

export const mergeInsertRequest = object({
  ...onTable,
  ...onBranch,
  ...mergeFields,
  timeout: optional(duration, 'Time limit of the merge, for example `30s`.'),
  use_index: withoutEffect(
    boolean,
    'Whether an index may be used to find matches. Without effect: the result is the same.',
  ),
  use_lsm: withoutEffect(
    boolean,
    'Whether the server may reply before the rows are merged. Without effect: rows are always merged before the reply.',
  ),
})

export const mergeInsertReply = object({
  num_updated_rows: required(rowCount, 'Replaced rows.'),
  num_inserted_rows: required(rowCount, 'Inserted rows.'),
  num_deleted_rows: required(rowCount, 'Deleted rows.'),
  num_rows: optional(rowCount, 'Replaced and inserted rows.'),
  num_attempts: optional(integer(1), 'Number of attempts.'),
  ...commitVersion,
  ...transaction,
})

const hints = { where: 'predicate', filter: 'predicate', values: 'updates', set: 'updates' }

export const updateRequest = object(
  {
    ...onTable,
    ...onBranch,
    predicate: optional(string('nonBlank'), 'SQL predicate: the rows to update; absent: all rows.'),
    ...sqlParameters,
    updates: required(
      array(tuple(string('nonEmpty'), string('nonBlank')), { min: 1, distinct: ([column]) => column }),
      'Pairs of a column and an SQL expression. The expression reads the row before the update.',
    ),
    update_parameters: optionalEvenEmpty(
      container,
      'Values of SQL parameters in `updates`. Absent: the values of `parameters`; empty: no values.',
    ),
    properties: optional(stringMap, 'Properties to set on the table; other properties do not change.'),
  },
  { hints },
)

export const updateReply = object({
  updated_rows: required(rowCount, 'Updated rows.', ['rows_updated']),
  ...commitVersion,
  ...transaction,
  ...properties,
})

export const deleteRequest = object(
  {
    ...onTable,
    ...onBranch,
    predicate: required(string('nonBlank'), 'SQL predicate: the rows to delete; `true`: all rows.'),
    ...sqlParameters,
  },
  { hints },
)

export const deleteReply = object({
  num_deleted_rows: required(rowCount, 'Deleted rows.'),
  ...commitVersion,
  ...transaction,
})

export const countRequest = object(
  {
    ...onTable,
    ...onBranch,
    ...atVersion,
    predicate: optional(string('nonBlank'), 'SQL predicate: the rows to count; absent: all rows.'),
    ...sqlParameters,
  },
  { hints },
)

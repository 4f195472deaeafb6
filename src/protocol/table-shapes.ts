/** The shapes of operations on tables in the catalog: register, describe, rename, drop, statistics. */
import { checkName } from './identifiers.js'
import {
  atVersion,
  caller,
  namespaceId,
  newId,
  onBranch,
  onTable,
  properties,
  stringMap,
  tableId,
  tableUuid,
  transaction,
  version,
} from './request-fields.js'
import { schema } from './schema-shapes.js'
import {
  array,
  boolean,
  enumeration,
  extension,
  type Infer,
  integer,
  object,
  optional,
  required,
  string,
  withoutEffect,
} from './shape.js'

export const registerRequest = object({
  ...caller,
  id: required(newId, 'Path of the new table; its namespace must exist.'),
  location: required(string('nonEmpty'), 'Location of the table data.'),
  mode: optional(
    enumeration(['Create', 'Overwrite']),
    'Behavior if the table exists: fail (default), or replace the table.',
  ),
  ...properties,
})

export const registerReply = object({
  location: required(string(), 'Location of the table data.'),
  ...properties,
  ...transaction,
})

export const describeRequest = object(
  {
    ...onTable,
    ...onBranch,
    ...atVersion,
    tag: optional(string('nonEmpty'), 'Tag that names the version to read.'),
    with_table_uri: optional(boolean, 'Whether to return `table_uri`; default false.'),
    load_detailed_metadata: optional(boolean, 'Whether to return version, schema and statistics.'),
    check_declared: withoutEffect(
      boolean,
      'Whether to return `is_only_declared`. Without effect: this field is always returned.',
    ),
    vend_credentials: withoutEffect(
      boolean,
      'Whether to return credentials for the location. Without effect: the location needs no credentials.',
    ),
  },
  {
    apart: [
      ['tag', 'version'],
      ['tag', 'branch'],
    ],
  },
)

export const describeReply = object({
  table: optional(string(), 'Name of the table.'),
  namespace: optional(array(string()), 'Path of the namespace of the table.'),
  version: optional(version, 'The described version; absent: the table is only declared and has no data.'),
  location: required(
    string(),
    'Location of the table data. If Sheaf stores the rows, no Lance engine can open this location; only the client of Sheaf gets the true location.',
  ),
  table_uri: optional(string(), 'The location as a URI.'),
  schema: optional(schema, 'Columns of the table.'),
  storage_options: optional(stringMap, 'Options for opening the location.'),
  stats: optional(
    object({
      num_deleted_rows: required(integer(0), 'Deleted rows that are still in the files.'),
      num_fragments: required(integer(0), 'Number of fragments.'),
    }),
    'Statistics of the version.',
  ),
  metadata: optional(stringMap, 'Metadata of the table.'),
  ...properties,
  managed_versioning: optional(
    boolean,
    'True: Lance engines create versions through this service. Absent: Sheaf stores the rows, and no engine can open the table.',
  ),
  is_only_declared: optional(boolean, 'Whether the table is declared but has no data yet.'),
  ...tableUuid,
})

export const existsRequest = object({ ...onTable, ...onBranch, ...atVersion })

export const renameRequest = object(
  {
    ...onTable,
    new_table_name: required(string('any', checkName), 'New name of the table.'),
    new_namespace_id: optional(
      namespaceId,
      'Path of the namespace to which the table is moved; absent: the table stays in its namespace.',
      ['new_namespace'],
    ),
    to_root: extension(
      optional(
        boolean,
        'Whether to move the table to the root; default false. `new_namespace_id` cannot express the root.',
      ),
    ),
  },
  {
    check: ({ to_root, new_namespace_id }) =>
      to_root === true && new_namespace_id !== undefined
        ? 'must not have both new_namespace_id and to_root'
        : undefined,
  },
)

/** Return the namespace to which a rename moves the table. Undefined if the table stays in its namespace. */
export function newNamespaceOf({
  new_namespace_id,
  to_root,
}: Pick<Infer<typeof renameRequest>, 'new_namespace_id' | 'to_root'>): readonly string[] | undefined {
  return to_root === true ? [] : new_namespace_id
}

export const dropReply = object({
  id: required(tableId, 'Former path of the table.'),
  location: optional(string(), 'Former location of the table data.'),
  ...properties,
  ...transaction,
})

export const statsReply = object({
  total_bytes: required(integer(0), 'Bytes of the table data.'),
  num_rows: required(integer(0), 'Live rows.'),
  num_indices: required(integer(0), 'Number of indexes.'),
  fragment_stats: required(
    object({
      num_fragments: required(integer(0), 'Number of fragments.'),
      num_small_fragments: required(integer(0), 'Number of fragments that compaction would merge.'),
      lengths: required(
        object({
          min: required(integer(0), 'Smallest number of rows.'),
          max: required(integer(0), 'Largest number of rows.'),
          mean: required(integer(0), 'Mean number of rows, rounded down.'),
          p25: required(integer(0), 'First quartile.'),
          p50: required(integer(0), 'Median.'),
          p75: required(integer(0), 'Third quartile.'),
          p99: required(integer(0), '99th percentile.'),
        }),
        'Statistics of the number of rows per fragment.',
      ),
    }),
    'Statistics of the fragments.',
  ),
})

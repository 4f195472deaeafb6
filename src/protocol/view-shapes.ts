/** The shapes of operations on materialized views. */
import { parseId } from './identifiers.js'
import { parse } from './parse.js'
import { selection } from './query-shapes.js'
import { caller, newId, nextPage, onNamespace, onTable, paging, tableId, version } from './request-fields.js'
import {
  accept,
  array,
  boolean,
  enumeration,
  type Infer,
  integer,
  json,
  number,
  object,
  optional,
  record,
  required,
  string,
} from './shape.js'

const chunker = { scalar_udtf: 'chunker' } as const

const viewFunction = object({
  kind: required(
    enumeration(['udtf', 'chunker'], chunker),
    'Kind of the function; must equal `kind` of the view.',
  ),
  udtf: required(string(), 'The serialized function, base64.'),
  udtf_sha: required(string(), 'SHA-256 of the function.'),
  udtf_name: required(string(), 'Name of the function.'),
  udtf_version: required(string(), 'Version of the function.'),
  input_columns: optional(array(string('nonEmpty')), 'Columns that the function reads; absent: all columns.'),
  partition_by: optional(string('nonEmpty'), 'Column whose values define the partitions.'),
  partition_by_indexed_column: optional(string('nonEmpty'), 'Column whose IVF index defines the partitions.'),
  num_cpus: optional(number, 'Number of processors that the function needs.'),
  num_gpus: optional(number, 'Number of graphics processors that the function needs.'),
  memory: optional(integer(0), 'Bytes of memory that the function needs.'),
  error_handling: optional(record(json), 'Treatment of rows for which the function fails.'),
  batch: optional(boolean, 'Whether the function takes batches of rows.'),
  manifest: optional(string(), 'Environment of the function, JSON text.'),
  manifest_checksum: optional(string(), 'SHA-256 of the manifest.'),
})

export const createViewRequest = object(
  {
    ...caller,
    id: required(newId, 'Path of the new view; its namespace must exist.'),
    kind: optional(
      enumeration(['query', 'udtf', 'chunker'], chunker),
      'Source of the rows: a query (default), or a function over a query.',
    ),
    query: optional(
      string('nonBlank'),
      'The query as SQL, instead of `source_query`: `SELECT columns FROM table WHERE condition`. Sheaf runs such a query.',
    ),
    source_query: optional(
      string('nonBlank'),
      'The query over the source. Sheaf runs a query in the JSON form `{"table", "columns"?, "filter"?}`.',
    ),
    output_schema: optional(
      string('nonEmpty'),
      'Arrow schema of the view as an IPC message, base64; absent: the schema of the rows of the query.',
    ),
    udtf_spec: optional(viewFunction, 'The function; needed unless `kind` is `query`.'),
    with_no_data: optional(boolean, 'Whether to create the view without rows; default true.'),
    auto_refresh: optional(boolean, 'Whether to refresh when the source changes; default false.'),
  },
  { check: checkCreation },
)

interface Creation {
  readonly kind?: unknown
  readonly query?: unknown
  readonly source_query?: unknown
  readonly udtf_spec?: unknown
}

/** Return an error message for a combination of fields that is not allowed, or undefined. */
function checkCreation({ kind = 'query', query, source_query, udtf_spec }: Creation): string | undefined {
  if (query !== undefined && kind !== 'query') return `must not have query if kind is ${String(kind)}`
  if (query !== undefined && source_query !== undefined) return 'must not have both query and source_query'
  if (query === undefined && source_query === undefined) return 'needs query or source_query'
  if ((kind === 'query') === (udtf_spec === undefined)) return undefined
  return kind === 'query'
    ? 'must not have udtf_spec if kind is query'
    : `needs udtf_spec if kind is ${String(kind)}`
}

/** A `source_query` that Sheaf can run, as JSON. */
export const viewQuery = object({
  table: required(
    accept(tableId, 'the path as one string, with names joined by $', value =>
      typeof value === 'string' ? parseId(value) : value,
    ),
    'Path of the source table.',
  ),
  columns: optional(
    selection,
    'Columns of the view; absent: the columns that the source has when the view is created.',
  ),
  filter: optional(string('nonBlank'), 'SQL predicate over the source: the rows of the view.'),
})
export type ViewQuery = Infer<typeof viewQuery>

/**
 * Parse a `source_query`. Returns null for a query that Sheaf does not run. Throws InvalidInput for an invalid query.
 */
export function queryIn(source_query: string): ViewQuery | null {
  let value: unknown
  try {
    value = JSON.parse(source_query)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null || !('table' in value)) return null
  return parse(viewQuery, value, 'source_query')
}

export const createViewReply = object({
  version: required(version, 'Version that this call committed.'),
  job_id: optional(string(), 'Id of the job of the first refresh, if `with_no_data` is false.'),
})

export const viewRequest = object(onTable)

export const describeViewReply = object({
  name: required(string(), 'Name of the view, without namespace.'),
  kind: required(
    string(),
    'Source of the rows: a query (`query`), or a function over a query (`udtf`, `chunker`).',
  ),
  query: required(string(), 'The query: as SQL if Sheaf runs the query, otherwise as it was given.'),
  source_table: optional(
    string(),
    'Path of the source, joined by `$`; absent: Sheaf does not run the query.',
  ),
  projections: optional(
    array(
      object({
        output_column: required(string(), 'Name of the column in the view.'),
        expression: required(string(), 'SQL expression over the source.'),
      }),
    ),
    'Columns of the view, if Sheaf runs the query.',
  ),
  filter: optional(string(), 'SQL predicate over the source: the rows of the view.'),
  source_version: optional(
    version,
    'Version of the source that the view shows; absent: the view was never refreshed.',
  ),
  auto_refresh: required(boolean, 'Whether the view is refreshed when the source changes.'),
})

export const listViewsRequest = object({ ...onNamespace, ...paging })

export const listViewsReply = object({
  views: required(array(string()), 'Names of the views, without namespace.'),
  ...nextPage,
})

export const refreshViewRequest = object({
  ...onTable,
  src_version: optional(version, 'Version of the source; absent: the latest.', ['source_version']),
  full: optional(
    boolean,
    'Whether to write all rows again; default false: only rows that differ are written.',
  ),
  max_rows_per_fragment: optional(integer(1), 'Maximum rows per fragment of the view.'),
  concurrency: optional(integer(1), 'Number of parallel tasks.'),
  intra_applier_concurrency: optional(integer(1), 'Number of parallel tasks within an applier.'),
  source_task_size: optional(integer(1), 'Number of source rows per task of a chunker.'),
  output_limit: optional(integer(1), 'Maximum rows of the view; chunkers only.'),
  cluster: optional(string(), 'Cluster that runs the refresh.'),
  manifest: optional(string(), 'Environment for this refresh only.'),
})

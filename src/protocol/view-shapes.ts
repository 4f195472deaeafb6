/** Materialized views. */
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
  kind: required(enumeration(['udtf', 'chunker'], chunker), 'Must be that of the view.'),
  udtf: required(string(), 'The function, base64.'),
  udtf_sha: required(string(), 'SHA-256 of the function.'),
  udtf_name: required(string(), 'Its name.'),
  udtf_version: required(string(), 'Its version.'),
  input_columns: optional(array(string('nonEmpty')), 'Columns it reads; absent: all.'),
  partition_by: optional(string('nonEmpty'), 'Column to partition by.'),
  partition_by_indexed_column: optional(string('nonEmpty'), 'Column whose IVF index partitions.'),
  num_cpus: optional(number, 'Processors it asks for.'),
  num_gpus: optional(number, 'Graphics processors it asks for.'),
  memory: optional(integer(0), 'Bytes of memory it asks for.'),
  error_handling: optional(record(json), 'What to do with rows that fail.'),
  batch: optional(boolean, 'Whether it takes batches of rows.'),
  manifest: optional(string(), 'Its environment, JSON text.'),
  manifest_checksum: optional(string(), 'SHA-256 of the manifest.'),
})

export const createViewRequest = object(
  {
    ...caller,
    id: required(newId, 'Path of the new view; its namespace must exist.'),
    kind: optional(
      enumeration(['query', 'udtf', 'chunker'], chunker),
      'What makes the rows: a query (default), or a function over it.',
    ),
    query: optional(
      string('nonBlank'),
      'The query as SQL, in place of `source_query`: `SELECT columns FROM table WHERE condition`. Sheaf runs it.',
    ),
    source_query: optional(
      string('nonBlank'),
      'The query over the source; as JSON `{"table", "columns"?, "filter"?}`, Sheaf runs it.',
    ),
    output_schema: optional(
      string('nonEmpty'),
      'Arrow schema of the view as an IPC message, base64; absent: that of the rows which the query gives.',
    ),
    udtf_spec: optional(viewFunction, 'The function; needed unless `kind` is `query`.'),
    with_no_data: optional(boolean, 'Whether to leave the view empty for now; default true.'),
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

/** What is wrong with the fields of a creation together. */
function checkCreation({ kind = 'query', query, source_query, udtf_spec }: Creation): string | undefined {
  if (query !== undefined && kind !== 'query') return `must not have query where kind is ${String(kind)}`
  if (query !== undefined && source_query !== undefined) return 'has query and source_query: give one of them'
  if (query === undefined && source_query === undefined) return 'needs query or source_query'
  if ((kind === 'query') === (udtf_spec === undefined)) return undefined
  return kind === 'query'
    ? 'must not have udtf_spec where kind is query'
    : `needs udtf_spec where kind is ${String(kind)}`
}

/** A `source_query` that Sheaf runs, as JSON. */
export const viewQuery = object({
  table: required(
    accept(tableId, 'its path as one text, parts joined by $', value =>
      typeof value === 'string' ? parseId(value) : value,
    ),
    'Path of the source.',
  ),
  columns: optional(selection, 'Columns of the view; absent: those of the source when the view is made.'),
  filter: optional(string('nonBlank'), 'SQL over the source: rows for which it is true.'),
})
export type ViewQuery = Infer<typeof viewQuery>

/** Null for what is no query that Sheaf runs. Throws code 13 for one that is written wrong. */
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
  version: required(version, 'Version this call committed.'),
  job_id: optional(string(), 'The first refresh, where `with_no_data` is false.'),
})

export const viewRequest = object(onTable)

export const describeViewReply = object({
  name: required(string(), 'Name of the view, without namespace.'),
  kind: required(string(), 'What makes the rows: `query`, or a function over it: `udtf`, `chunker`.'),
  query: required(string(), 'The query, as SQL where Sheaf runs it; else as it was given.'),
  source_table: optional(
    string(),
    'Path of the source, joined by `$`; absent: Sheaf does not run the query.',
  ),
  projections: optional(
    array(
      object({
        output_column: required(string(), 'Name in the view.'),
        expression: required(string(), 'SQL over the source.'),
      }),
    ),
    'Columns of the view, where Sheaf runs the query.',
  ),
  filter: optional(string(), 'SQL over the source: rows for which it is true.'),
  source_version: optional(version, 'Version of the source that the view shows; absent: none yet.'),
  auto_refresh: required(boolean, 'Whether it is refreshed when the source changes.'),
})

export const listViewsRequest = object({ ...onNamespace, ...paging })

export const listViewsReply = object({
  views: required(array(string()), 'Names of the views, without namespace.'),
  ...nextPage,
})

export const refreshViewRequest = object({
  ...onTable,
  src_version: optional(version, 'Version of the source; absent: the latest.', ['source_version']),
  full: optional(boolean, 'Whether to write all rows anew; default false: only those that differ.'),
  max_rows_per_fragment: optional(integer(1), 'Most rows per fragment of the view.'),
  concurrency: optional(integer(1), 'Tasks at once.'),
  intra_applier_concurrency: optional(integer(1), 'Tasks at once within an applier.'),
  source_task_size: optional(integer(1), 'Source rows per task of a chunker.'),
  output_limit: optional(integer(1), 'Most rows of the view; chunkers only.'),
  cluster: optional(string(), 'Where to run.'),
  manifest: optional(string(), 'Environment for this refresh only.'),
})

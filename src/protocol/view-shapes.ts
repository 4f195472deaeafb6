/** Materialized views. */
import { parseId } from './identifiers.js'
import { parse } from './parse.js'
import { selection } from './query-shapes.js'
import { caller, newId, onTable, tableId, version } from './request-fields.js'
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
    kind: required(
      enumeration(['query', 'udtf', 'chunker'], chunker),
      'What makes the rows: a query, or a function over it.',
    ),
    source_query: required(
      string('nonBlank'),
      'The query over the source; as JSON `{"table", "columns"?, "filter"?}`, Sheaf runs it.',
    ),
    output_schema: required(string('nonEmpty'), 'Arrow schema of the view as an IPC message, base64.'),
    udtf_spec: optional(viewFunction, 'The function; needed unless `kind` is `query`.'),
    with_no_data: optional(boolean, 'Whether to leave the view empty for now; default true.'),
    auto_refresh: optional(boolean, 'Whether to refresh when the source changes; default false.'),
  },
  {
    check: view =>
      (view.kind === 'query') === (view.udtf_spec === undefined)
        ? undefined
        : view.kind === 'query'
          ? 'must not have udtf_spec where kind is query'
          : `needs udtf_spec where kind is ${String(view.kind)}`,
  },
)

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

export const refreshViewRequest = object({
  ...onTable,
  src_version: optional(version, 'Version of the source; absent: the latest.'),
  max_rows_per_fragment: optional(integer(1), 'Most rows per fragment of the view.'),
  concurrency: optional(integer(1), 'Tasks at once.'),
  intra_applier_concurrency: optional(integer(1), 'Tasks at once within an applier.'),
  source_task_size: optional(integer(1), 'Source rows per task of a chunker.'),
  output_limit: optional(integer(1), 'Most rows of the view; chunkers only.'),
  cluster: optional(string(), 'Where to run.'),
  manifest: optional(string(), 'Environment for this refresh only.'),
})

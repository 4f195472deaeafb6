/** The shapes of columns: schemas and types as JSON, and the operations that change a schema. */
import { commitVersion, onBranch, onTable, transaction, version } from './request-fields.js'
import {
  accept,
  array,
  boolean,
  type Infer,
  integer,
  json,
  named,
  nullable,
  number,
  object,
  optional,
  record,
  required,
  type Shape,
  string,
  withoutEffect,
} from './shape.js'

/**
 * Metadata of columns and schemas. It has no length limit, because libraries store descriptions of all columns there.
 */
const metadata = record(string(), Number.POSITIVE_INFINITY)

/** A type as JSON. `type` is a type name of one of the two dialects: `float32` or `float`, `utf8` or `string`. */
export interface JsonDataType {
  readonly type: string
  readonly fields?: readonly JsonField[] | undefined
  readonly length?: number | undefined
}

export interface JsonField {
  readonly name: string
  readonly nullable: boolean
  readonly type: JsonDataType
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

const dataType: Shape<JsonDataType> = named('DataType', () =>
  accept(
    object({
      type: required(string('nonEmpty'), 'Name of the type.'),
      fields: optional(array(field), 'Children of a nested type.'),
      length: optional(integer(0), 'Elements of a fixed-size list, bytes of a fixed-size binary.'),
    }),
    'the name of a type as a string',
    value => (typeof value === 'string' ? { type: value } : value),
  ),
)

const field: Shape<JsonField> = named('Field', () =>
  object({
    name: required(string(), 'Name of the column.'),
    nullable: required(boolean, 'Whether the column may contain nulls.'),
    type: required(dataType, 'Type of the column.'),
    metadata: optional(metadata, 'Metadata of the column.'),
  }),
)

export const schema = object({
  fields: required(array(field), 'Columns, in their order in the table.'),
  metadata: optional(metadata, 'Metadata of the schema.'),
})

const columnPath = string('nonEmpty')

const functionFields = {
  image: optional(string(), 'Container image of the function.'),
  udf: optional(string(), 'The serialized function, base64.'),
  udf_name: optional(string(), 'Name under which the function is registered.'),
  udf_version: optional(string(), 'Version of the function.'),
  udf_backend: optional(string(), 'Backend that runs the function.'),
  auto_backfill: optional(
    boolean,
    'Whether to start backfills automatically: now, and later for added or changed rows.',
  ),
  manifest: optional(string(), 'Environment of the function, JSON text.'),
  manifest_checksum: optional(string(), 'SHA-256 of the manifest.'),
  field_metadata: optional(record(json), 'Metadata for the column.'),
}

const newVirtualColumn = object({
  input_columns: required(array(columnPath), 'Columns that the function reads.'),
  data_type: optional(dataType, 'Type of the column, if the function has one output.'),
  outputs: optional(
    array(
      object({
        column: required(columnPath, 'Name of the column.'),
        struct_field: required(string(), 'Field of the function result whose values the column gets.'),
        data_type: required(dataType, 'Type of the column.'),
        nullable: required(boolean, 'Whether the column may contain nulls.'),
        metadata: optional(metadata, 'Metadata of the column.'),
      }),
    ),
    'Columns that the function fills, if there are several.',
  ),
  ...functionFields,
})

export type NewVirtualColumn = Infer<typeof newVirtualColumn>

const alteredVirtualColumn = object({
  input_columns: optional(array(columnPath), 'Columns that the function reads.'),
  ...functionFields,
})

const newColumn = object(
  {
    name: required(string('nonEmpty'), 'Name of the column.'),
    expression: optional(
      string('nonBlank'),
      'SQL expression that is evaluated once, for the existing rows. Rows that are added later have null.',
    ),
    computed: optional(
      string('nonBlank'),
      'SQL expression that the engine evaluates for all rows, including rows that are added later.',
    ),
    virtual_column: optional(newVirtualColumn, 'Function that fills the column.'),
    all_null: optional(
      accept(boolean, 'false for absent', value => (value === false ? undefined : value)),
      'true: all values are null.',
    ),
    data_type: optional(dataType, 'Type of the column; absent: the type of the expression.'),
  },
  {
    exactlyOne: ['expression', 'computed', 'virtual_column', 'all_null'],
    hints: { type: 'data_type', sql: 'expression', value: 'expression', default: 'expression' },
  },
)
export type NewColumn = Infer<typeof newColumn>

export const addColumnsRequest = object({
  ...onTable,
  ...onBranch,
  new_columns: required(array(newColumn, { min: 1 }), 'Columns to add, either all or none.'),
})

const alteration = object(
  {
    path: required(columnPath, 'Column to alter.'),
    rename: optional(string('nonEmpty'), 'New name of the column.'),
    nullable: optional(boolean, 'Whether the column may contain nulls.'),
    data_type: optional(dataType, 'New type of the column; every value must fit.'),
    virtual_column: optional(alteredVirtualColumn, 'Changes of the function of the column.'),
  },
  { atLeastOne: ['rename', 'nullable', 'data_type', 'virtual_column'] },
)
export type AlteredVirtualColumn = Infer<typeof alteredVirtualColumn>
export type ColumnAlteration = Infer<typeof alteration>

export const alterColumnsRequest = object({
  ...onTable,
  ...onBranch,
  alterations: required(array(alteration, { min: 1 }), 'Changes to make, either all or none.'),
})

export const dropColumnsRequest = object({
  ...onTable,
  ...onBranch,
  columns: required(array(columnPath, { min: 1, distinct: path => path }), 'Columns to drop.'),
})

export const updateFieldMetadataRequest = object({
  ...onTable,
  ...onBranch,
  updates: required(
    array(
      object({
        path: required(columnPath, 'Path of the column.'),
        metadata: required(
          record(nullable(string()), Number.POSITIVE_INFINITY),
          'Values to set, by key; the value null removes the key.',
        ),
        replace: optional(boolean, 'Whether to remove all other keys; default false.'),
      }),
      { min: 1, distinct: update => update.path },
    ),
    'Changes to make, either all or none.',
  ),
})

export const updateFieldMetadataReply = object({
  ...commitVersion,
  ...transaction,
  fields: required(record(metadata), 'Metadata of each updated column, by its path.'),
})

export const updateSchemaMetadataRequest = object({
  ...onTable,
  ...onBranch,
  metadata: required(metadata, 'New metadata of the schema, which replaces the old metadata.'),
})

export const updateSchemaMetadataReply = object({
  metadata: required(metadata, 'The new metadata.'),
  ...transaction,
})

const byOneProcess = 'Without effect: one process does the work, and commits it at once.'

/**
 * Fields by which clients of Lance distribute work over machines. They have no effect, because Sheaf uses one process.
 */
const ofWorkers = {
  intra_applier_concurrency: withoutEffect(
    integer(1),
    `Number of parallel tasks within an applier. ${byOneProcess}`,
  ),
  task_size: withoutEffect(integer(1), `Number of rows per task. ${byOneProcess}`),
  checkpoint_size: withoutEffect(integer(1), `Number of rows per checkpoint. ${byOneProcess}`),
  min_checkpoint_size: withoutEffect(integer(1), `Minimum number of rows per checkpoint. ${byOneProcess}`),
  max_checkpoint_size: withoutEffect(integer(1), `Maximum rows per checkpoint. ${byOneProcess}`),
  batch_checkpoint_flush_interval_seconds: withoutEffect(
    number,
    `Seconds between checkpoints. ${byOneProcess}`,
  ),
  commit_granularity: withoutEffect(integer(1), `Number of fragments per commit. ${byOneProcess}`),
  cluster: withoutEffect(string(), `Cluster that runs the job. ${byOneProcess}`),
  manifest: withoutEffect(string(), `Environment of the function. ${byOneProcess}`),
}

export const backfillColumnsRequest = object({
  ...onTable,
  ...onBranch,
  column: required(columnPath, 'Column to fill.'),
  where: optional(string('nonBlank'), 'SQL predicate: the rows to fill; absent: all rows.'),
  read_version: optional(version, 'Version to read; absent: the latest.'),
  concurrency: optional(integer(1), 'Maximum concurrent calls of an asynchronous function; default 4.'),
  num_frags: optional(integer(1), 'Number of fragments to fill. Refused, because a job fills all fragments.'),
  ...ofWorkers,
})

export const jobReply = object({
  job_id: required(string(), 'Id of the job, which is also a transaction id.'),
})

/** The public exports of the package `sheaf`. */
export type { BadVectors } from './arrow/bad-vectors.js'
export type { ArrowBatch } from './arrow/to-arrow.js'
export type { DataType, Field, Schema } from './arrow/types.js'
export type { ChangesOptions, TableChange } from './client/changes.js'
export type { ColumnChanges, ColumnDefinition, ColumnType, NewColumns } from './client/column-fields.js'
export type { ConnectOptions } from './client/connect-options.js'
export type { FoundRow, FusedRow, FuseRows } from './client/custom-fusion.js'
export type { ChangedBatch, ChangedRow, ChangedRows, Diff, DiffRows } from './client/diff.js'
export type {
  BoostText,
  CombineText,
  MatchColumns,
  MatchPhrase,
  MatchWords,
  TextQuery,
} from './client/full-text.js'
export type { JobInfo } from './client/job-list.js'
export type { MaintenanceEvent } from './client/maintenance-event.js'
export type { MaintenanceSettings } from './client/maintenance-settings.js'
export {
  type MergeCondition,
  MergeInsert,
  type MergeOptions,
  type MergeResult,
} from './client/merge-insert.js'
export {
  type CreateNamespaceOptions,
  type CreateTableOptions,
  type CreateViewOptions,
  type DropNamespaceOptions,
  type Identifier,
  type LocalFeatures,
  Namespace,
} from './client/namespace.js'
export type { Holder, JobUnderWay, Optimized, Reader } from './client/optimized.js'
export type { Order } from './client/order-keys.js'
export type { PreparedQuery } from './client/prepared-query.js'
export type { Assignments, Selected } from './client/row-types.js'
export type { RowsOptions } from './client/rows-options.js'
export {
  type Columns,
  type ColumnText,
  type InferredRow,
  type RowOf,
  type SchemaInput,
  schema,
  type TypedSchema,
} from './client/schema.js'
export type { SchemaDifference } from './client/schema-difference.js'
export {
  type BatchesOptions,
  type FoundByText,
  type FuseOptions,
  type Page,
  Search,
} from './client/search.js'
export type { FacetValue, PageOptions } from './client/search-page.js'
export type { RootStats } from './client/stats.js'
export {
  type AddOptions,
  type BackfillOptions,
  type GetOptions,
  type RefreshOptions,
  Table,
  type UpsertOptions,
  type VersionInfo,
} from './client/table.js'
export type { IngestOptions, Progress, Row, RowInput, TableData, TableInput } from './client/table-data.js'
export type {
  CreateIndexOptions,
  IndexInfo,
  IndexProgress,
  IndexStats,
  ProductGraphOptions,
  ProductListOptions,
  ScalarIndexOptions,
  TextIndexOptions,
  VectorGraphOptions,
  VectorIndexOptions,
  VectorIndexType,
  VectorListOptions,
  WaitForIndexOptions,
} from './client/table-indexes.js'
export {
  type CutSlice,
  type ScanOptions,
  type SliceOptions,
  TableScan,
  TableSlice,
} from './client/table-scan.js'
export { Tags } from './client/table-tags.js'
export {
  type CommittedUpload,
  type CommitUploadOptions,
  type PartOptions,
  TableUpload,
  type UploadedPart,
  type UploadOptions,
} from './client/table-upload.js'
export { Take } from './client/take.js'
export { type TextToken, tokenize } from './client/tokenize.js'
export type { TokenizeColumnOptions, TokenizeOptions } from './client/tokenize-options.js'
export type {
  Problem,
  ProblemKind,
  Verification,
  VerifyOptions,
  VerifyProgress,
} from './client/verification.js'
export { connect } from './engine/connect.js'
export { type MovedLog, type MoveLogOptions, moveLog } from './engine/move-log.js'
export { verify } from './engine/verify.js'
export { type WorkedJob, type WorkOptions, work, workOnJob } from './engine/work.js'
export { ErrorCode, type ErrorKind, SheafError, type SourceSpan } from './errors.js'
export type { CustomTokenizer } from './indexes/text/analysis/analyzer.js'
export type { HighlightOptions } from './indexes/text/highlight.js'
export type { Clock } from './primitives/clock.js'
export type { Durations } from './primitives/histogram.js'
export type { MemoryStats, PartitionStats } from './primitives/memory.js'
export type {
  ArrowBody,
  ArrowReply,
  CallOptions,
  OperationOptions,
  Operations,
  Reply,
  Request,
} from './protocol/calls.js'
export type { Parameters, ParameterValue } from './protocol/parameters.js'
export type { SqlFragment } from './sql/syntax/sql-fragment.js'
export { sql } from './sql/syntax/tag.js'
export { Ambiguous, type BlobInfo, type BlobStore } from './storage/blob-store.js'
export type {
  BatchFunction,
  ColumnFunction,
  FunctionCall,
  FunctionInput,
  RowFunction,
} from './write/functions.js'

/** The public surface of Sheaf, and nothing else. */
export type { BadVectors } from './arrow/bad-vectors.js'
export type { RowOf } from './arrow/row-type.js'
export type { DataType, Field, Schema } from './arrow/types.js'
export { ErrorCode, type ErrorKind, SheafError, type SourceSpan } from './errors.js'
export type { CustomTokenizer } from './indexes/text/analysis/analyzer.js'
export type { HighlightOptions } from './indexes/text/highlight.js'
export type { Assignments } from './namespace/assignments.js'
export type { ChangesOptions, TableChange } from './namespace/changes.js'
export type { ColumnChanges, ColumnDefinition, ColumnType, NewColumns } from './namespace/column-fields.js'
export { type ConnectOptions, connect } from './namespace/connect.js'
export type { FoundRow, FusedRow, FuseRows } from './namespace/custom-fusion.js'
export type { ChangedBatch, ChangedRow, ChangedRows, Diff, DiffRows } from './namespace/diff.js'
export type {
  BoostText,
  CombineText,
  MatchColumns,
  MatchPhrase,
  MatchWords,
  TextQuery,
} from './namespace/full-text.js'
export type { JobInfo } from './namespace/job-list.js'
export {
  type MergeCondition,
  MergeInsert,
  type MergeOptions,
  type MergeResult,
} from './namespace/merge-insert.js'
export {
  type CreateNamespaceOptions,
  type CreateTableOptions,
  type CreateViewOptions,
  type DropNamespaceOptions,
  type Identifier,
  type LocalFeatures,
  Namespace,
} from './namespace/namespace.js'
export type { RowsOptions } from './namespace/row-objects.js'
export type { SchemaDifference } from './namespace/schema-difference.js'
export {
  type ArrowBatch,
  type BatchesOptions,
  type FoundByText,
  type FuseOptions,
  type Order,
  Search,
  type Selected,
} from './namespace/search.js'
export type { RootStats } from './namespace/stats.js'
export {
  type AddOptions,
  type BackfillOptions,
  type RefreshOptions,
  Table,
  type VersionInfo,
} from './namespace/table.js'
export type { IngestOptions, Progress, Row, RowInput, TableData } from './namespace/table-data.js'
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
} from './namespace/table-indexes.js'
export {
  type CutSlice,
  type ScanOptions,
  type SliceOptions,
  TableScan,
  TableSlice,
} from './namespace/table-scan.js'
export { Tags } from './namespace/table-tags.js'
export {
  type CommittedUpload,
  type CommitUploadOptions,
  type PartOptions,
  TableUpload,
  type UploadedPart,
  type UploadOptions,
} from './namespace/table-upload.js'
export { Take } from './namespace/take.js'
export {
  type TextToken,
  type TokenizeColumnOptions,
  type TokenizeOptions,
  tokenize,
} from './namespace/tokenize.js'
export type { Holder, JobUnderWay, Optimized, Reader } from './namespace/upkeep/holders.js'
export type { UpkeepEvent } from './namespace/upkeep/upkeep-event.js'
export type { UpkeepSettings } from './namespace/upkeep/upkeep-settings.js'
export type {
  Problem,
  ProblemKind,
  Verification,
  VerifyOptions,
  VerifyProgress,
} from './namespace/verify/findings.js'
export { verify } from './namespace/verify.js'
export type { Clock } from './primitives/clock.js'
export type { MemoryStats, RoomStats } from './primitives/memory.js'
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
export { type SqlFragment, sql } from './sql/syntax/tag.js'
export { Ambiguous, type BlobInfo, type BlobStore } from './storage/blob-store.js'
export type {
  BatchFunction,
  ColumnFunction,
  FunctionCall,
  FunctionInput,
  RowFunction,
} from './write/functions.js'

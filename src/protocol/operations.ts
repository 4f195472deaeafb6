/**
 * The table of operations: one entry for each operation of the protocol. Routes, validation, proxies and the OpenAPI
 * document are derived from this table. It is the only list of operations.
 */
import { fetchBlobsRequest } from './blob-shapes.js'
import {
  createIndexReply,
  createIndexRequest,
  dropIndexRequest,
  indexStatsReply,
  indexStatsRequest,
  listIndicesReply,
  listIndicesRequest,
} from './index-shapes.js'
import { cancelJobReply, describeJobReply, jobRequest, listJobsReply, listJobsRequest } from './job-shapes.js'
import {
  lsmRequest,
  lsmStatsReply,
  lsmStatsRequest,
  lsmWriteSpecReply,
  prewarmIndexRequest,
  prewarmRequest,
} from './lance-shapes.js'
import {
  createNamespaceReply,
  createNamespaceRequest,
  describeNamespaceReply,
  dropNamespaceReply,
  dropNamespaceRequest,
  listAllTablesRequest,
  listNamespacesReply,
  listNamespacesRequest,
  listTablesReply,
  listTablesRequest,
  namespaceRequest,
} from './namespace-shapes.js'
import { analyzeRequest, explainRequest, queryRequest } from './query-shapes.js'
import { tableRequest, transactionReply, versionReply } from './request-fields.js'
import {
  countRequest,
  createTableReply,
  createTableRequest,
  deleteReply,
  deleteRequest,
  insertReply,
  insertRequest,
  mergeInsertReply,
  mergeInsertRequest,
  updateReply,
  updateRequest,
} from './row-shapes.js'
import {
  addColumnsRequest,
  alterColumnsRequest,
  backfillColumnsRequest,
  dropColumnsRequest,
  jobReply,
  updateFieldMetadataReply,
  updateFieldMetadataRequest,
  updateSchemaMetadataReply,
  updateSchemaMetadataRequest,
} from './schema-shapes.js'
import {
  closeSessionReply,
  closeSessionRequest,
  createSessionReply,
  createSessionRequest,
  readSliceRequest,
} from './session-shapes.js'
import { integer, type ObjectShape, type Shape, string } from './shape.js'
import {
  describeReply,
  describeRequest,
  dropReply,
  existsRequest,
  registerReply,
  registerRequest,
  renameRequest,
  statsReply,
} from './table-shapes.js'
import {
  alterTransactionRequest,
  describeTransactionRequest,
  transactionStateReply,
} from './transaction-shapes.js'
import {
  abortUploadReply,
  completeUploadReply,
  completeUploadRequest,
  createUploadReply,
  createUploadRequest,
  describeUploadReply,
  uploadRequest,
} from './upload-shapes.js'
import {
  batchCommitReply,
  batchCommitRequest,
  batchCreateVersionsReply,
  batchCreateVersionsRequest,
  branchRequest,
  createBranchRequest,
  createTagRequest,
  createVersionReply,
  createVersionRequest,
  declareReply,
  declareRequest,
  deleteVersionsReply,
  deleteVersionsRequest,
  deregisterReply,
  deregisterRequest,
  describeVersionReply,
  describeVersionRequest,
  listBranchesReply,
  listBranchesRequest,
  listTagsReply,
  listTagsRequest,
  listVersionsReply,
  listVersionsRequest,
  restoreRequest,
  tagRequest,
  tagVersionReply,
  updateTagRequest,
} from './version-shapes.js'
import {
  createViewReply,
  createViewRequest,
  describeViewReply,
  listViewsReply,
  listViewsRequest,
  refreshViewRequest,
  viewRequest,
} from './view-shapes.js'

/**
 * A route in the form `METHOD /path/with/{placeholders}`. If two routes match a path, literal segments take precedence.
 */
export type Route = `${'GET' | 'POST'} /v1/${string}`

/**
 * The kind of a reply. `json`: JSON of the shape `response`. `integer`, `text`: a single JSON value. `arrow`: an Arrow
 * IPC file. `empty`: no body.
 */
export type ReplyKind = 'json' | 'integer' | 'text' | 'arrow' | 'empty'

export interface OperationEntry {
  readonly doc: string
  /** Source that defines the operation: the Lance Namespace specification, or the clients of LanceDB. */
  readonly origin: 'specification' | 'lancedb'
  /** Whether the operation writes. A `read` changes nothing and may be aborted. A `write` commits at most once. */
  readonly access: 'read' | 'write'
  /** The kind of object that `{id}` names. */
  readonly target: 'namespace' | 'table' | 'transaction' | 'none'
  /** Routes of the operation. Clients should use the first route. */
  readonly routes: readonly [Route, ...Route[]]
  /**
   * A GET route that returns the bytes of one blob, or a range of these bytes. `{column}` and `{row_id}` name the blob.
   */
  readonly bytesRoute?: Route
  /** A GET route whose query parameters are the request, for clients that can only open a URL. */
  readonly rowsRoute?: Route
  /** A GET route whose reply is the change feed of the table as server-sent events. */
  readonly changesRoute?: Route
  /** Whether the rows of the reply may be text: JSON, JSON lines or CSV. */
  readonly rowsAsText?: true
  /**
   * Names of request fields that are query parameters. If a JSON body has the same field, the body takes precedence.
   */
  readonly query: readonly string[]
  /** Kind of the request body. `none`: the request needs no body; if it has a JSON body, the body is read. */
  readonly body: 'json' | 'arrow' | 'none'
  /**
   * Whether the body may be an Arrow IPC schema without rows, instead of JSON. The operation adds its columns with
   * nulls.
   */
  readonly takesSchema?: true
  /** Name of the field that is the whole JSON body of the request and of the reply. Absent: the body is an object. */
  readonly bare?: string
  readonly request: Shape & ObjectShape
  /**
   * Treatment of unknown fields and query parameters from a client that may be newer than this server. `skipped`: they
   * are ignored and logged. This is set only if the worst result is a simpler answer. Unknown names from other clients
   * are always refused.
   */
  readonly unknownNames: 'refused' | 'skipped'
  readonly reply: ReplyKind
  /** Shape of the reply; null for `arrow` and `empty`. */
  readonly response: Shape | null
  /** HTTP status of a reply. */
  readonly status: 200 | 202
  /** Whether a reply with `job_id` has status 202, because the job continues after the reply. */
  readonly startsJob?: true
}

const reads = {
  origin: 'specification',
  access: 'read',
  target: 'table',
  query: [],
  body: 'json',
  unknownNames: 'skipped',
  reply: 'json',
  status: 200,
} as const
const writes = { ...reads, access: 'write', unknownNames: 'refused' } as const
/** Common members of queries. Unknown names are refused, because an unknown field could decide which rows match. */
const queries = { ...reads, unknownNames: 'refused' } as const
const lancedbReads = { ...reads, origin: 'lancedb' } as const
const lancedbWrites = { ...writes, origin: 'lancedb' } as const
const onUpload = ['upload_id', 'branch'] as const
const onJobs = { ...lancedbReads, target: 'none' } as const
const pages = ['page_token', 'limit'] as const

export const operations = {
  // ---- namespaces
  createNamespace: {
    ...writes,
    target: 'namespace',
    doc: 'Creates a namespace.',
    routes: ['POST /v1/namespace/{id}/create'],
    request: createNamespaceRequest,
    response: createNamespaceReply,
  },
  listNamespaces: {
    ...reads,
    target: 'namespace',
    doc: 'Lists the child namespaces by name.',
    // The second route is for the root. With the delimiter `.`, its path is `/v1/namespace/./list`, which URL libraries
    // shorten to `/v1/namespace/list`.
    routes: ['GET /v1/namespace/{id}/list', 'GET /v1/namespace/list'],
    query: pages,
    body: 'none',
    request: listNamespacesRequest,
    response: listNamespacesReply,
  },
  describeNamespace: {
    ...reads,
    target: 'namespace',
    doc: 'Returns the properties of a namespace.',
    routes: ['POST /v1/namespace/{id}/describe'],
    request: namespaceRequest,
    response: describeNamespaceReply,
  },
  dropNamespace: {
    ...writes,
    target: 'namespace',
    doc: 'Drops a namespace.',
    routes: ['POST /v1/namespace/{id}/drop'],
    request: dropNamespaceRequest,
    response: dropNamespaceReply,
  },
  namespaceExists: {
    ...reads,
    target: 'namespace',
    doc: 'Succeeds if the namespace exists.',
    routes: ['POST /v1/namespace/{id}/exists'],
    request: namespaceRequest,
    reply: 'empty',
    response: null,
  },
  listTables: {
    ...reads,
    target: 'namespace',
    doc: 'Lists the tables of a namespace by name.',
    routes: ['GET /v1/namespace/{id}/table/list'],
    query: [...pages, 'include_declared'],
    body: 'none',
    request: listTablesRequest,
    response: listTablesReply,
  },
  listAllTables: {
    ...reads,
    target: 'none',
    doc: 'Lists the identifiers of all tables.',
    routes: ['GET /v1/table'],
    query: [...pages, 'include_declared', 'delimiter'],
    body: 'none',
    request: listAllTablesRequest,
    response: listTablesReply,
  },

  // ---- tables
  registerTable: {
    ...writes,
    doc: 'Adds a table whose data already exists.',
    routes: ['POST /v1/table/{id}/register'],
    request: registerRequest,
    response: registerReply,
  },
  declareTable: {
    ...writes,
    doc: 'Reserves a name and a location for a table.',
    routes: ['POST /v1/table/{id}/declare', 'POST /v1/table/{id}/create-empty'],
    request: declareRequest,
    response: declareReply,
  },
  describeTable: {
    ...reads,
    doc: 'Returns the location, the version and the schema of a table.',
    routes: ['POST /v1/table/{id}/describe'],
    query: ['with_table_uri', 'load_detailed_metadata', 'check_declared'],
    request: describeRequest,
    response: describeReply,
  },
  tableExists: {
    ...reads,
    doc: 'Succeeds if the table, or the given version of the table, exists.',
    routes: ['POST /v1/table/{id}/exists'],
    request: existsRequest,
    reply: 'empty',
    response: null,
  },
  renameTable: {
    ...writes,
    doc: 'Renames a table, or moves it to another namespace.',
    routes: ['POST /v1/table/{id}/rename'],
    request: renameRequest,
    response: transactionReply,
  },
  dropTable: {
    ...writes,
    doc: 'Drops a table with its data.',
    routes: ['POST /v1/table/{id}/drop'],
    body: 'none',
    request: tableRequest,
    response: dropReply,
  },
  deregisterTable: {
    ...writes,
    doc: 'Removes a table from the catalog and keeps its data.',
    routes: ['POST /v1/table/{id}/deregister'],
    request: deregisterRequest,
    response: deregisterReply,
  },
  getTableStats: {
    ...reads,
    doc: 'Returns the sizes of a table and of its fragments.',
    routes: ['POST /v1/table/{id}/stats', 'GET /v1/table/{id}/stats'],
    request: tableRequest,
    response: statsReply,
  },

  // ---- rows
  createTable: {
    ...writes,
    doc: 'Creates a table from Arrow data; an empty stream creates an empty table.',
    routes: ['POST /v1/table/{id}/create'],
    query: ['mode', 'properties', 'storage_options'],
    body: 'arrow',
    request: createTableRequest,
    response: createTableReply,
  },
  insertIntoTable: {
    ...writes,
    doc: 'Appends Arrow data to a table, replaces all rows with the data, or adds the data as a part of an upload.',
    routes: ['POST /v1/table/{id}/insert'],
    query: ['mode', 'branch', 'upload_id', 'upload_part_id'],
    body: 'arrow',
    request: insertRequest,
    response: insertReply,
  },
  mergeInsertIntoTable: {
    ...writes,
    doc: 'Merges Arrow data into a table by key: updates, inserts and deletes rows.',
    routes: ['POST /v1/table/{id}/merge_insert'],
    query: [
      'on',
      'when_matched_update_all',
      'when_matched_update_all_filt',
      'when_not_matched_insert_all',
      'when_not_matched_by_source_delete',
      'when_not_matched_by_source_delete_filt',
      'parameters',
      'timeout',
      'use_index',
      'use_lsm',
      'branch',
    ],
    body: 'arrow',
    request: mergeInsertRequest,
    response: mergeInsertReply,
  },
  updateTable: {
    ...writes,
    doc: 'Sets columns of matching rows to SQL expressions.',
    routes: ['POST /v1/table/{id}/update'],
    request: updateRequest,
    response: updateReply,
  },
  deleteFromTable: {
    ...writes,
    doc: 'Deletes matching rows.',
    routes: ['POST /v1/table/{id}/delete'],
    request: deleteRequest,
    response: deleteReply,
  },
  countTableRows: {
    ...queries,
    doc: 'Counts matching rows.',
    routes: ['POST /v1/table/{id}/count_rows', 'GET /v1/table/{id}/count_rows'],
    query: ['version', 'predicate', 'branch'],
    request: countRequest,
    reply: 'integer',
    response: integer(0),
  },

  // ---- uploads in parts
  createTableUpload: {
    ...lancedbWrites,
    doc: 'Begins an upload in parts.',
    routes: ['POST /v1/table/{id}/multipart_write/create'],
    query: ['branch'],
    request: createUploadRequest,
    response: createUploadReply,
  },
  describeTableUpload: {
    ...lancedbReads,
    doc: 'Returns the parts of an upload so far.',
    routes: ['POST /v1/table/{id}/multipart_write/describe'],
    query: onUpload,
    request: uploadRequest,
    response: describeUploadReply,
  },
  completeTableUpload: {
    ...lancedbWrites,
    doc: 'Commits the parts of an upload in one commit. A repeated call returns the same reply.',
    routes: ['POST /v1/table/{id}/multipart_write/complete'],
    query: onUpload,
    request: completeUploadRequest,
    response: completeUploadReply,
  },
  abortTableUpload: {
    ...lancedbWrites,
    doc: 'Aborts an upload, so that none of its rows becomes visible.',
    routes: ['POST /v1/table/{id}/multipart_write/abort'],
    query: onUpload,
    request: uploadRequest,
    response: abortUploadReply,
  },

  // ---- queries
  queryTable: {
    ...queries,
    doc: 'Returns rows of a table: by vector search, full-text search and SQL filter.',
    routes: ['POST /v1/table/{id}/query'],
    rowsRoute: 'GET /v1/table/{id}/rows',
    changesRoute: 'GET /v1/table/{id}/changes',
    rowsAsText: true,
    request: queryRequest,
    reply: 'arrow',
    response: null,
  },
  createTableReadSession: {
    ...queries,
    origin: 'lancedb',
    doc: 'Divides one version of a table into slices for many readers.',
    routes: ['POST /v1/table/{id}/read_session/create'],
    request: createSessionRequest,
    response: createSessionReply,
  },
  readTableSlice: {
    ...queries,
    origin: 'lancedb',
    doc: 'Returns the rows of a slice.',
    routes: ['POST /v1/table/{id}/read_session/read'],
    request: readSliceRequest,
    reply: 'arrow',
    response: null,
  },
  closeTableReadSession: {
    ...queries,
    origin: 'lancedb',
    doc: 'Ends a read session on this server. Other servers end the session when no reader uses it any more.',
    routes: ['POST /v1/table/{id}/read_session/close'],
    request: closeSessionRequest,
    response: closeSessionReply,
  },
  explainTableQueryPlan: {
    ...queries,
    doc: 'Returns the plan of a query, without running the query.',
    routes: ['POST /v1/table/{id}/explain_plan'],
    request: explainRequest,
    reply: 'text',
    response: string(),
  },
  analyzeTableQueryPlan: {
    ...queries,
    doc: 'Runs a query, and returns its plan with rows and milliseconds of each step.',
    routes: ['POST /v1/table/{id}/analyze_plan'],
    query: ['distributed_metrics'],
    request: analyzeRequest,
    reply: 'text',
    response: string(),
  },

  // ---- columns
  alterTableAddColumns: {
    ...writes,
    doc: 'Adds columns.',
    routes: ['POST /v1/table/{id}/add_columns'],
    takesSchema: true,
    request: addColumnsRequest,
    response: versionReply,
  },
  alterTableAlterColumns: {
    ...writes,
    doc: 'Renames columns, or changes their types or nullability.',
    routes: ['POST /v1/table/{id}/alter_columns'],
    request: alterColumnsRequest,
    response: versionReply,
  },
  alterTableDropColumns: {
    ...writes,
    doc: 'Drops columns.',
    routes: ['POST /v1/table/{id}/drop_columns'],
    request: dropColumnsRequest,
    response: versionReply,
  },
  alterTableBackfillColumns: {
    ...writes,
    doc: 'Starts a job that fills a computed or virtual column.',
    routes: ['POST /v1/table/{id}/backfill_column'],
    request: backfillColumnsRequest,
    response: jobReply,
    status: 202,
  },
  updateFieldMetadata: {
    ...writes,
    doc: 'Changes the metadata of columns.',
    routes: ['POST /v1/table/{id}/update_field_metadata'],
    request: updateFieldMetadataRequest,
    response: updateFieldMetadataReply,
  },
  updateTableSchemaMetadata: {
    ...writes,
    doc: 'Replaces the metadata of the schema.',
    routes: ['POST /v1/table/{id}/schema_metadata/update'],
    query: ['branch'],
    bare: 'metadata',
    request: updateSchemaMetadataRequest,
    response: updateSchemaMetadataReply,
  },

  // ---- indexes
  createTableIndex: {
    ...writes,
    doc: 'Starts building an index.',
    routes: ['POST /v1/table/{id}/create_index'],
    request: createIndexRequest,
    response: createIndexReply,
  },
  createTableScalarIndex: {
    ...writes,
    doc: 'Starts building an index; the same as createTableIndex.',
    routes: ['POST /v1/table/{id}/create_scalar_index'],
    request: createIndexRequest,
    response: createIndexReply,
  },
  listTableIndices: {
    ...reads,
    doc: 'Lists the indexes of a table by name.',
    routes: ['POST /v1/table/{id}/index/list'],
    query: pages,
    request: listIndicesRequest,
    response: listIndicesReply,
  },
  describeTableIndexStats: {
    ...reads,
    doc: 'Returns the numbers of rows that an index covers and does not cover.',
    routes: ['POST /v1/table/{id}/index/{index_name}/stats', 'GET /v1/table/{id}/index/{index_name}/stats'],
    request: indexStatsRequest,
    response: indexStatsReply,
  },
  dropTableIndex: {
    ...writes,
    doc: 'Drops an index.',
    routes: ['POST /v1/table/{id}/index/{index_name}/drop'],
    query: ['branch'],
    body: 'none',
    request: dropIndexRequest,
    response: transactionReply,
  },

  // ---- versions
  listTableVersions: {
    ...reads,
    doc: 'Lists the versions of a table.',
    routes: ['POST /v1/table/{id}/version/list'],
    query: [...pages, 'descending', 'branch'],
    body: 'none',
    request: listVersionsRequest,
    response: listVersionsReply,
  },
  createTableVersion: {
    ...writes,
    doc: 'Creates a version of a table. Fails if the version exists.',
    routes: ['POST /v1/table/{id}/version/create'],
    request: createVersionRequest,
    response: createVersionReply,
  },
  describeTableVersion: {
    ...reads,
    doc: 'Returns the record of a version.',
    routes: ['POST /v1/table/{id}/version/describe'],
    request: describeVersionRequest,
    response: describeVersionReply,
  },
  batchDeleteTableVersions: {
    ...writes,
    doc: 'Removes the records of ranges of versions.',
    routes: ['POST /v1/table/{id}/version/delete'],
    request: deleteVersionsRequest,
    response: deleteVersionsReply,
  },
  restoreTable: {
    ...writes,
    doc: 'Creates a new version with the rows and columns of an old version.',
    routes: ['POST /v1/table/{id}/restore'],
    request: restoreRequest,
    response: transactionReply,
  },
  batchCreateTableVersions: {
    ...writes,
    target: 'none',
    doc: 'Creates versions of several tables, either all or none.',
    routes: ['POST /v1/table/version/batch-create'],
    request: batchCreateVersionsRequest,
    response: batchCreateVersionsReply,
  },
  batchCommitTables: {
    ...writes,
    target: 'none',
    doc: 'Applies operations on tables, either all or none: declare, deregister, create a version, delete versions, complete an upload.',
    routes: ['POST /v1/table/batch-commit'],
    request: batchCommitRequest,
    response: batchCommitReply,
  },

  // ---- tags and branches
  listTableTags: {
    ...reads,
    doc: 'Lists the tags of a table.',
    routes: ['POST /v1/table/{id}/tags/list', 'GET /v1/table/{id}/tags/list'],
    query: [...pages, 'branch'],
    body: 'none',
    request: listTagsRequest,
    response: listTagsReply,
  },
  getTableTagVersion: {
    ...reads,
    doc: 'Returns the version to which a tag points.',
    routes: ['POST /v1/table/{id}/tags/version'],
    request: tagRequest,
    response: tagVersionReply,
  },
  createTableTag: {
    ...writes,
    doc: 'Creates a tag.',
    routes: ['POST /v1/table/{id}/tags/create'],
    request: createTagRequest,
    response: transactionReply,
  },
  updateTableTag: {
    ...writes,
    doc: 'Moves a tag to another version.',
    routes: ['POST /v1/table/{id}/tags/update'],
    request: updateTagRequest,
    response: transactionReply,
  },
  deleteTableTag: {
    ...writes,
    doc: 'Deletes a tag.',
    routes: ['POST /v1/table/{id}/tags/delete'],
    request: tagRequest,
    response: transactionReply,
  },
  listTableBranches: {
    ...reads,
    doc: 'Lists the branches of a table.',
    routes: ['POST /v1/table/{id}/branches/list'],
    query: pages,
    body: 'none',
    request: listBranchesRequest,
    response: listBranchesReply,
  },
  createTableBranch: {
    ...writes,
    doc: 'Creates a branch.',
    routes: ['POST /v1/table/{id}/branches/create'],
    request: createBranchRequest,
    response: transactionReply,
  },
  deleteTableBranch: {
    ...writes,
    doc: 'Deletes a branch.',
    routes: ['POST /v1/table/{id}/branches/delete'],
    request: branchRequest,
    response: transactionReply,
  },

  // ---- transactions and views
  describeTransaction: {
    ...reads,
    target: 'transaction',
    doc: 'Returns the status and the properties of a transaction.',
    routes: ['POST /v1/transaction/{id}/describe'],
    request: describeTransactionRequest,
    response: transactionStateReply,
  },
  alterTransaction: {
    ...writes,
    target: 'transaction',
    doc: 'Changes the status and the properties of a transaction, either all or none.',
    routes: ['POST /v1/transaction/{id}/alter'],
    request: alterTransactionRequest,
    response: transactionStateReply,
  },
  createMaterializedView: {
    ...writes,
    doc: 'Creates a materialized view.',
    routes: ['POST /v1/materialized_view/{id}/create'],
    request: createViewRequest,
    response: createViewReply,
    startsJob: true,
  },
  refreshMaterializedView: {
    ...writes,
    doc: 'Starts a job that refreshes a materialized view from its source.',
    routes: ['POST /v1/table/{id}/refresh', 'POST /v1/materialized_view/{id}/refresh'],
    request: refreshViewRequest,
    response: jobReply,
    status: 202,
  },

  describeMaterializedView: {
    ...lancedbReads,
    doc: 'Returns the query of a materialized view, and the version of the source that the view shows.',
    routes: ['POST /v1/materialized_view/{id}/describe'],
    request: viewRequest,
    response: describeViewReply,
  },
  listMaterializedViews: {
    ...lancedbReads,
    target: 'namespace',
    doc: 'Lists the materialized views of a namespace by name.',
    routes: ['GET /v1/namespace/{id}/materialized_view/list'],
    query: pages,
    body: 'none',
    request: listViewsRequest,
    response: listViewsReply,
  },
  dropMaterializedView: {
    ...lancedbWrites,
    doc: 'Drops a materialized view with its data.',
    routes: ['POST /v1/materialized_view/{id}/drop'],
    body: 'none',
    request: viewRequest,
    response: dropReply,
  },

  // ---- jobs
  listJobs: {
    ...onJobs,
    doc: 'Lists open jobs and jobs that ended recently, newest first.',
    routes: ['POST /v1/jobs/list'],
    query: pages,
    request: listJobsRequest,
    response: listJobsReply,
  },
  describeJob: {
    ...onJobs,
    doc: 'Returns the parameters, the state and the progress of a job.',
    routes: ['POST /v1/jobs/describe'],
    request: jobRequest,
    response: describeJobReply,
  },
  cancelJob: {
    ...onJobs,
    access: 'write',
    unknownNames: 'refused',
    doc: 'Cancels a job; a job that has ended stays unchanged.',
    routes: ['POST /v1/jobs/cancel'],
    request: jobRequest,
    response: cancelJobReply,
  },

  // ---- operations of LanceDB's clients that are not in the Lance Namespace specification
  prewarmTableIndex: {
    ...lancedbReads,
    doc: 'Loads an index into the cache, if it takes at most half of the cache.',
    routes: ['POST /v1/table/{id}/index/{index_name}/prewarm'],
    body: 'none',
    request: prewarmIndexRequest,
    reply: 'empty',
    response: null,
  },
  prewarmTable: {
    ...lancedbReads,
    doc: 'Loads columns into the cache, each if it takes at most half of the cache.',
    routes: ['POST /v1/table/{id}/page_cache/prewarm'],
    request: prewarmRequest,
    reply: 'empty',
    response: null,
  },
  fetchTableBlobs: {
    ...lancedbReads,
    unknownNames: 'refused',
    doc: 'Returns the bytes and the sizes of blobs by row id.',
    routes: ['POST /v1/table/{id}/fetch_blobs'],
    bytesRoute: 'GET /v1/table/{id}/blob/{column}/{row_id}/bytes',
    query: ['version', 'branch'],
    request: fetchBlobsRequest,
    reply: 'arrow',
    response: null,
  },
  getTableLsmWriteSpec: {
    ...lancedbReads,
    doc: 'Returns null if the table exists, because Sheaf has no log-structured writes.',
    routes: ['POST /v1/table/{id}/get_lsm_write_spec'],
    request: lsmRequest,
    response: lsmWriteSpecReply,
  },
  getTableLsmStats: {
    ...lancedbReads,
    doc: 'Returns null if the table exists, because Sheaf has no log-structured writes.',
    routes: ['POST /v1/table/{id}/get_lsm_stats'],
    request: lsmStatsRequest,
    response: lsmStatsReply,
  },
} as const satisfies Readonly<Record<string, OperationEntry>>

export type OperationName = keyof typeof operations

/** The names of all operations, in the order of the table. */
export const operationNames = Object.keys(operations) as readonly OperationName[]

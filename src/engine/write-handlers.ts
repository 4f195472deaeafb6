/**
 * Exports the handlers that write rows, columns, indexes and views, and the handlers of jobs. A process that only reads
 * never loads this file.
 */

export { refreshMaterializedView } from '../root/refresh-request.js'
export { alterTableBackfillColumns } from './backfill.js'
export { batchCommitTables, batchCreateTableVersions, completeTableUpload } from './batch.js'
export {
  alterTableAddColumns,
  alterTableAlterColumns,
  alterTableDropColumns,
  updateFieldMetadata,
  updateTableSchemaMetadata,
} from './columns.js'
export { deleteFromTable, mergeInsertIntoTable, updateTable } from './edit-rows.js'
export { createTableIndex, dropTableIndex } from './indexes.js'
export { cancelJob, describeJob, listJobs } from './jobs.js'
export { readRepeatedRows } from './keyed-rows.js'
export { createTable, insertIntoTable, restoreTable } from './rows.js'
export { abortTableUpload, createTableUpload, describeTableUpload } from './uploads.js'
export {
  createMaterializedView,
  describeMaterializedView,
  dropMaterializedView,
  listMaterializedViews,
} from './views.js'

/**
 * Handlers of operations on names, versions, tags, index records and transactions, and of single blobs. They are loaded
 * at the first of these operations, so that a process that only queries does not load them.
 */
export { fetchTableBlobs } from './blobs.js'
export { describeTableIndexStats, listTableIndices } from './index-records.js'
export { getTableLsmStats, getTableLsmWriteSpec } from './lance.js'
export {
  createNamespace,
  describeNamespace,
  dropNamespace,
  listNamespaces,
  namespaceExists,
} from './namespaces.js'
export { prewarmTable, prewarmTableIndex } from './prewarm.js'
export {
  declareTable,
  deregisterTable,
  dropTable,
  getTableStats,
  listAllTables,
  listTables,
  registerTable,
  renameTable,
  tableExists,
} from './tables.js'
export { createTableTag, deleteTableTag, getTableTagVersion, listTableTags, updateTableTag } from './tags.js'
export { alterTransaction, describeTransaction } from './transactions.js'
export {
  batchDeleteTableVersions,
  createTableVersion,
  describeTableVersion,
  listTableVersions,
} from './versions.js'

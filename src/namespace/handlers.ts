/** One handler per operation. What is not built yet says so. */
import type { Handlers } from '../protocol/calls.js'
import { type OperationName, operationNames } from '../protocol/operations.js'
import type { Engine } from './engine.js'
import {
  createNamespace,
  describeNamespace,
  dropNamespace,
  listNamespaces,
  namespaceExists,
} from './namespaces.js'
import { queryTable } from './query.js'
import { countTableRows, createTable, deleteFromTable, insertIntoTable } from './rows.js'
import { describeTable, dropTable, listAllTables, listTables, tableExists } from './tables.js'
import { createTableTag, deleteTableTag, getTableTagVersion, listTableTags, updateTableTag } from './tags.js'
import { describeTableVersion, listTableVersions } from './versions.js'

export const handlers: Handlers<Engine> = {
  createNamespace,
  listNamespaces,
  describeNamespace,
  dropNamespace,
  namespaceExists,
  listTables,
  listAllTables,
  registerTable: 'unsupported',
  declareTable: 'unsupported',
  describeTable,
  tableExists,
  renameTable: 'unsupported',
  dropTable,
  deregisterTable: 'unsupported',
  getTableStats: 'unsupported',
  createTable,
  insertIntoTable,
  mergeInsertIntoTable: 'unsupported',
  updateTable: 'unsupported',
  deleteFromTable,
  countTableRows,
  queryTable,
  explainTableQueryPlan: 'unsupported',
  analyzeTableQueryPlan: 'unsupported',
  alterTableAddColumns: 'unsupported',
  alterTableAlterColumns: 'unsupported',
  alterTableDropColumns: 'unsupported',
  alterTableBackfillColumns: 'unsupported',
  updateFieldMetadata: 'unsupported',
  updateTableSchemaMetadata: 'unsupported',
  createTableIndex: 'unsupported',
  createTableScalarIndex: 'unsupported',
  listTableIndices: 'unsupported',
  describeTableIndexStats: 'unsupported',
  dropTableIndex: 'unsupported',
  listTableVersions,
  createTableVersion: 'unsupported',
  describeTableVersion,
  batchDeleteTableVersions: 'unsupported',
  restoreTable: 'unsupported',
  batchCreateTableVersions: 'unsupported',
  batchCommitTables: 'unsupported',
  listTableTags,
  getTableTagVersion,
  createTableTag,
  updateTableTag,
  deleteTableTag,
  listTableBranches: 'unsupported',
  createTableBranch: 'unsupported',
  deleteTableBranch: 'unsupported',
  describeTransaction: 'unsupported',
  alterTransaction: 'unsupported',
  createMaterializedView: 'unsupported',
  refreshMaterializedView: 'unsupported',
}

/** Names of the operations with a handler, and of those without. */
export function servedOperations(): {
  readonly served: readonly OperationName[]
  readonly unsupported: readonly OperationName[]
} {
  return {
    served: operationNames.filter(name => handlers[name] !== 'unsupported'),
    unsupported: operationNames.filter(name => handlers[name] === 'unsupported'),
  }
}

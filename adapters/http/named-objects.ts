/**
 * Lists the namespaces and tables that a call names, each with the operation on it. The `authorize` hook decides about
 * each of them.
 */
import type { Request } from '../../src/protocol/calls.js'
import type { OperationName } from '../../src/protocol/operations.js'
import { newNamespaceOf } from '../../src/protocol/table-shapes.js'
import { queryOf } from '../../src/protocol/view-sql.js'

export interface NamedObject {
  readonly operation: OperationName
  readonly id: readonly string[]
  /** The id that the error of a refusal shows instead of `id`. It is set if the caller did not name the object. */
  readonly shown?: readonly string[]
}

/** Return the objects that a call names, without duplicates. `request`: the request in normal form. */
export function namedObjects(
  operation: OperationName,
  request: Readonly<Record<string, unknown>>,
): readonly NamedObject[] {
  const objects = allNamed(operation, request)
  const byText = new Map(objects.map(object => [JSON.stringify([object.operation, object.id]), object]))
  return [...byText.values()]
}

function allNamed(operation: OperationName, request: Readonly<Record<string, unknown>>): NamedObject[] {
  const { id = [] } = request as { readonly id?: readonly string[] }
  const itself = { operation, id }
  switch (operation) {
    case 'batchCreateTableVersions': {
      const { entries } = request as Request<typeof operation>
      return entries.map(({ id }) => ({ operation: 'createTableVersion', id }))
    }
    case 'batchCommitTables': {
      const { operations } = request as Request<typeof operation>
      return operations.map(each => {
        if (each.declare_table !== undefined) return { operation: 'declareTable', id: each.declare_table.id }
        if (each.create_table_version !== undefined)
          return { operation: 'createTableVersion', id: each.create_table_version.id }
        if (each.delete_table_versions !== undefined)
          return { operation: 'batchDeleteTableVersions', id: each.delete_table_versions.id }
        if (each.complete_upload !== undefined)
          return { operation: 'insertIntoTable', id: each.complete_upload.id }
        return { operation: 'deregisterTable', id: each.deregister_table.id }
      })
    }
    case 'createTableUpload': {
      const { mode } = request as Request<typeof operation>
      return [{ operation: mode === 'Merge' ? 'mergeInsertIntoTable' : 'insertIntoTable', id }]
    }
    case 'describeTableUpload':
    case 'completeTableUpload':
    case 'abortTableUpload':
      // An upload in parts needs the same permission as an insert.
      return [{ operation: 'insertIntoTable', id }]
    case 'renameTable': {
      const renamed = request as Request<typeof operation>
      const namespace = newNamespaceOf(renamed) ?? id.slice(0, -1)
      return [itself, { operation, id: [...namespace, renamed.new_table_name] }]
    }
    case 'createMaterializedView': {
      const query = queryOf(request as Request<typeof operation>)
      return query === null ? [itself] : [itself, { operation: 'queryTable', id: query.table }]
    }
    case 'dropMaterializedView':
      // A view is a table, so dropping it needs the permission to drop tables.
      return [{ operation: 'dropTable', id }]
    case 'describeJob':
    case 'cancelJob':
      // A job is a transaction. For operations on transactions, the id is a path with one name, the id of the
      // transaction.
      return [{ operation, id: [(request as Request<typeof operation>).job_id] }]
    default:
      return [itself]
  }
}

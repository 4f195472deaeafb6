/** The shapes of operations on namespaces: create, list, describe, drop. */
import { caller, newId, nextPage, onNamespace, paging, properties, transaction } from './request-fields.js'
import { array, boolean, enumeration, object, optional, required, string } from './shape.js'

export const createNamespaceRequest = object({
  ...caller,
  id: required(newId, 'Path of the new namespace; its parent must exist.'),
  mode: optional(
    enumeration(['Create', 'ExistOk', 'Overwrite']),
    'Behavior if the namespace exists: fail (default), keep it, or replace its properties.',
  ),
  ...properties,
})

export const createNamespaceReply = object({ ...properties, ...transaction })

export const listNamespacesRequest = object({ ...onNamespace, ...paging })

export const listNamespacesReply = object({
  namespaces: required(array(string()), 'Names of the child namespaces, without the path of the parent.'),
  ...nextPage,
})

export const namespaceRequest = object(onNamespace)

export const describeNamespaceReply = object(properties)

export const dropNamespaceRequest = object({
  ...onNamespace,
  mode: optional(
    enumeration(['Fail', 'Skip']),
    'Behavior if the namespace does not exist: fail (default), or succeed.',
  ),
  behavior: optional(
    enumeration(['Restrict', 'Cascade']),
    'Behavior if the namespace is not empty: fail (default), or drop its content too.',
  ),
})

export const dropNamespaceReply = object({
  ...properties,
  transaction_id: optional(array(string()), 'Ids of the commits, for describeTransaction.'),
})

const includeDeclared = {
  include_declared: optional(
    boolean,
    'Whether to list tables that are declared but have no data; default true.',
  ),
}

export const listTablesRequest = object({ ...onNamespace, ...paging, ...includeDeclared })

export const listAllTablesRequest = object({
  ...caller,
  ...paging,
  ...includeDeclared,
  delimiter: optional(string('nonEmpty'), 'Delimiter between the names of each identifier; default `$`.'),
})

export const listTablesReply = object({
  tables: required(
    array(string()),
    'Names of the tables in the namespace. For a list of all tables: full identifiers.',
  ),
  ...nextPage,
})

/** The shapes of operations on namespaces: create, list, describe, drop. */
import { caller, newId, nextPage, onNamespace, paging, properties, transaction } from './request-fields.js'
import { array, boolean, enumeration, object, optional, required, string } from './shape.js'

export const createNamespaceRequest = object({
  ...caller,
  id: required(newId, 'Path of the new namespace; its parent must exist.'),
  mode: optional(
    enumeration(['Create', 'ExistOk', 'Overwrite']),
    'What to do if it exists: fail (default), keep it, replace its properties.',
  ),
  ...properties,
})

export const createNamespaceReply = object({ ...properties, ...transaction })

export const listNamespacesRequest = object({ ...onNamespace, ...paging })

export const listNamespacesReply = object({
  namespaces: required(array(string()), 'Names of the children, relative to the parent.'),
  ...nextPage,
})

export const namespaceRequest = object(onNamespace)

export const describeNamespaceReply = object(properties)

export const dropNamespaceRequest = object({
  ...onNamespace,
  mode: optional(
    enumeration(['Fail', 'Skip']),
    'What to do if it does not exist: fail (default), or succeed.',
  ),
  behavior: optional(
    enumeration(['Restrict', 'Cascade']),
    'What to do if it is not empty: fail (default), or drop everything in it.',
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
  tables: required(array(string()), 'Names in the namespace; for all tables: full identifiers.'),
  ...nextPage,
})

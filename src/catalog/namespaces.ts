/** Computes the operations that create or drop a namespace, from a request and a state. Has no side effects. */
import { ErrorCode, invalidInput, SheafError } from '../errors.js'
import { idText } from '../protocol/identifiers.js'
import { findNamespace } from './lookup.js'
import type { CatalogOp, NamespaceOp, Properties } from './ops.js'
import { type CatalogState, pathKey } from './state.js'

type NamespaceMode = 'Create' | 'ExistOk' | 'Overwrite'

/**
 * Return the operations that create a namespace. Returns none if the mode is `ExistOk` and the namespace exists.
 * `Overwrite` drops an existing namespace with everything in it first. Throws NamespaceAlreadyExists, and
 * NamespaceNotFound for a missing parent.
 */
export function decideCreateNamespace(
  state: CatalogState,
  id: readonly string[],
  mode: NamespaceMode,
  props: Properties,
): readonly CatalogOp[] {
  if (id.length === 0 && mode !== 'ExistOk') {
    throw new SheafError(ErrorCode.NamespaceAlreadyExists, 'the root namespace always exists')
  }
  const known = state.namespaces.get(pathKey(id))
  const create: NamespaceOp = { op: 'namespace', id, props }
  if (known === undefined) {
    findNamespace(state, id.slice(0, -1))
    return [create]
  }
  if (mode === 'ExistOk') return []
  if (mode === 'Overwrite') return [{ op: 'namespace', id, props: null }, create]
  throw new SheafError(ErrorCode.NamespaceAlreadyExists, `namespace ${idText(id)} already exists`)
}

/**
 * Return the operations that drop a namespace. `Skip`: dropping a missing namespace succeeds. `Cascade`: drop all
 * tables and namespaces in it too. Throws NamespaceNotFound and NamespaceNotEmpty.
 */
export function decideDropNamespace(
  state: CatalogState,
  id: readonly string[],
  mode: 'Fail' | 'Skip',
  behavior: 'Restrict' | 'Cascade',
): readonly CatalogOp[] {
  if (id.length === 0) throw invalidInput('the root namespace cannot be dropped')
  if (mode === 'Skip' && !state.namespaces.has(pathKey(id))) return []
  const node = findNamespace(state, id)
  if (behavior === 'Restrict' && node.tables.size + node.namespaces.size > 0) {
    throw new SheafError(
      ErrorCode.NamespaceNotEmpty,
      `namespace ${idText(id)} contains ${node.tables.size} tables and ${node.namespaces.size} namespaces`,
      { hint: "drop these first, or set behavior: 'cascade'" },
    )
  }
  return [{ op: 'namespace', id, props: null }]
}

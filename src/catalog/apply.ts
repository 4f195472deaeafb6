/**
 * The fold: what each operation in the log does to the state. Synchronous, pure, O(change); it never refuses.
 * The writer proved every entry valid before its slot was appended, so a failed assertion here is corruption.
 */
import type { Entry, Genesis, Machine, Position } from '../commit/machine.js'
import { assert, unreachable } from '../errors.js'
import type { Change } from '../manifest/change.js'
import { PersistentMap } from '../primitives/persistent-map.js'
import type { CatalogOp, DeclareOp, DropOp, NamespaceOp, TagOp } from './ops.js'
import {
  type CatalogState,
  emptyState,
  type NamespaceNode,
  newTable,
  pathKey,
  type TableHead,
} from './state.js'

/** The catalog as the meaning of a log. */
export const catalogMachine: Machine<CatalogState> = {
  features: new Set(),
  initial: (genesis: Genesis) => emptyState(genesis.root),
  apply: (state, entry, at) =>
    (entry.ops as unknown as readonly CatalogOp[]).reduce((next, op) => applyOp(next, op, entry, at), state),
}

function applyOp(state: CatalogState, op: CatalogOp, entry: Entry, at: Position): CatalogState {
  switch (op.op) {
    case 'namespace':
      return applyNamespace(state, op)
    case 'declare':
      return applyDeclare(state, op)
    case 'drop':
      return applyDrop(state, op)
    case 'tag':
      return applyTag(state, op)
    case 'change':
      return applyTableChange(state, op, entry, at)
    default:
      return unreachable(op)
  }
}

function applyNamespace(state: CatalogState, { id, props }: NamespaceOp): CatalogState {
  const name = id.at(-1)
  assert(name !== undefined, 'the root namespace is not created or removed')
  const key = pathKey(id)
  const parent = namespaceAt(state, id.slice(0, -1))
  if (props === null) {
    const namespaces = state.namespaces.delete(key)
    return withNode({ ...state, namespaces }, { ...parent, namespaces: parent.namespaces.delete(name) })
  }
  const known = state.namespaces.get(key)
  if (known !== undefined) return withNode(state, { ...known, props })
  const node = { id, props, namespaces: PersistentMap.empty<true>(), tables: PersistentMap.empty<string>() }
  return withNode(withNode(state, node), { ...parent, namespaces: parent.namespaces.set(name, true) })
}

function applyDeclare(state: CatalogState, { t, id, location, props }: DeclareOp): CatalogState {
  const name = id.at(-1)
  assert(name !== undefined, `table ${t} has no name`)
  const parent = namespaceAt(state, id.slice(0, -1))
  assert(!parent.tables.has(name) && !state.tables.has(t), `table ${t} exists already`)
  const head: TableHead = { ...newTable(t, id, props), location }
  return withHead(withNode(state, { ...parent, tables: parent.tables.set(name, t) }), head)
}

function applyDrop(state: CatalogState, { t }: DropOp): CatalogState {
  const head = tableAt(state, t)
  const parent = namespaceAt(state, head.id.slice(0, -1))
  const without = withNode(state, { ...parent, tables: parent.tables.delete(head.id.at(-1)!) })
  return { ...without, tables: state.tables.delete(t), drops: state.drops.set(head.location, true) }
}

function applyTag(state: CatalogState, { t, name, v }: TagOp): CatalogState {
  const head = tableAt(state, t)
  return withHead(state, { ...head, tags: v === null ? head.tags.delete(name) : head.tags.set(name, v) })
}

function applyTableChange(state: CatalogState, change: Change, entry: Entry, at: Position): CatalogState {
  const head = tableAt(state, change.t)
  assert(
    change.base === (head.latest?.version ?? 0),
    `version ${change.v} of table ${change.t} has another base`,
  )
  assert(change.v > head.mark, `version ${change.v} of table ${change.t} was used before`)
  const latest = {
    version: change.v,
    slot: at.slot,
    entry: at.entry,
    ts: at.ts,
    txn: entry.txn,
    kind: change.kind,
    previous: head.latest,
  }
  return withHead(state, {
    ...head,
    kind: 'sheaf',
    mark: change.v,
    latest,
    next: change.next,
    schemaId: change.schema?.id ?? head.schemaId,
  })
}

function namespaceAt(state: CatalogState, id: readonly string[]): NamespaceNode {
  const node = state.namespaces.get(pathKey(id))
  assert(node !== undefined, `namespace ${JSON.stringify(id)} is not there`)
  return node
}

function tableAt(state: CatalogState, uuid: string): TableHead {
  const head = state.tables.get(uuid)
  assert(head !== undefined, `table ${uuid} is not there`)
  return head
}

function withNode(state: CatalogState, node: NamespaceNode): CatalogState {
  return { ...state, namespaces: state.namespaces.set(pathKey(node.id), node) }
}

function withHead(state: CatalogState, head: TableHead): CatalogState {
  return { ...state, tables: state.tables.set(head.uuid, head) }
}

/** Names in order: that of UTF-16 units. A list is kept, and brought up to date where little has changed. */
import { partitionPoint } from '../primitives/partition-point.js'
import type { PersistentMap } from '../primitives/persistent-map.js'
import { type CatalogState, type NamespaceNode, pathKey } from './state.js'

interface Sorted {
  readonly names: PersistentMap<unknown>
  readonly list: readonly string[]
}

/** By what the names are of, the least recently used first. */
const kept = new Map<string, Sorted>()
const keptLists = 1000
/** With more changes than this a list is sorted anew. */
const patchedChanges = 64

/** The sorted names in `names`. `of` says what they are of, and of which root, so that the list can be kept. */
export function sortedNames(of: string, names: PersistentMap<unknown>): readonly string[] {
  const before = kept.get(of)
  const list = before === undefined ? sort(names) : patched(before, names)
  kept.delete(of)
  kept.set(of, { names, list })
  if (kept.size > keptLists) kept.delete(kept.keys().next().value!)
  return list
}

function sort(names: PersistentMap<unknown>): string[] {
  return [...names.keys()].sort()
}

function patched({ names: old, list }: Sorted, names: PersistentMap<unknown>): readonly string[] {
  if (old === names) return list
  if (Math.abs(old.size - names.size) > patchedChanges) return sort(names)
  const { gone, added } = old.keysThatDiffer(names)
  if (gone.length + added.length === 0) return list
  if (gone.length + added.length > patchedChanges) return sort(names)
  const patch = list.slice()
  for (const name of gone) patch.splice(placeOf(patch, name), 1)
  for (const name of added) patch.splice(placeOf(patch, name), 0, name)
  return patch
}

/** Where a name stands, or would. */
function placeOf(list: readonly string[], name: string): number {
  return partitionPoint(list.length, i => list[i]! < name)
}

export function tableNamesIn(state: CatalogState, node: NamespaceNode): readonly string[] {
  return sortedNames(`tables ${state.root} ${pathKey(node.id)}`, node.tables)
}

export function namespaceNamesIn(state: CatalogState, node: NamespaceNode): readonly string[] {
  return sortedNames(`namespaces ${state.root} ${pathKey(node.id)}`, node.namespaces)
}

const paths = new WeakMap<CatalogState['namespaces'], readonly (readonly string[])[]>()

/** The paths of all tables, namespaces before what is in them. They change only when a name does. */
export function tablePaths(state: CatalogState): readonly (readonly string[])[] {
  let list = paths.get(state.namespaces)
  if (list === undefined) {
    const found: (readonly string[])[] = []
    for (const node of subtree(state, state.namespaces.get(pathKey([]))!)) {
      for (const name of tableNamesIn(state, node)) found.push([...node.id, name])
    }
    list = found
    paths.set(state.namespaces, list)
  }
  return list
}

/** A namespace and everything below it, parents first. */
export function* subtree(state: CatalogState, top: NamespaceNode): Generator<NamespaceNode> {
  const waiting = [top]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node
    for (const name of namespaceNamesIn(state, node).toReversed()) {
      waiting.push(state.namespaces.get(pathKey([...node.id, name]))!)
    }
  }
}

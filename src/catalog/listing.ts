/** Sorted lists of names, in the order of UTF-16 units. Lists are cached, and updated if few names changed. */
import { partitionPoint } from '../primitives/partition-point.js'
import type { PersistentMap } from '../primitives/persistent-map.js'
import { type CatalogState, type NamespaceNode, pathKey } from './state.js'

interface Sorted {
  readonly names: PersistentMap<unknown>
  readonly list: readonly string[]
}

/** By owner of the names, the least recently used first. */
const lists = new Map<string, Sorted>()
const listsMax = 1000
/** With more changes than this a list is sorted again. */
const patchedMax = 64

/** Return `names` sorted. `of`: a key for the list in the cache, which names the root and the owner of the names. */
export function sortedNames(of: string, names: PersistentMap<unknown>): readonly string[] {
  const before = lists.get(of)
  const list = before === undefined ? sort(names) : patched(before, names)
  lists.delete(of)
  lists.set(of, { names, list })
  if (lists.size > listsMax) lists.delete(lists.keys().next().value!)
  return list
}

function sort(names: PersistentMap<unknown>): string[] {
  return [...names.keys()].sort()
}

function patched({ names: old, list }: Sorted, names: PersistentMap<unknown>): readonly string[] {
  if (old === names) return list
  if (Math.abs(old.size - names.size) > patchedMax) return sort(names)
  const { gone, added } = old.keysThatDiffer(names)
  if (gone.length + added.length === 0) return list
  if (gone.length + added.length > patchedMax) return sort(names)
  const patch = list.slice()
  for (const name of gone) patch.splice(positionOf(patch, name), 1)
  for (const name of added) patch.splice(positionOf(patch, name), 0, name)
  return patch
}

/** Return the position of a name, or where to insert it. */
function positionOf(list: readonly string[], name: string): number {
  return partitionPoint(list.length, i => list[i]! < name)
}

/** Return the sorted names of the tables in a namespace. */
export function tableNamesIn(state: CatalogState, node: NamespaceNode): readonly string[] {
  return sortedNames(`tables ${state.root} ${pathKey(node.id)}`, node.tables)
}

/** Return the sorted names of the direct child namespaces. */
export function namespaceNamesIn(state: CatalogState, node: NamespaceNode): readonly string[] {
  return sortedNames(`namespaces ${state.root} ${pathKey(node.id)}`, node.namespaces)
}

const paths = new WeakMap<CatalogState['namespaces'], readonly (readonly string[])[]>()

/** Return the paths of all tables, each namespace before its contents. Cached: the list changes only when a name does. */
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

/** Yield a namespace and everything below it, parents first. */
export function* subtree(state: CatalogState, top: NamespaceNode): Generator<NamespaceNode> {
  const pending = [top]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    yield node
    for (const name of namespaceNamesIn(state, node).toReversed()) {
      pending.push(state.namespaces.get(pathKey([...node.id, name]))!)
    }
  }
}

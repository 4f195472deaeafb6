/**
 * Returns names in sorted order (UTF-16 code units). Sorted lists are cached. If only a few names change, the cached
 * list is updated.
 */
import { partitionPoint } from '../primitives/partition-point.js'
import type { PersistentMap } from '../primitives/persistent-map.js'
import { type CatalogState, type NamespaceNode, pathKey } from './state.js'

interface Sorted {
  readonly names: PersistentMap<unknown>
  readonly list: readonly string[]
}

/** The cache: by key, the least recently used list first. */
const lists = new Map<string, Sorted>()
const listsMax = 1000
/** If more names than this changed, the list is sorted again. */
const patchedMax = 64

/**
 * Return `names` in sorted order. `of`: the key of the list in the cache. It must identify the root and the namespace
 * or table that has the names.
 */
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

/** Return the position of a name in a sorted list, or the position at which to insert it. */
function positionOf(list: readonly string[], name: string): number {
  return partitionPoint(list.length, i => list[i]! < name)
}

/** Return the sorted names of the tables in a namespace. */
export function tableNamesIn(state: CatalogState, node: NamespaceNode): readonly string[] {
  return sortedNames(`tables ${state.root} ${pathKey(node.id)}`, node.tables)
}

/** Return the sorted names of the direct child namespaces of a namespace. */
export function namespaceNamesIn(state: CatalogState, node: NamespaceNode): readonly string[] {
  return sortedNames(`namespaces ${state.root} ${pathKey(node.id)}`, node.namespaces)
}

const paths = new WeakMap<CatalogState['namespaces'], readonly (readonly string[])[]>()

/**
 * Return the paths of all tables, sorted: the tables of a namespace come before those of its child namespaces. The list
 * is cached, because it changes only when a name is added, removed or renamed.
 */
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

/** Yield a namespace and all namespaces below it. A parent comes before its children. */
export function* subtree(state: CatalogState, top: NamespaceNode): Generator<NamespaceNode> {
  const pending = [top]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    yield node
    for (const name of namespaceNamesIn(state, node).toReversed()) {
      pending.push(state.namespaces.get(pathKey([...node.id, name]))!)
    }
  }
}

/** Sorted names under a namespace, sorted once per state of it. Order is that of UTF-16 units. */
import type { PersistentMap } from '../primitives/persistent-map.js'
import { type CatalogState, type NamespaceNode, pathKey } from './state.js'

const sorted = new WeakMap<PersistentMap<unknown>, readonly string[]>()

export function sortedNames(names: PersistentMap<unknown>): readonly string[] {
  let list = sorted.get(names)
  if (list === undefined) {
    list = [...names.keys()].sort()
    sorted.set(names, list)
  }
  return list
}

/** A namespace and everything below it, parents first. */
export function* subtree(state: CatalogState, node: NamespaceNode): Generator<NamespaceNode> {
  yield node
  for (const name of sortedNames(node.namespaces)) {
    const child = state.namespaces.get(pathKey([...node.id, name]))
    if (child !== undefined) yield* subtree(state, child)
  }
}

/**
 * What exists: the fold of the log. Immutable; a newer state shares all that did not change with the older.
 */
import type { Counters } from '../manifest/change.js'
import type { VersionRecord } from '../manifest/version.js'
import { PersistentMap } from '../primitives/persistent-map.js'

export interface NamespaceNode {
  readonly id: readonly string[]
  readonly props: Readonly<Record<string, string>>
  /** Names of the namespaces right below. */
  readonly namespaces: PersistentMap<true>
  /** Table name to uuid. */
  readonly tables: PersistentMap<string>
}

export interface TableHead {
  readonly uuid: string
  readonly id: readonly string[]
  /** `declared` until the first version decides what the table is (STORAGE S5). */
  readonly kind: 'declared' | 'sheaf'
  /** Folder of its files, relative to the root; never used by another table. */
  readonly location: string
  readonly props: Readonly<Record<string, string>>
  /** The highest version number ever used. */
  readonly mark: number
  readonly latest: VersionRecord | null
  readonly next: Counters
  /** Id of the current schema; 0 before there is one. */
  readonly schemaId: number
  /** Tag name to version. */
  readonly tags: PersistentMap<number>
}

export interface CatalogState {
  readonly root: string
  /** By path key; the root namespace is always there. */
  readonly namespaces: PersistentMap<NamespaceNode>
  /** By uuid. */
  readonly tables: PersistentMap<TableHead>
  /** Locations of dropped tables whose files are still there. */
  readonly drops: PersistentMap<true>
}

/** A namespace path as a map key. Names hold no control character, so NUL separates. */
export function pathKey(id: readonly string[]): string {
  return id.join('\0')
}

/** A table as its declaration makes it: no version yet. */
export function newTable(
  uuid: string,
  id: readonly string[],
  props: Readonly<Record<string, string>>,
): TableHead {
  return {
    uuid,
    id,
    kind: 'declared',
    location: `tables/${uuid}`,
    props,
    mark: 0,
    latest: null,
    next: { row: 0, frag: 0, field: 0 },
    schemaId: 0,
    tags: PersistentMap.empty(),
  }
}

export function emptyState(root: string): CatalogState {
  const rootNode: NamespaceNode = {
    id: [],
    props: {},
    namespaces: PersistentMap.empty(),
    tables: PersistentMap.empty(),
  }
  return {
    root,
    namespaces: PersistentMap.empty<NamespaceNode>().set(pathKey([]), rootNode),
    tables: PersistentMap.empty(),
    drops: PersistentMap.empty(),
  }
}

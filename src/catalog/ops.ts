/** What a commit does to the catalog, as it stands in a slot (docs/format.md). Plain data. */
import type { Change } from '../manifest/change.js'

/** Creates a namespace or replaces its properties; `props: null` removes it. */
export interface NamespaceOp {
  readonly op: 'namespace'
  readonly id: readonly string[]
  readonly props: Readonly<Record<string, string>> | null
}

/** A new table: a name, a fresh uuid and location, no version yet. */
export interface DeclareOp {
  readonly op: 'declare'
  readonly t: string
  readonly id: readonly string[]
  readonly location: string
  readonly props: Readonly<Record<string, string>>
}

/** The table and its name are gone; its location waits in the queue of drops. */
export interface DropOp {
  readonly op: 'drop'
  readonly t: string
}

/** Points a tag at a version; `v: null` removes it. */
export interface TagOp {
  readonly op: 'tag'
  readonly t: string
  readonly name: string
  readonly v: number | null
}

export type CatalogOp = NamespaceOp | DeclareOp | DropOp | TagOp | Change

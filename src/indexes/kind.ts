/** Defines the index kinds and their families. */
import type { ScalarKind } from './scalar/probe.js'
import { isTextKind, type TextKind } from './text/kind.js'
import { isVectorKind, type VectorKind } from './vector/kind.js'

export type IndexKind = ScalarKind | VectorKind | TextKind

/**
 * A family of index kinds: `scalar` indexes find rows by value, `vector` indexes by distance, `text` indexes by terms.
 */
export type IndexFamily = 'scalar' | 'vector' | 'text'

/** Return the family of an index kind. */
export function familyOf(kind: IndexKind): IndexFamily {
  if (isVectorKind(kind)) return 'vector'
  return isTextKind(kind) ? 'text' : 'scalar'
}

export function isScalarKind(kind: IndexKind): kind is ScalarKind {
  return familyOf(kind) === 'scalar'
}

/** The kinds of indexes. */
import type { ScalarKind } from './scalar/probe.js'
import { isTextKind, type TextKind } from './text/kind.js'
import { isVectorKind, type VectorKind } from './vector/kind.js'

export type IndexKind = ScalarKind | VectorKind | TextKind

/** What an index finds rows by: values, nearness, terms. */
export type IndexFamily = 'scalar' | 'vector' | 'text'

export function familyOf(kind: IndexKind): IndexFamily {
  if (isVectorKind(kind)) return 'vector'
  return isTextKind(kind) ? 'text' : 'scalar'
}

export function isScalarKind(kind: IndexKind): kind is ScalarKind {
  return familyOf(kind) === 'scalar'
}

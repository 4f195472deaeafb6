/** A root that stands still: all tables, tags and versions as they were at one slot. */
import type { CatalogState } from '../catalog/state.js'
import { ErrorCode, SheafError } from '../errors.js'
import type { Engine, Root } from './engine.js'

/** An engine on which nothing changes. */
export function frozenAt(engine: Engine, state: CatalogState, head: number): Engine {
  const root: Root = {
    state,
    head,
    async refresh(signal) {
      signal?.throwIfAborted()
      return state
    },
    async commit() {
      throw new SheafError(ErrorCode.PermissionDenied, 'a snapshot never changes', {
        hint: 'write through the namespace it was taken of',
      })
    },
  }
  return { ...engine, root }
}

/** Implements snapshots. A snapshot is a read-only view of the whole root at one slot. */
import type { CatalogState } from '../catalog/state.js'
import { Namespace } from '../client/namespace.js'
import { assert, ErrorCode, SheafError } from '../errors.js'
import type { CallOptions } from '../protocol/calls.js'
import type { Engine, Root } from '../root/engine.js'
import { holdNewest } from '../root/hold-newest.js'
import { bindOperations, readsOnly } from './handlers.js'

/**
 * Open a snapshot of the newest state. A pin protects its files until the snapshot is closed. A closed snapshot refuses
 * calls.
 */
export async function takeSnapshot(engine: Engine, { signal }: CallOptions): Promise<Namespace> {
  const { state, head, release } = await holdNewest(engine, signal)
  return frozen(engine, new FrozenRoot(state, head), release)
}

function frozen(engine: Engine, root: FrozenRoot, unpin: () => Promise<void>): Namespace {
  return new Namespace(
    bindOperations(
      { ...engine, root, versions: { ...engine.versions, adopts: false } },
      readsOnly(readOnlyError),
    ),
    async () => {
      root.close()
      await unpin()
    },
  )
}

class FrozenRoot implements Root {
  readonly state: CatalogState
  readonly head: number
  #closed = false

  constructor(state: CatalogState, head: number) {
    this.state = state
    this.head = head
  }

  async refresh(signal?: AbortSignal): Promise<CatalogState> {
    signal?.throwIfAborted()
    if (this.#closed) throw new SheafError(ErrorCode.ServiceUnavailable, 'this snapshot is closed')
    return this.state
  }

  current(): CatalogState | null {
    return this.#closed ? null : this.state
  }

  async commit(): Promise<never> {
    assert(false, 'no handler that writes is bound to a snapshot')
  }

  close(): void {
    this.#closed = true
  }
}

function readOnlyError(): SheafError {
  return new SheafError(ErrorCode.PermissionDenied, 'a snapshot is read-only', {
    hint: 'write through the namespace from which the snapshot was taken',
  })
}

/** Stores manifests of versions with which replay of later versions begins (manifest/layout-store). */
import type { CatalogCommitted } from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import type { LayoutStore } from '../manifest/layout-store.js'
import type { MaintenanceTask } from './maintenance.js'

export class StoredLayouts implements MaintenanceTask {
  readonly name = 'storing manifests of versions'
  readonly #layouts: LayoutStore
  readonly #state: () => CatalogState
  /** By table uuid: the version whose manifest must be stored. */
  readonly #waiting = new Map<string, number>()

  constructor(layouts: LayoutStore, state: () => CatalogState) {
    this.#layouts = layouts
    this.#state = state
  }

  noteCommit({ entry, state }: CatalogCommitted): void {
    for (const op of entry.ops) {
      if (op.op === 'change' && state.tables.get(op.t)?.start === op.v) this.#waiting.set(op.t, op.v)
    }
  }

  dueIn(): number {
    return this.#waiting.size > 0 ? 0 : Number.POSITIVE_INFINITY
  }

  async work(): Promise<void> {
    for (const [uuid, version] of this.#waiting) {
      this.#waiting.delete(uuid)
      const head = this.#state().tables.get(uuid)
      if (head !== undefined) await this.#layouts.writeBase(head, version)
    }
  }
}

/** Stores manifests of versions with which replay of later versions begins (manifest/layout-store). */
import type { CatalogCommitted } from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import { versionsPerBase } from '../manifest/layout-base.js'
import type { LayoutStore } from '../manifest/layout-store.js'
import type { MaintenanceTask } from './maintenance.js'

export class StoredLayouts implements MaintenanceTask {
  readonly name = 'storing manifests of versions'
  readonly #layouts: LayoutStore
  readonly #state: () => CatalogState
  /**
   * By table uuid: the versions whose manifests must be stored, ascending. All are stored, because most stored manifests
   * have only the difference to an earlier one. If that one is missing, it is rebuilt first.
   */
  readonly #waiting = new Map<string, number[]>()

  constructor(layouts: LayoutStore, state: () => CatalogState) {
    this.#layouts = layouts
    this.#state = state
  }

  noteCommit({ entry }: CatalogCommitted): void {
    for (const op of entry.ops) {
      if (op.op !== 'change' || op.start === undefined || op.v - op.start < versionsPerBase) continue
      const versions = this.#waiting.get(op.t)
      if (versions === undefined) this.#waiting.set(op.t, [op.v])
      else versions.push(op.v)
    }
  }

  dueIn(): number {
    return this.#waiting.size > 0 ? 0 : Number.POSITIVE_INFINITY
  }

  async work(): Promise<void> {
    // Versions that are added meanwhile wait for the next call, so that other tasks are not postponed.
    for (const [uuid, versions] of [...this.#waiting]) {
      this.#waiting.delete(uuid)
      for (const version of versions) {
        const head = this.#state().tables.get(uuid)
        if (head !== undefined) await this.#layouts.writeBase(head, version)
      }
    }
  }
}

/** Pins the state of a root, so that garbage collection keeps its files. */
import type { CatalogState } from '../catalog/state.js'
import type { Engine } from './engine.js'

/** A pinned state. */
export interface HeldRoot {
  readonly state: CatalogState
  readonly head: number
  readonly release: () => Promise<void>
}

/** Pin the newest state of a root until the caller releases it. */
export async function holdNewest(
  { root, retained }: Pick<Engine, 'root' | 'retained'>,
  signal?: AbortSignal,
): Promise<HeldRoot> {
  for (;;) {
    await root.refresh(signal)
    // Take both before the next await: a commit may replace them meanwhile.
    const { state, head } = root
    const release = await retained.pins.hold(head, signal)
    try {
      const { sweep } = await root.refresh(signal)
      if (sweep.floor <= head) return { state, head, release }
    } catch (error) {
      await release()
      throw error
    }
    // Garbage collection that did not see the pin has passed the pinned slot: try again with a newer state.
    await release()
  }
}

/** Pins the newest state of a root, so that garbage collection keeps its files. */
import type { CatalogState } from '../catalog/state.js'
import type { Engine } from './engine.js'

/** A pinned state. `release` removes the pin. */
export interface HeldRoot {
  readonly state: CatalogState
  readonly head: number
  readonly release: () => Promise<void>
}

/** Pin the newest state of a root. The pin exists until the caller calls `release`. */
export async function holdNewest(
  { root, retained }: Pick<Engine, 'root' | 'retained'>,
  signal?: AbortSignal,
): Promise<HeldRoot> {
  for (;;) {
    await root.refresh(signal)
    // Read the state and the slot together, because a commit may change them during an `await`.
    const { state, head } = root
    const release = await retained.pins.hold(head, signal)
    try {
      const { sweep } = await root.refresh(signal)
      if (sweep.floor <= head) return { state, head, release }
    } catch (error) {
      await release()
      throw error
    }
    // Garbage collection did not see the pin, and its watermark is now above the pinned slot. Try again with a newer
    // state.
    await release()
  }
}

/** Pins the state of a root, so that garbage collection keeps its files. */
import type { CatalogState } from '../catalog/state.js'
import type { Engine } from './engine.js'

export interface HeldRoot {
  readonly state: CatalogState
  readonly head: number
  readonly release: () => Promise<void>
}

/** The root as it is now, pinned until it is released. */
export async function holdNewest(
  { root, pins }: Pick<Engine, 'root' | 'pins'>,
  signal?: AbortSignal,
): Promise<HeldRoot> {
  for (;;) {
    await root.refresh(signal)
    // Taken together: what is awaited may be overtaken by a commit.
    const { state, head } = root
    const release = await pins.hold(head, signal)
    try {
      const { sweep } = await root.refresh(signal)
      if (sweep.floor <= head) return { state, head, release }
    } catch (error) {
      await release()
      throw error
    }
    // A sweep that knew nothing of the pin has passed it.
    await release()
  }
}

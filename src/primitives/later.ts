/** Modules that not every program needs: a process loads them when they are first asked for, and has its first answer sooner. */
import type { Soon } from './soon.js'

const all = new Set<() => Soon<object>>()

/** What gives the module that `load` imports: from the second time on, at once. */
export function later<M extends object>(load: () => Promise<M>): () => Soon<M> {
  let loaded: M | null = null
  const module = () =>
    loaded ??
    load().then(came => {
      loaded = came
      return came
    })
  all.add(module)
  return module
}

/** Loads all of them, for who must not find out later that their files are gone, or that they take a while. */
export async function loadAll(): Promise<void> {
  // Those that come with one of them are visited, too.
  for (const module of all) await module()
}

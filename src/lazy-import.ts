/** Modules that not every program needs: a process loads them when they are first asked for, and has its first answer sooner. */
import { ErrorCode, SheafError } from './errors.js'
import type { MaybePromise } from './primitives/task.js'

const all = new Set<() => MaybePromise<object>>()

/**
 * What gives the module that `load` imports: from the second time on, at once. Where it cannot be imported it throws ServiceUnavailable
 * (17), and tries again the next time.
 */
export function lazyImport<M extends object>(load: () => Promise<M>): () => MaybePromise<M> {
  let loaded: M | null = null
  const arrived = (came: M) => {
    loaded = came
    return came
  }
  const module = () => loaded ?? load().then(arrived, isGone)
  all.add(module)
  return module
}

function isGone(cause: unknown): never {
  const message =
    'a part of Sheaf cannot be loaded: its files went, or others took their place, while this process ran'
  throw new SheafError(ErrorCode.ServiceUnavailable, message, { hint: 'start the process again', cause })
}

/** Loads all of them, for who must not find out later that their files are gone, or that they take a while. */
export async function loadAll(): Promise<void> {
  // Those that come with one of them are visited, too.
  for (const module of all) await module()
}

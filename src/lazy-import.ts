/** Imports modules on first use. A process loads only the modules that it needs, so its first answer comes sooner. */
import { ErrorCode, SheafError } from './errors.js'
import type { MaybePromise } from './primitives/task.js'

const all = new Set<() => MaybePromise<object>>()

/**
 * Return a function that imports a module on its first call and returns the loaded module on later calls. The function
 * throws `ServiceUnavailable` if the import fails. The next call tries again. A process that has loaded the module anyway
 * sets it: then no call waits.
 */
export function lazyImport<M extends object>(
  load: () => Promise<M>,
): (() => MaybePromise<M>) & { readonly set: (module: M) => void } {
  let loaded: M | null = null
  const keep = (module: M) => {
    loaded = module
    return module
  }
  const module = () => loaded ?? load().then(keep, throwUnavailable)
  all.add(module)
  return Object.assign(module, { set: keep })
}

function throwUnavailable(cause: unknown): never {
  const message = 'cannot load a module of Sheaf: its files were deleted or replaced while this process ran'
  throw new SheafError(ErrorCode.ServiceUnavailable, message, { hint: 'restart the process', cause })
}

/**
 * Load every lazily imported module now. For servers: later imports would add latency, and would fail if the files are
 * deleted.
 */
export async function loadAll(): Promise<void> {
  // The loop also visits entries that loading a module adds to the set.
  for (const module of all) await module()
}

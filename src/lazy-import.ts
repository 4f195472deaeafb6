/** Imports modules on first use. A process loads only the modules that it needs, so its first calls are faster. */
import { ErrorCode, SheafError } from './errors.js'
import type { MaybePromise } from './primitives/task.js'

const all = new Set<() => MaybePromise<object>>()

/**
 * Return a function that imports a module on its first call, and returns the loaded module on later calls. The function
 * throws `ServiceUnavailable` if the import fails; the next call tries again. If another part of the process has loaded
 * the module, it can set the module, so that no call waits.
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
  const message =
    'cannot load a module of Sheaf, because its files were deleted or replaced while this process ran'
  throw new SheafError(ErrorCode.ServiceUnavailable, message, { hint: 'restart the process', cause })
}

/**
 * Load all lazily imported modules now. Servers call this, because a later import would delay a request, and would fail
 * if the files were deleted.
 */
export async function loadAll(): Promise<void> {
  // Loading a module may add further modules to the set. The loop also visits these.
  for (const module of all) await module()
}

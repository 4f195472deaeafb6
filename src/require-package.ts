/** Loads packages synchronously, when a call needs them. */
import { ErrorCode, SheafError } from './errors.js'
import { externalHint, requiresOf } from './primitives/module-files.js'

/**
 * Load a package synchronously. `load`: calls `createRequire(import.meta.url)` with the name of the package in exactly
 * this form, because webpack recognizes it and includes the package in its bundle. `moduleUrl`: `import.meta.url` of the
 * calling module, where the package is searched if another bundler did not include it. `task`: what the package does,
 * for the error `ServiceUnavailable`.
 */
export function requirePackage<P>(
  name: string,
  task: string,
  moduleUrl: string | undefined,
  load: () => unknown,
): P {
  try {
    return load() as P
  } catch {}
  let cause: unknown
  for (const load of requiresOf(moduleUrl)) {
    try {
      return load(name) as P
    } catch (error) {
      cause = error
    }
  }
  const message = `cannot load the package ${name}, which ${task}`
  throw new SheafError(ErrorCode.ServiceUnavailable, message, { hint: externalHint, cause })
}

/**
 * Finds files and packages at run time, starting from the module that needs them. If a bundler packed Sheaf into a
 * program, a package is still found if it is in `node_modules` of this program.
 */
import modules from 'node:module'
import { isAbsolute } from 'node:path'

/** Taken from the default export, because webpack replaces calls of an imported `createRequire` during its build. */
const { createRequire } = modules

/** Hint for errors about a file or package that cannot be found because a bundler packed Sheaf into a program. */
export const externalHint = 'if a bundler packed sheaf into your program, mark sheaf as external'

/**
 * Return `require` functions to try in this order. They resolve and load packages from the calling module. `moduleUrl`:
 * `import.meta.url` of the calling module. In a bundle, it may be undefined (esbuild, CommonJS) or a path of the build
 * machine (webpack). For this case, one of the functions uses `__filename`, the file of the bundle.
 */
export function requiresOf(moduleUrl: string | undefined): NodeJS.Require[] {
  const places = [moduleUrl, typeof __filename === 'string' ? __filename : undefined]
  // In `node -e` and in the REPL, `__filename` is a text such as `[eval]`.
  const isFile = (place: string | undefined) => place?.startsWith('file:') || isAbsolute(place ?? '')
  return places.filter(isFile).map(place => createRequire(place!))
}

/** Modules of Node that a process may not need. */
interface NodeModules {
  readonly 'node:worker_threads': typeof import('node:worker_threads')
}

/**
 * Load a module of Node when it is needed. A static import would cost each process a millisecond. `moduleUrl`:
 * `import.meta.url` of the calling module.
 */
export function nodeModule<N extends keyof NodeModules>(
  name: N,
  moduleUrl: string | undefined,
): NodeModules[N] {
  // Node has this function since 20.16 and 22.3.
  const { getBuiltinModule = requiresOf(moduleUrl)[0]! } = process as Partial<NodeJS.Process>
  return getBuiltinModule(name) as NodeModules[N]
}

/**
 * Return the path of the file `name`, which a worker thread runs. Null if the file does not exist. The file is next to
 * the calling module. If the calling module is in the CommonJS build, the file is in the ES module build.
 */
export function threadFile(name: string, moduleUrl: string | undefined): string | null {
  for (const { resolve } of requiresOf(moduleUrl)) {
    const path =
      found(() => resolve(`./${name}`)) ??
      found(() => resolve(`../lib/${name}`)) ??
      found(() => createRequire(resolve('sheaf')).resolve(`../lib/${name}`))
    if (path !== null) return path
  }
  return null
}

function found(resolve: () => string): string | null {
  try {
    return resolve()
  } catch {
    return null
  }
}

/**
 * Finds files and packages at run time, from the module that needs them. This also works if a bundler packed Sheaf into a program,
 * as long as the package is in `node_modules` of that program.
 */
import { createRequire } from 'node:module'

/** What to do if a file or package cannot be found, because a bundler packed Sheaf into a program. */
export const externalHint = 'if a bundler packed sheaf into your program, mark sheaf as external'

/**
 * Return functions that resolve and load packages from the calling module, best first. `moduleUrl`: `import.meta.url` of the calling
 * module. Bundlers that write CommonJS leave it undefined, and others put the path on the build machine there; then `__filename` is the
 * file of the bundle.
 */
function requiresOf(moduleUrl: string | undefined): NodeJS.Require[] {
  const places = [moduleUrl, typeof __filename === 'string' ? __filename : undefined]
  return places.filter(place => place !== undefined).map(place => createRequire(place))
}

/**
 * Return the path of the file `name`, which a worker thread runs. Null if there is no such file. The file is next to the calling module, or
 * in the ES module build if the calling module is in the CommonJS build.
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

/** Load a CommonJS package. Throws the error of Node if it cannot be loaded. */
export function requirePackage(name: string, moduleUrl: string | undefined): unknown {
  let cause: unknown
  for (const load of requiresOf(moduleUrl)) {
    try {
      return load(name)
    } catch (error) {
      cause = error
    }
  }
  throw cause
}

function found(resolve: () => string): string | null {
  try {
    return resolve()
  } catch {
    return null
  }
}

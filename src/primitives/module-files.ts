/**
 * Finds files and packages at run time, from the module that needs them. This also works if a bundler packed Sheaf into a program,
 * as long as the package is in `node_modules` of that program.
 */
import nodeModule from 'node:module'

/** Not imported by its name, because webpack replaces calls of the import by what it knows when it builds. */
const { createRequire } = nodeModule

/** The hint of errors for a file or package that cannot be found because a bundler packed Sheaf into a program. */
export const externalHint = 'if a bundler packed sheaf into your program, mark sheaf as external'

/**
 * Return functions that resolve and load packages from the calling module, best first. `moduleUrl`: `import.meta.url` of the calling
 * module. In a bundle it may be undefined (esbuild, CommonJS), or a path of the build machine (webpack); then `__filename` is the file of
 * the bundle.
 */
export function requiresOf(moduleUrl: string | undefined): NodeJS.Require[] {
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

function found(resolve: () => string): string | null {
  try {
    return resolve()
  } catch {
    return null
  }
}

/**
 * Where built modules lie. Workers and programs run from `dist/`, since neither runs TypeScript: `npm test` builds first;
 * before a test run by hand, `npm run build`.
 */
import { fileURLToPath } from 'node:url'

const dist = new URL('../../dist/', import.meta.url)

/** Path of one of the files that the package ships: `index`, `http`, `worker`, `engine-worker` (what a worker runs), `cli`. */
export function shipped(entry: string): string {
  return fileURLToPath(new URL(`lib/${entry}.js`, dist))
}

/** Path of the compiled form of a TypeScript module, given from the root of the project. */
export function built(module: string): string {
  return fileURLToPath(new URL(module.replace(/\.ts$/, '.js'), dist))
}

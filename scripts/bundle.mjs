/**
 * Joins the compiled modules into a few files under `dist/lib/`: what the package exports.
 *
 * Node resolves, reads and compiles every module of an import graph for itself, about a millisecond each. Joined,
 * the first answer of a cold process comes several times sooner (bench/open-cold.ts prints it beside the plain
 * modules). Entries share chunks, so `SheafError` is one class whichever entry it came through.
 */
import { rmSync } from 'node:fs'
import { rolldown } from 'rolldown'

const entries = {
  index: 'dist/src/index.js',
  protocol: 'dist/src/protocol/public.js',
  http: 'dist/adapters/http/public.js',
  worker: 'dist/adapters/worker/public.js',
  files: 'dist/adapters/files/public.js',
  // Found by the worker client as './main.js' beside it.
  main: 'dist/adapters/worker/main.js',
  // Found by what builds vector indexes as './insert-worker.js' beside it.
  'insert-worker': 'dist/src/indexes/vector/insert-worker.js',
  cli: 'dist/adapters/cli/main.js',
}

const bundle = await rolldown({
  input: entries,
  external: [/^node:/, 'apache-arrow', 'csv-parse', 'p-queue', 're2js'],
  platform: 'node',
  logLevel: 'warn',
})
rmSync('dist/lib', { recursive: true, force: true })
await bundle.write({
  dir: 'dist/lib',
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'shared-[name]-[hash].js',
  comments: false,
})
await bundle.close()

import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

// The readers of files import their packages, which are installed only in a folder next to this file.
const alias = { 'better-sqlite3': resolve('test/peers/native/node_modules/better-sqlite3/lib/index.js') }

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/peers/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    pool: 'forks',
    // The clients look once a second whether an index is there: there is time for others.
    maxWorkers: 3,
    // The engine warns of what the tests provoke.
    env: { LANCEDB_LOG: 'error' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})

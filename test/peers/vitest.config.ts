import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/peers/**/*.test.ts'],
    pool: 'forks',
    // The clients look once a second whether an index is there: there is time for others.
    maxWorkers: 3,
    // The engine warns of what the tests provoke.
    env: { LANCEDB_LOG: 'error' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})

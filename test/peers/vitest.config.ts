import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/peers/**/*.test.ts'],
    pool: 'forks',
    // The engine warns of what the tests provoke.
    env: { LANCEDB_LOG: 'error' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})

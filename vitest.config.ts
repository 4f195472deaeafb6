import { configDefaults, defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real clients have packages, and a run, of their own: npm run test:peers.
    exclude: [...configDefaults.exclude, 'test/peers/**'],
    setupFiles: ['test/setup.ts'],
    pool: 'forks',
    // Also on two cores: most of the time goes into waiting and single-threaded work.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})

import { configDefaults, defineConfig } from 'vitest/config'

const together = ['arrow', 'catalog', 'indexes', 'jobs', 'primitives', 'protocol', 'sql', 'stories'].map(
  folder => `test/${folder}/**/*.test.ts`,
)

export default defineConfig({
  test: {
    setupFiles: ['test/setup.ts'],
    pool: 'forks',
    // Also on two cores: most of the time goes into waiting and single-threaded work.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['test/**/*.test.ts'],
          // Real clients have packages, and a run, of their own: npm run test:peers.
          exclude: [...configDefaults.exclude, 'test/peers/**', ...together],
        },
      },
      // Many short files that leave nothing behind: loading Sheaf anew for each would take longer than they do.
      { extends: true, test: { name: 'together', include: together, isolate: false } },
    ],
  },
})

import { configDefaults, defineConfig } from 'vitest/config'

/** Files that put another module in place of one of Sheaf's, or their own clock in place of the machine's. */
const apart = [
  'test/bench/**',
  'test/crash/**',
  'test/simulation/**',
  'test/kernels/vector-segment.test.ts',
  'test/namespace/vector-indexes.test.ts',
  'test/properties/indexes.test.ts',
  'test/query/indexed.test.ts',
  'test/query/near.test.ts',
  'test/storage/disk-failure.test.ts',
  'test/write/carry-indexes.test.ts',
  'test/write/plan-index-fold.test.ts',
]
// Real clients have packages, and a run, of their own: npm run test:peers.
const exclude = [...configDefaults.exclude, 'test/peers/**']

export default defineConfig({
  test: {
    setupFiles: ['test/setup.ts'],
    pool: 'forks',
    // Also on two cores: most of the time goes into waiting and single-threaded work.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'apart', include: apart.map(testsIn), exclude } },
      // Files that leave nothing behind: loading Sheaf anew for each would take longer than most of them do.
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...exclude, ...apart],
          isolate: false,
        },
      },
    ],
  },
})

function testsIn(pattern: string): string {
  return pattern.endsWith('/**') ? `${pattern}/*.test.ts` : pattern
}

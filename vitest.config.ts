import { statfsSync } from 'node:fs'
import { configDefaults, defineConfig } from 'vitest/config'

/**
 * Folders whose files are short and leave nothing behind: loading Sheaf anew for each would take longer than most of them do. Others
 * open roots, threads and servers, which would be in each other's way.
 */
const together = [
  'adapters/files',
  'adapters/http',
  'arrow',
  'catalog',
  'commit',
  'indexes',
  'jobs',
  'kernels',
  'models',
  'client',
  'engine',
  'maintenance',
  'verify',
  'primitives',
  'properties',
  'protocol',
  'query',
  'sql',
  'stories',
  'support',
  'table',
  'write',
].map(folder => `test/${folder}/**/*.test.ts`)
/**
 * Files in them that put another module in place of one of Sheaf's, start threads, or watch how long the process computes.
 */
const apart = [
  'test/engine/text-segments.test.ts',
  'test/engine/vector-indexes.test.ts',
  'test/indexes/vector/insert-threads.test.ts',
  'test/kernels/graph-shared.test.ts',
  'test/kernels/vector-segment.test.ts',
  'test/query/indexed.test.ts',
  'test/query/near.test.ts',
  'test/write/carry-indexes.test.ts',
  'test/write/plan-index-fold.test.ts',
]
/** What a root on a real disk is proven by: its store, what a crash leaves, and files made elsewhere. */
const onDisk = ['test/storage/**/*.test.ts', 'test/crash/**/*.test.ts', 'test/golden.test.ts']

/**
 * Where all others put their roots: in memory, if the system has a place for that with room enough. Each commit waits for the disk
 * otherwise, which is half of the time, and proves no more.
 */
function scratch(): Record<string, string> {
  const folder = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= 4 * 2 ** 30 ? { TMPDIR: folder } : {}
  } catch {
    return {}
  }
}
const env = scratch()

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
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['test/**/*.test.ts'],
          env,
          exclude: [
            ...exclude,
            ...onDisk,
            ...together.map(pattern => `${pattern.slice(0, -'/**/*.test.ts'.length)}/**`),
          ],
        },
      },
      { extends: true, test: { name: 'on disk', include: onDisk } },
      { extends: true, test: { name: 'replaced', include: apart, env, exclude } },
      {
        extends: true,
        test: { name: 'together', include: together, env, exclude: [...exclude, ...apart], isolate: false },
      },
    ],
  },
})

import { readdirSync, readFileSync, statfsSync } from 'node:fs'
import { resolve } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'

/**
 * Files that need a process of their own: they start threads that compute, watch what a process loads, or watch how long it computes. All
 * others share processes: loading Sheaf again takes longer than most files run.
 */
const watching = [
  'test/bench/**/*.test.ts',
  'test/indexes/vector/insert-threads.test.ts',
  'test/kernels/graph-shared.test.ts',
  'test/kernels/vector-segment.test.ts',
  'test/lazy-import.test.ts',
]
/**
 * Files that replace a module. In a process that has loaded the module, the replacement has no effect; in a process that has not, it stays
 * for the files that follow.
 */
const replacing = (readdirSync('test', { recursive: true }) as string[])
  .map(name => `test/${name.replaceAll('\\', '/')}`)
  .filter(path => path.endsWith('.test.ts') && /^vi\.mock\(/m.test(readFileSync(path, 'utf8')))
const apart = [...watching, ...replacing]
/** The examples import the package by its name. Tests run them with the sources, as `paths` of tsconfig.json does for the compiler. */
const alias = [
  { find: /^sheaf$/, replacement: resolve('src/index.ts') },
  {
    find: /^sheaf\/(files|flexsearch|http|azure|gcs|opentelemetry|postgres|s3|storage)$/,
    replacement: resolve('adapters/$1/public.ts'),
  },
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

// Real clients and servers of object storage have packages, and runs, of their own: npm run test:peers, npm run test:stores.
const exclude = [...configDefaults.exclude, 'test/peers/**', 'test/stores/**']

export default defineConfig({
  resolve: { alias },
  test: {
    setupFiles: ['test/setup.ts'],
    pool: 'forks',
    // On two cores too: each file waits for disks, timers, threads and other processes part of the time.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'apart', include: apart, env, exclude } },
      {
        extends: true,
        test: { name: 'on disk', include: onDisk, exclude: [...exclude, ...apart], isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          env,
          exclude: [...exclude, ...apart, ...onDisk],
          isolate: false,
        },
      },
    ],
  },
})

import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

const here = resolve('test/stores/node_modules')

export default defineConfig({
  resolve: {
    alias: [
      { find: /^sheaf\/(azure|gcs|s3)$/, replacement: resolve('adapters/$1/public.ts') },
      // The adapters find the clients in the packages of these tests.
      { find: /^@aws-sdk\/client-s3$/, replacement: resolve(here, '@aws-sdk/client-s3/dist-cjs/index.js') },
      {
        find: /^@google-cloud\/storage$/,
        replacement: resolve(here, '@google-cloud/storage/build/cjs/src/index.js'),
      },
      { find: /^@azure\/storage-blob$/, replacement: resolve(here, '@azure/storage-blob/dist/esm/index.js') },
    ],
  },
  test: {
    include: ['test/stores/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})

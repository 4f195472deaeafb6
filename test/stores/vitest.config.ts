import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

const clients = ['@aws-sdk/client-s3', '@azure/storage-blob', '@google-cloud/storage']

/** The adapters find the clients in the packages of these tests. */
function aliases(folder: string, clients: readonly string[]) {
  const { resolve: find } = createRequire(resolve(folder, 'package.json'))
  return [
    { find: /^sheaf\/(azure|gcs|postgres|s3)$/, replacement: resolve('adapters/$1/public.ts') },
    ...clients.map(name => ({ find: new RegExp(`^${name}$`), replacement: find(name) })),
  ]
}

const oldest = 'test/stores/oldest'
const oldestTests = 'test/stores/oldest-clients.test.ts'

export default defineConfig({
  test: {
    setupFiles: ['test/setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        resolve: { alias: aliases('test/stores', [...clients, 'pg']) },
        test: {
          name: 'clients',
          include: ['test/stores/**/*.test.ts'],
          exclude: [oldestTests, '**/node_modules/**'],
        },
      },
      ...(existsSync(resolve(oldest, 'node_modules'))
        ? [
            {
              extends: true as const,
              resolve: { alias: aliases(oldest, clients) },
              test: { name: 'oldest clients', include: [oldestTests] },
            },
          ]
        : []),
    ],
  },
})

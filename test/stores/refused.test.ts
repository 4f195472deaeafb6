/** Servers that cannot store a root are refused. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openS3Store } from '../../adapters/s3/public.js'
import { checkStore } from '../../adapters/storage/public.js'
import { connect } from '../../src/index.js'

const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
const folder = mkdtempSync(join(tmpdir(), 'sheaf-s3rver-'))
const server = new S3rver({
  port: 0,
  silent: true,
  directory: folder,
  configureBuckets: [{ name: 'sheaf-test' }],
})
let config: object

beforeAll(async () => {
  const { port } = await server.run()
  config = { endpoint: `http://127.0.0.1:${port}`, credentials }
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true })
})

// s3rver ignores `If-None-Match`.
test('connect refuses a server that accepts a second conditional put', async () => {
  await expect(connect('s3://sheaf-test/root', { storage: { config } })).rejects.toMatchObject({
    name: 'Unsupported',
    message: expect.stringMatching(
      /sheaf-test\/root\/ cannot store a root, because a second conditional write/,
    ),
  })
  const store = await openS3Store({ bucket: 'sheaf-test', config })
  await expect(connect('any name', { store })).rejects.toMatchObject({ name: 'Unsupported' })
})

test('checkStore reports a server that accepts a second conditional put', async () => {
  const store = await openS3Store({ bucket: 'sheaf-test', prefix: 'checked', config })
  const { passed, checks } = await checkStore(store, { races: 3, listed: 10, streamed: 100 })
  expect(passed).toBe(false)
  const failed = checks.filter(check => !check.passed).map(({ name }) => name)
  expect(failed).toContain('a second conditional put is refused')
})
